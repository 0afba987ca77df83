// The topology of deploy/compose.yaml from the programs of this machine: PostgreSQL, NATS, and six processes of `tessera start`.
//
//   T1. Every process has a login and a NATS user of its own role, and knows no other password.
//   T2. The kernel comes first, because it makes the streams; everything ends in the reverse order, each process by its own
//       pid, and none outlives this one. A signal of the terminal reaches this process only.
//   T3. What stands between a process and a server (`route`) stands there for every process that takes its place.
//   T4. A start that fails or is given up leaves nothing behind.

import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { type LocalNats, startLocalNats } from "./local-nats.ts";
import { type LocalPostgres, type Login, startLocalPostgres } from "./local-postgres.ts";
import { type RoleProcess, startRole } from "./role-process.ts";

/** Process → its role. */
export const PROCESSES = {
  kernel: "kernel",
  pmo: "pmo",
  tools: "tools",
  "worker-1": "worker",
  "worker-2": "worker",
  api: "api",
} as const satisfies Record<string, Login>;
export type ProcessName = keyof typeof PROCESSES;

export interface TopologyOptions {
  readonly bundle: string;
  /** Kept at the end; absent: a temporary one, removed. */
  readonly directory?: string | undefined;
  /** Where the API listens; 0, the default, takes any free one, and another one after a restart. */
  readonly port?: number;
  /** Process → its role, instead of PROCESSES; `kernel` and `api` must be among them. */
  readonly processes?: Readonly<Record<string, Login>>;
  /** Settings of every process, as variables. */
  readonly env?: Readonly<Record<string, string>>;
  /** The port at which a process finds a server; the server's own if absent (T3). */
  readonly route?: (name: string, server: "postgres" | "nats", port: number) => Promise<number>;
  /** Gives the start up; what is running by then is stopped (T4). */
  readonly signal?: AbortSignal | undefined;
}

export interface Topology {
  readonly url: string;
  readonly key: string;
  readonly directory: string;
  readonly postgres: LocalPostgres;
  readonly nats: LocalNats;
  process(name: string): RoleProcess;
  /** Starts another one in the place of one that is gone. */
  restart(name: string): Promise<void>;
  stop(): Promise<void>;
}

export async function startTopology(options: TopologyOptions): Promise<Topology> {
  const directory = options.directory ?? mkdtempSync(join(tmpdir(), "tessera-topology-"));
  const key = `tsl_${randomBytes(24).toString("base64url")}`;
  const roles: Readonly<Record<string, Login>> = options.processes ?? PROCESSES;
  const routes = new Map<string, { readonly postgres: number; readonly nats: number }>();
  const processes = new Map<string, RoleProcess>();
  const stopping: (() => Promise<unknown>)[] = [];
  const stop = async () => {
    for (const step of stopping.splice(0).reverse()) await step(); // T2
    if (options.directory === undefined) rmSync(directory, { recursive: true, force: true });
  };
  try {
    const postgres = await startLocalPostgres(resolve(directory));
    stopping.push(() => postgres.server.stop("fast"));
    options.signal?.throwIfAborted();
    const nats = await startLocalNats(resolve(directory));
    stopping.push(() => nats.stop());
    options.signal?.throwIfAborted();

    const route = options.route ?? (async (_name, _server, port) => port);
    for (const name of Object.keys(roles)) {
      const ports = [route(name, "postgres", postgres.server.port), route(name, "nats", nats.port)] as const;
      routes.set(name, { postgres: await ports[0], nats: await ports[1] }); // T3
    }
    const start = async (name: string) => {
      const role = roles[name];
      if (role === undefined) throw new Error(`there is no process ${name}`);
      const isLoading = role === "worker" || role === "tools";
      const args = [
        ...(isLoading ? [resolve(options.bundle), "--workspaces", join(resolve(directory), "workspaces")] : []),
        ...["--role", role],
        ...(role === "api" ? ["--port", String(options.port ?? 0)] : []),
      ];
      const env = {
        ...options.env,
        TESSERA_POSTGRES: postgres.urlOf(role, routes.get(name)?.postgres),
        TESSERA_NATS: nats.urlOf(role, routes.get(name)?.nats),
        ...(role === "api" ? { TESSERA_API_KEY: key } : {}),
      }; // T1
      processes.set(name, await startRole(name, args, env));
    };
    const end = async (name: string) => await processes.get(name)?.child.terminate();
    await start("kernel");
    stopping.push(() => end("kernel"));
    options.signal?.throwIfAborted();
    const others = Object.keys(roles).filter((name) => name !== "kernel");
    stopping.push(...others.map((name) => () => end(name)));
    const starts = await Promise.allSettled(others.map(start)); // all of them: one that is still starting could not be stopped
    for (const each of starts) if (each.status === "rejected") throw each.reason; // T4
    options.signal?.throwIfAborted();

    const running = (name: string): RoleProcess => {
      const found = processes.get(name);
      if (found === undefined) throw new Error(`there is no process ${name}`);
      return found;
    };
    return {
      url: running("api").started.url ?? "",
      key,
      directory,
      postgres,
      nats,
      process: running,
      restart: start,
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}
