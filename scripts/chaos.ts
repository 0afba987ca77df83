// Chaos with real processes: `npm run chaos -- --seconds 90`.
//
//   --seconds N    how long faults happen (default 60)
//   --seed S       which faults and which load (default: drawn, and printed)
//   --throughput   instead: the same load N seconds left alone and N seconds with a worker killed every 5 s
//   --report       appends what was found to proof/runs.jsonl
//   --json         prints JSON and nothing else
//
// Ends with 1 after a violation; then logs and ledgers stay where it says. Ctrl-C ends it and everything it started.

import { randomInt } from "node:crypto";
import { parseArgs } from "node:util";
import { type ChaosProgress, type ChaosResult, runChaos } from "../tests/chaos/run-chaos.ts";
import { runThroughput, type ThroughputResult } from "../tests/chaos/throughput.ts";
import { tellFlagMistakes, wholeNumber } from "./flags.ts";
import {
  appendProof,
  type ChaosRecord,
  PROOF_FILE,
  type Recovery,
  stamp,
  type ThroughputRecord,
} from "./proof/record.ts";

const EXIT_INTERRUPTED = 130;

tellFlagMistakes();
const { values } = parseArgs({
  options: {
    seconds: { type: "string", default: "60" },
    seed: { type: "string" },
    throughput: { type: "boolean", default: false },
    report: { type: "boolean", default: false },
    json: { type: "boolean", default: false },
  },
});
const seconds = wholeNumber("seconds", values.seconds);
const seed = values.seed === undefined ? randomInt(2 ** 31) : wholeNumber("seed", values.seed);
const interrupted = new AbortController();
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.once(signal, () => interrupted.abort());

const run = { seed, seconds, signal: interrupted.signal };
const stamped = values.report ? stamp() : null;
if (!values.json) console.log(`seed ${seed}, ${seconds} s; starting PostgreSQL, NATS and eight processes …`);
try {
  const result = values.throughput ? await runThroughput(run) : await runChaos({ ...run, onProgress: showProgress });
  if (process.stderr.isTTY) process.stderr.write("\n");
  if (stamped !== null) await appendProof(result.record, PROOF_FILE, stamped);
  console.log(values.json ? JSON.stringify(result) : textOf(result));
  process.exitCode = result.violations.length === 0 ? 0 : 1;
} catch (error) {
  if (!interrupted.signal.aborted) throw error;
  process.exit(EXIT_INTERRUPTED); // what a fault was waiting for is of no use any more
}

function showProgress({ elapsedMs, accepted, ended, faults }: ChaosProgress): void {
  if (values.json || !process.stderr.isTTY) return;
  const kinds = Object.entries(faults).map(([kind, count]) => `${kind} ${count}`);
  const line = `${Math.round(elapsedMs / 1_000)} s, ${ended}/${accepted} turns, faults: ${kinds.join(", ")}`;
  process.stderr.write(`\r\x1b[K${line.slice(0, (process.stderr.columns ?? 80) - 1)}`);
}

function textOf({ record, violations, directory }: ChaosResult | ThroughputResult): string {
  const options = `--seconds ${seconds} --seed ${seed}${values.throughput ? " --throughput" : ""}`;
  return [
    ...(record.run === "chaos" ? chaosLines(record) : throughputLines(record)),
    ...violations.map((each) => `VIOLATION ${each}`),
    ...(directory === null ? [] : [`again: npm run chaos -- ${options}`, `logs: ${directory}`]),
  ].join("\n");
}

function chaosLines({ turns, calls, faults, recovery, left_out }: ChaosRecord): string[] {
  const kinds = Object.entries(faults);
  const count = kinds.reduce((sum, [, each]) => sum + each, 0);
  return [
    `${turns} turns, ${calls} calls, ${count} faults of ${kinds.length} kinds`,
    ...kinds.map(([kind, each]) => `  ${kind} ${each}`),
    `after the broker's return messages flow: ${recoveryText(recovery.broker_return, left_out?.broker_return)}`,
    `after a worker's kill -9 its turns move on: ${recoveryText(recovery.worker_kill, left_out?.worker_kill)}`,
  ];
}

function recoveryText(recovery: Recovery | null, leftOut = 0): string {
  if (recovery === null) return "nothing to measure";
  const { samples, median, worst, limit } = recovery;
  return `median ${median} ms, worst ${worst} ms of ${samples}; promised ${limit} ms; left out ${leftOut} times`;
}

function throughputLines({ calm_per_second, killed_per_second, kills }: ThroughputRecord): string[] {
  const ratio = (killed_per_second / calm_per_second).toFixed(2);
  return [`${calm_per_second} turns/s left alone, ${killed_per_second} turns/s with ${kills} kills: ${ratio}`];
}
