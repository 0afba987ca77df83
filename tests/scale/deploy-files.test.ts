// deploy/ read as data: what no container engine is needed for. Whether the containers run is not shown here; the same
// topology from local programs is (topology.test.ts).

import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { ISOLATED_LIMITS } from "../../packages/executor/src/placements/isolated/isolated-limits.ts";
import { hasProgram } from "../../packages/testkit/src/servers/server-binaries.ts";
import { ROOT } from "../cli/run-tessera.ts";

interface Service {
  readonly image?: string;
  readonly build?: { readonly context: string; readonly dockerfile: string };
  readonly command?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  readonly ports?: readonly string[];
  readonly volumes?: readonly string[];
  readonly networks?: readonly string[];
  readonly restart?: string;
  readonly read_only?: boolean;
  readonly cap_drop?: readonly string[];
  readonly security_opt?: readonly string[];
  readonly healthcheck?: { readonly test: readonly string[] };
  readonly depends_on?: Readonly<Record<string, { readonly condition: string }>>;
  readonly stop_grace_period?: string;
  readonly deploy?: { readonly replicas?: number; readonly resources?: { readonly limits?: Record<string, string> } };
}

const DEPLOY = join(ROOT, "deploy");
const read = (file: string) => readFileSync(join(DEPLOY, file), "utf8");
const text = read("compose.yaml");
const compose = parse(text, { merge: true }) as {
  readonly services: Readonly<Record<string, Service>>;
  readonly networks: Readonly<Record<string, { readonly internal?: boolean }>>;
  readonly volumes: Readonly<Record<string, unknown>>;
};
const { services } = compose;
const service = (name: string): Service => services[name] ?? {};
const ONCE = ["migrate", "roles"];
const ROLES = ["kernel", "pmo", "tools", "worker", "api"];
/** Where tools of a bundle run as children: they read the bundle. */
const RUNS_TOOLS = ["tools", "worker"];
const MIB = 1024 * 1024;
/** What compose.yaml and the unit say they give: for the process itself, and for how many isolated tools at their limit. */
const PROCESS_MIB = 512;
const ISOLATED_TOOLS_AT_LIMIT = 2;
const LASTING = ["postgres", "nats", ...ROLES];

describe("compose.yaml", () => {
  it("has PostgreSQL, NATS, the steps before, and every role, with two workers", () => {
    expect(Object.keys(services).toSorted()).toEqual([...ONCE, ...LASTING].toSorted());
    expect(service("worker").deploy?.replicas).toBe(2);
    for (const role of ROLES)
      expect(service(role).command?.join(" ")).toMatch(new RegExp(`^start .*--role ${role}\\b`));
  });

  it("takes PostgreSQL 17 or newer, NATS 2.12 or newer, and our image from a Dockerfile that is there", () => {
    expect(Number(/^postgres:(\d+)/.exec(service("postgres").image ?? "")?.[1])).toBeGreaterThanOrEqual(17);
    const [, major, minor] = /^nats:(\d+)\.(\d+)/.exec(service("nats").image ?? "") ?? [];
    expect(Number(major) * 100 + Number(minor)).toBeGreaterThanOrEqual(212);
    for (const name of [...ROLES, "migrate"]) {
      const { build } = service(name);
      expect(existsSync(join(DEPLOY, build?.context ?? "", build?.dockerfile ?? "nothing")), name).toBe(true);
    }
  });

  it("publishes the API on loopback and nothing else", () => {
    const published = Object.entries(services).flatMap(([name, { ports = [] }]) => ports.map((port) => [name, port]));
    expect(published).toEqual([["api", "127.0.0.1:8099:8099"]]);
  });

  it("admits no client outside its container to the monitor of NATS, which asks for no password", () => {
    expect(service("nats").command).toEqual(["--config", "/etc/nats/monitored.conf"]);
    const mounted = service("nats").volumes?.find((volume) => volume.includes("/etc/nats/monitored.conf"));
    const files = [mounted?.split(":")[0]?.slice("./".length) ?? "", "nats.conf"];
    const lines = files.flatMap((file) =>
      read(file)
        .split("\n")
        .map((line) => line.trim()),
    );
    const monitors = lines.filter((line) => /^(http|https|monitor)(_port)?\s*[:=]/.test(line));
    expect(monitors).toEqual(['http: "127.0.0.1:8222"']);
    expect(service("nats").healthcheck?.test.join(" ")).toContain("http://127.0.0.1:8222/healthz");
  });

  it("keeps the store on a network without a way out", () => {
    expect(compose.networks.store?.internal).toBe(true);
    for (const name of ["postgres", "nats", "kernel", "pmo", "migrate", "roles"]) {
      expect(service(name).networks, name).toEqual(["store"]);
    }
  });

  it("checks the health of what has a port, starts everything again, and limits it", () => {
    for (const name of ["postgres", "nats", "api"]) expect(service(name).healthcheck?.test[0], name).toBe("CMD");
    for (const name of LASTING) expect(service(name).restart, name).toBe("unless-stopped");
    for (const name of ONCE) expect(service(name).restart, name).toBe("no");
    for (const name of [...ONCE, ...LASTING]) {
      const limits = service(name).deploy?.resources?.limits;
      expect(Number(limits?.cpus), name).toBeGreaterThan(0);
      expect(limits?.memory, name).toMatch(/^\d+[MG]$/);
    }
  });

  it("gives a process memory for itself, and where isolated tools run for two that need all they may", () => {
    const ofTools = (ISOLATED_TOOLS_AT_LIMIT * ISOLATED_LIMITS.memoryBytesMax) / MIB;
    for (const name of [...ROLES, "migrate"]) {
      const least = RUNS_TOOLS.includes(name) ? PROCESS_MIB + ofTools : PROCESS_MIB;
      expect([name, service(name).deploy?.resources?.limits?.memory]).toEqual([name, `${least}M`]);
    }
    for (const role of RUNS_TOOLS) expect(service(role).command?.join(" ")).toContain("--workspaces");
  });

  it("runs our processes without privileges on a file system they cannot write, with time to drain", () => {
    for (const name of ROLES) {
      const { read_only, cap_drop, security_opt, stop_grace_period } = service(name);
      expect({ read_only, cap_drop, security_opt }, name).toEqual({
        read_only: true,
        cap_drop: ["ALL"],
        security_opt: ["no-new-privileges:true"],
      });
      expect(Number.parseInt(stop_grace_period ?? "0", 10), name).toBeGreaterThan(30);
    }
  });

  it("starts in an order: the database, its schema, its roles, then the services that use them", () => {
    expect(service("migrate").depends_on).toEqual({ postgres: { condition: "service_healthy" } });
    expect(service("roles").depends_on).toEqual({ migrate: { condition: "service_completed_successfully" } });
    for (const name of ROLES) {
      expect(service(name).depends_on, name).toEqual({
        roles: { condition: "service_completed_successfully" },
        nats: { condition: "service_healthy" },
      });
    }
  });

  it("gives each role its own login and its own user, and no password of another", () => {
    for (const name of ROLES) {
      const { environment = {} } = service(name);
      const NAME = name.toUpperCase();
      expect(environment.TESSERA_POSTGRES, name).toContain(`postgres://${name}:\${TESSERA_DB_${NAME}_PASSWORD:?}@`);
      expect(environment.TESSERA_NATS, name).toContain(`nats://${name}:\${TESSERA_NATS_${NAME}_PASSWORD:?}@`);
      const others = ROLES.filter((other) => other !== name).map((other) => `_${other.toUpperCase()}_PASSWORD`);
      for (const other of others) expect(JSON.stringify(environment), name).not.toContain(other);
    }
  });

  it("mounts files that are there and volumes that are declared", () => {
    const sources = Object.values(services).flatMap(({ volumes = [] }) =>
      volumes.map((volume) => volume.split(":")[0]),
    );
    for (const source of sources as string[]) {
      const isThere = source.startsWith("./") ? existsSync(join(DEPLOY, source)) : source in compose.volumes;
      expect(isThere, source).toBe(true);
    }
    expect(sources).toContain("./nats.conf");
  });

  it("uses no variable that env.example does not explain, and holds no password", () => {
    const used = new Set([...text.matchAll(/\$\{([A-Z_]+)/g)].map(([, name]) => name));
    const secretsFrom = [...text.matchAll(/environment: (TESSERA_[A-Z_]+)/g)].map(([, name]) => name);
    const known = new Set([...read("env.example").matchAll(/^([A-Z_]+)=/gm)].map(([, name]) => name));
    expect([...used, ...secretsFrom].filter((name) => !known.has(name))).toEqual([]);
    expect([...known].filter((name) => !used.has(name))).toEqual([]);
    const filled = [...read("env.example").matchAll(/^[A-Z_]*(?:PASSWORD|KEY)=(.+)$/gm)];
    expect(filled).toEqual([]);
  });

  it("gives nats-server every variable that nats.conf reads, and psql every one that logins.sql does", () => {
    const conf = read("nats.conf")
      .split("\n")
      .filter((line) => !line.trimStart().startsWith("#"))
      .join("\n");
    const wanted = new Set([...conf.matchAll(/\$(TESSERA_[A-Z_]+)/g)].map(([, name]) => name));
    expect(Object.keys(service("nats").environment ?? {}).toSorted()).toEqual([...wanted].toSorted());
    const logins = [...read("logins.sql").matchAll(/\\getenv \w+ (\w+)/g)].map(([, name]) => name);
    expect(Object.keys(service("roles").environment ?? {})).toEqual(expect.arrayContaining(logins));
  });
});

// The Dockerfile is built without an engine in tests/package/image.test.ts.

describe("the unit", () => {
  const unit = read("systemd/tessera@.service");

  it("starts a command that is there, as a user of its own, and lets it drain", () => {
    const [, command = ""] =
      /^ExecStart=\/usr\/bin\/node \/opt\/tessera\/(\S+) start \$TESSERA_START$/m.exec(unit) ?? [];
    expect(existsSync(join(ROOT, command))).toBe(true);
    expect(unit).toMatch(/^User=tessera$/m);
    expect(`${PROCESS_MIB + (ISOLATED_TOOLS_AT_LIMIT * ISOLATED_LIMITS.memoryBytesMax) / MIB}`).toBe(
      `${Number(/^MemoryMax=(\d+)G$/m.exec(unit)?.[1]) * 1024}`,
    );
    expect(unit).toMatch(/^OOMPolicy=continue$/m); // the kernel ends a tool, not the process that runs it
    expect(Number(/^TimeoutStopSec=(\d+)$/m.exec(unit)?.[1])).toBeGreaterThan(30);
  });

  it.runIf(hasProgram("systemd-analyze"))("is one that systemd understands and calls well protected", () => {
    const file = join(DEPLOY, "systemd/tessera@.service");
    const said = execFileSync("systemd-analyze", ["security", "--offline=true", "--threshold=40", "--no-pager", file], {
      encoding: "utf8",
      stdio: ["ignore", "pipe", "pipe"],
    });
    expect(said).toMatch(/exposure level/);
  });
});
