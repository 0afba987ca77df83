// Runs works one after another, a whole round at a time.
//
//   R1. Interleaved: a repetition runs every work once before the next one begins, so that a slow minute of the machine
//       does not fall on one work alone.
//   R2. A work that fails is reported with its reason and costs its own figures only.
//   R3. No program runs longer than PROGRAM_MS_MAX; then it is ended, and its servers with it.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import type { Servers } from "./servers.ts";
import { type Figures, type Spread, spreadsOf } from "./statistics.ts";
import type { Work } from "./work.ts";

export interface RunOptions {
  readonly servers: Servers;
  readonly repetitions: number;
  readonly seconds: number;
  readonly isQuick: boolean;
  /** A line on how far the run is. */
  readonly onProgress: (line: string) => void;
}

export interface Ran {
  readonly figures: Readonly<Record<string, Readonly<Record<string, Spread>>>>;
  readonly failures: Readonly<Record<string, string>>;
}

const PROGRAM_MS_MAX = 600_000;
const REASON_CHARS_MAX = 400;

export async function runWorks(works: readonly Work[], options: RunOptions): Promise<Ran> {
  const { servers, repetitions, onProgress } = options;
  const measured = new Map<string, Figures[]>();
  const failures: Record<string, string> = {};
  const total = works.length * repetitions;
  for (let done = 0; done < total; done += 1) {
    const work = works[done % works.length] as Work; // R1
    const began = performance.now();
    let outcome = "";
    try {
      const figures = await servers.with(work.needs ?? [], (flags) => runProgram(work, flags, options));
      measured.set(work.name, [...(measured.get(work.name) ?? []), figures]);
    } catch (error) {
      failures[work.name] = String(error instanceof Error ? error.message : error).slice(0, REASON_CHARS_MAX); // R2
      outcome = ` FAILED: ${failures[work.name]}`;
    }
    const tookS = ((performance.now() - began) / 1_000).toFixed(1);
    onProgress(`[${done + 1}/${total}] ${work.name} (${tookS} s)${outcome}`);
  }
  const figures = Object.fromEntries([...measured].map(([name, repeated]) => [name, spreadsOf(repeated)]));
  return { figures, failures };
}

async function runProgram(work: Work, address: readonly string[], options: RunOptions): Promise<Figures> {
  const command = [
    ...(work.nodeFlags ?? []),
    "--disable-warning=ExperimentalWarning",
    join(import.meta.dirname, work.program),
    ...address,
    ...["--seconds", String(options.seconds)],
    ...(work.args ?? []),
    ...(options.isQuick ? (work.quickArgs ?? []) : []),
  ];
  const child = spawn(process.execPath, command, { stdio: ["ignore", "pipe", "pipe"] });
  const timer = setTimeout(() => child.kill("SIGKILL"), PROGRAM_MS_MAX); // R3
  const [out, err, [code, signal]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, "exit")]);
  clearTimeout(timer);
  if (code !== 0) throw new Error(`${work.program} ended with ${code ?? signal}: ${reasonIn(err)}`);
  return JSON.parse(out.trim().split("\n").at(-1) ?? "") as Figures;
}

/** The line of a stack trace that says something. */
function reasonIn(err: string): string {
  const lines = err.split("\n").map((line) => line.trim());
  return lines.find((line) => /^\w*Error\b/.test(line)) ?? lines.filter((line) => line !== "").at(-1) ?? "";
}
