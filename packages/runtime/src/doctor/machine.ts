// What a process of Tessera needs of its machine: Node, child processes, a sandbox for the shell tool, a port.

import { once } from "node:events";
import { mkdtemp, realpath, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { arch, platform, release, tmpdir } from "node:os";
import { join } from "node:path";
import { createIsolatedHost, probeShell } from "@tessera/executor";
import type { Clock } from "@tessera/kernel";
import { isNewEnough, NODE_NEEDED } from "../node-version.ts";
import { type Check, checksOf, saidBy } from "./check.ts";
import { lookAtApi } from "./server.ts";

const machine = checksOf("machine");
const api = checksOf("api");
const NODE_TESTED = 24;
const PLATFORMS: readonly string[] = ["linux", "darwin", "win32"];

export function checkNode(version: string, path: string): Check {
  const [major = 0] = version.split(".").map(Number);
  const found = `Node ${version} at ${path}`;
  if (!isNewEnough(version)) {
    return machine.wrong("node", found, `Install Node ${NODE_NEEDED} or newer, or run npm ci, which brings one.`);
  }
  if (major >= NODE_TESTED) return machine.ok("node", found);
  return machine.warn("node", found, `It runs; Tessera is tested on Node ${NODE_TESTED}, so prefer that.`);
}

export function checkPlatform(system: string = platform()): Check {
  const found = `${system} ${release()} on ${arch()}`;
  if (system === "linux") return machine.ok("platform", found);
  if (!PLATFORMS.includes(system))
    return machine.warn("platform", found, "Tessera is not tested here; use Linux or macOS.");
  return machine.ok("platform", `${found}; the bash tool has no sandbox here`);
}

/** A child process is started and looks at a module, as it does for every isolated tool. */
export async function checkIsolated(clock: Clock, env: Readonly<Record<string, string | undefined>>): Promise<Check> {
  const directory = await realpath(await mkdtemp(join(tmpdir(), "tessera-doctor-")));
  const isolated = createIsolatedHost({ clock, env, onWarning: () => {} });
  try {
    const entry = join(directory, "probe.mjs");
    await writeFile(entry, "export const handlers = { probe: () => null };\n");
    const before = clock.monotonicMs();
    await isolated.inspect(entry, directory);
    return machine.ok("isolated tools", `a child process started in ${Math.round(clock.monotonicMs() - before)} ms`);
  } catch (error) {
    const fix = "See what keeps this user from starting processes and writing to the temporary directory.";
    return machine.wrong("isolated tools", `no child process starts: ${saidBy(error)}`, fix);
  } finally {
    await isolated.close();
    await rm(directory, { recursive: true, force: true });
  }
}

export async function checkShell(clock: Clock): Promise<Check> {
  const { kind, reason } = await probeShell({}, clock);
  if (kind === "confined") return machine.ok("bash tool", reason);
  return machine.warn(
    "bash tool",
    `the bash tool is off: ${reason}`,
    "Make what is named available, or do without it.",
  );
}

/** Whether the API could listen; if not, who answers there. */
export async function checkPort(host: string, port: number): Promise<Check> {
  const where = `port ${port} on ${host}`;
  const refusal = await tryListen(host, port);
  if (refusal === null) return api.ok("port", `${where} is free`);
  if (refusal !== "EADDRINUSE") {
    return api.wrong("port", `${where} cannot be listened on: ${refusal}`, "Choose another port with --port.");
  }
  const answer = await lookAtApi(`http://${host}:${port}`);
  if (answer.kind === "tessera") {
    const fix = `Reach it with --url http://${host}:${port}, or choose another port with --port.`;
    return api.warn("port", `${where} is taken by a Tessera that says ${answer.status}`, fix);
  }
  const who = answer.kind === "other" ? "something that is no Tessera" : "a process that does not answer HTTP";
  return api.wrong(
    "port",
    `${where} is taken by ${who}`,
    "Stop it, or choose another port with --port; 0 takes any free one.",
  );
}

async function tryListen(host: string, port: number): Promise<string | null> {
  const server = createServer();
  try {
    server.listen({ host, port, exclusive: true });
    await once(server, "listening");
    server.close();
    await once(server, "close");
    return null;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code ?? saidBy(error);
  }
}
