// npm run bench:peers: Tessera, its floor and its peers side by side, interleaved, on servers of their own.
//
// The peers are installed by this command, into bench/peers and nowhere else; Redis is Debian's, or the one that is there.

import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { hasProgram } from "../packages/testkit/src/servers/server-binaries.ts";
import { startRedis, startRestate } from "./peer-servers.ts";
import { PEER_WORKS } from "./peer-works.ts";
import { readCommandLine, runSuite, USAGE } from "./run-suite.ts";
import { Servers } from "./servers.ts";
import { PEER_TARGETS } from "./targets.ts";

const PEERS = join(import.meta.dirname, "peers");
const INSTALL_REDIS = "apt-get update && apt-get install -y redis-server";
/** No telemetry is sent that a benchmark was run. */
const QUIET = {
  DO_NOT_TRACK: "1",
  SCARF_ANALYTICS: "false",
  MASTRA_TELEMETRY_DISABLED: "1",
  LANGSMITH_TRACING: "false",
};

function wantedVersions(): Record<string, string> {
  return JSON.parse(readFileSync(join(PEERS, "package.json"), "utf8")).dependencies;
}

function isInstalled([name, version]: readonly [string, string]): boolean {
  const file = join(PEERS, "node_modules", name, "package.json");
  return existsSync(file) && JSON.parse(readFileSync(file, "utf8")).version === version;
}

function installPeers(): void {
  if (Object.entries(wantedVersions()).every(isInstalled)) return;
  process.stderr.write("installing the peers into bench/peers …\n");
  const output = ["ignore", process.stderr, process.stderr] as never;
  // Not `ci`, which refuses a lock that leaves out optional packages of other platforms; the versions are those of the lock.
  const install = ["install", "--no-save", "--no-workspaces", "--ignore-scripts", "--no-audit", "--no-fund"];
  execFileSync("npm", install, { cwd: PEERS, stdio: output });
}

function installRedis(): void {
  if (hasProgram("redis-server")) return;
  const canInstall = process.getuid?.() === 0 && existsSync("/usr/bin/apt-get");
  if (!canInstall) throw new Error(`redis-server was not found; run: ${INSTALL_REDIS}  (as root, on Debian)`);
  const env = { ...process.env, DEBIAN_FRONTEND: "noninteractive" };
  execFileSync("/bin/sh", ["-c", INSTALL_REDIS], { stdio: ["ignore", process.stderr, process.stderr] as never, env });
}

const flags = readCommandLine(PEER_WORKS);
if (flags.help) {
  const works = PEER_WORKS.map(({ name, what }) => `  ${name.padEnd(22)}${what}`).join("\n");
  process.stdout.write(`npm run bench:peers -- [options]\n\n${USAGE}\nworks:\n${works}\n`);
} else {
  installPeers();
  installRedis();
  Object.assign(process.env, QUIET);
  const redis = /v=(\S+)/.exec(execFileSync("redis-server", ["--version"], { encoding: "utf8" }))?.[1] ?? "";
  const versions = { Redis: redis, ...wantedVersions() };
  const servers = new Servers({ redis: startRedis, restate: startRestate });
  await runSuite({ name: "peers", works: PEER_WORKS, targets: PEER_TARGETS, servers, versions }, flags);
}
