// What a run of the proof leaves behind: one line of proof/runs.jsonl, from which docs/reference/proof.md is generated.
//
//   P1. A line is only ever appended. A long run writes one per chunk, so that a run that was cut off has lost nothing but
//       its last chunk, and the next one goes on where the lines end.
//   P2. A line names the commit it was made with. `-dirty` says that the tree held more than that commit. A run for
//       hours takes the stamp at the start: the tree may have moved on before the last line.

import { execFileSync } from "node:child_process";
import { appendFile, mkdir, readFile } from "node:fs/promises";
import { dirname, join } from "node:path";

export interface Stamp {
  readonly commit: string;
  /** The day, `2026-11-15`: what a reader of the page wants to know, and no more of the machine's clock. */
  readonly date: string;
}

/** Seeds `from` to `to` of the simulation, both included. */
export interface SimulationRecord {
  readonly run: "simulation";
  readonly from: number;
  readonly to: number;
  readonly events: number;
  readonly turns: number;
  readonly calls: number;
  /** How often each kind happened (not: was drawn). */
  readonly faults: Readonly<Record<string, number>>;
  readonly violations: number;
}

/** How many seeds each planted bug survived before a check noticed it; null: it was not noticed. */
export interface PlantedRecord {
  readonly run: "planted";
  readonly bugs: Readonly<Record<string, number | null>>;
}

export interface ModelRecord {
  readonly run: "model";
  readonly engine: "pglite" | "postgres";
  readonly sequences: number;
  readonly races: number;
  readonly commands: number;
  readonly violations: number;
}

export interface FuzzRecord {
  readonly run: "fuzz";
  /** What was fed, e.g. `http`, `subject`, `report`. */
  readonly door: string;
  readonly inputs: number;
  readonly findings: number;
}

/** Milliseconds from the fault to the sign of recovery that its name says. */
export interface Recovery {
  readonly samples: number;
  readonly median: number;
  readonly worst: number;
  /** What was promised. */
  readonly limit: number;
}

export interface ChaosRecord {
  readonly run: "chaos";
  readonly seed: number;
  /** For how long faults happened. */
  readonly seconds: number;
  readonly turns: number;
  readonly calls: number;
  readonly faults: Readonly<Record<string, number>>;
  readonly violations: number;
  readonly recovery: Readonly<Record<"broker_return" | "worker_kill", Recovery | null>>;
  /** How often it gave no sample, because another fault still held the system up. */
  readonly left_out?: Readonly<Record<"broker_return" | "worker_kill", number>>;
  /** Added manually to what is recorded: what its violations were. */
  readonly remark?: string;
}

/** The same load twice in one run: left alone, and with one worker killed every five seconds. */
export interface ThroughputRecord {
  readonly run: "throughput";
  readonly seconds: number;
  readonly kills: number;
  readonly calm_per_second: number;
  readonly killed_per_second: number;
  readonly violations: number;
  /** Added manually, too. */
  readonly remark?: string;
}

export type ProofRecord = SimulationRecord | PlantedRecord | ModelRecord | FuzzRecord | ChaosRecord | ThroughputRecord;

const ROOT = join(import.meta.dirname, "../..");
export const PROOF_FILE = join(ROOT, "proof/runs.jsonl");

export async function appendProof(record: ProofRecord, file: string, at: Stamp): Promise<void> {
  await mkdir(dirname(file), { recursive: true });
  await appendFile(file, `${JSON.stringify({ ...record, ...at })}\n`);
}

export async function readProof(file = PROOF_FILE): Promise<readonly (ProofRecord & Stamp)[]> {
  const text = await readFile(file, "utf8").catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return "";
    throw error;
  });
  return text
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as ProofRecord & Stamp);
}

/** P2 */
export function stamp(): Stamp {
  const git = (...args: string[]) => execFileSync("git", args, { cwd: ROOT, encoding: "utf8" }).trim();
  const isDirty = git("status", "--porcelain", "--", ".", ":!proof", ":!docs/reference") !== "";
  return {
    commit: `${git("rev-parse", "--short=10", "HEAD")}${isDirty ? "-dirty" : ""}`,
    date: new Date().toISOString().slice(0, 10),
  };
}
