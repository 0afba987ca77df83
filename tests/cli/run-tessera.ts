// The real command as a child process, as `npm ci` leaves it. What it prints with --json is held to its shape.

import { spawn } from "node:child_process";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { holdJson } from "./hold-json.ts";

export const ROOT = join(import.meta.dirname, "../..");
export const TESSERA = join(ROOT, "packages/cli/bin/tessera.js");

/** None of our commands takes so long; one that does is ended, and its exit code is null. */
const RUN_MS_MAX = 5 * 60_000;

export interface Ran {
  readonly exitCode: number | null;
  readonly out: string;
  readonly err: string;
}

/** With the cache of compiled sources that the command makes for itself. */
export async function runTessera(args: readonly string[], env: Record<string, string> = {}): Promise<Ran> {
  const { NODE_COMPILE_CACHE: _, ...inherited } = process.env;
  const ran = await run([TESSERA, ...args], inherited, env);
  holdJson(args, ran);
  return ran;
}

export async function runNode(args: readonly string[], env: Record<string, string> = {}): Promise<Ran> {
  return await run(args, process.env, env);
}

async function run(args: readonly string[], all: NodeJS.ProcessEnv, env: Record<string, string>): Promise<Ran> {
  const { TESSERA_DATA: _, TESSERA_POSTGRES: __, TESSERA_URL: ___, ...inherited } = all;
  const child = spawn(process.execPath, args, {
    env: { ...inherited, ...env },
    stdio: ["ignore", "pipe", "pipe"],
    timeout: RUN_MS_MAX,
    killSignal: "SIGKILL",
  });
  const exit = new Promise<number | null>((resolve) => child.once("exit", resolve));
  const [exitCode, out, err] = await Promise.all([exit, text(child.stdout), text(child.stderr)]);
  return { exitCode, out, err };
}

/** What no output of ours may hold. */
export const STACK_TRACE = /^\s+at .*:\d+/m;
