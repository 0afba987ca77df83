// Runs seeds of the simulation: `npm run sim -- --seed 1 --seeds 100`.
//
//   --seed S           the first seed (default 1)
//   --seeds N          how many: S … S+N−1 (default 1)
//   --log              prints every event: how a failing seed is read
//   --only faults=a,b  these kinds of faults and no others
//   --json             one JSON object per seed, as soon as it has run
//   --report           appends a line to proof/runs.jsonl for every chunk of seeds
//   --chunk N          how many seeds a line is about (default 250)
//   --resume           leaves out the seeds that proof/runs.jsonl has already, and that broke nothing
//   --planted          instead of seeds: plants each bug of tests/sim/planted-bugs.ts and says how many seeds find it
//
// Ends with 1 if a seed found a violation. A seed that ever failed belongs into tests/sim/seeds.txt.
//
//   R1. Several processes may run other seeds at the same time: a line is appended whole, and nothing else is shared.
//   R2. Memory does not grow with the number of seeds.

import { parseArgs } from "node:util";
import { FAULT_KINDS, type FaultKind } from "@tessera/testkit/sim";
import { huntBug } from "../tests/sim/planted.ts";
import { PLANTED_BUGS } from "../tests/sim/planted-bugs.ts";
import { runSeeds, seedsFrom } from "../tests/sim/run-seeds.ts";
import { failureText, SeedTally } from "../tests/sim/seed-report.ts";
import { openSimStore } from "../tests/sim/store.ts";
import { FlagMistake, tellFlagMistakes, wholeNumber } from "./flags.ts";
import { appendProof, PROOF_FILE, readProof, stamp } from "./proof/record.ts";
import { chunksOf, unproven } from "./proof/seed-chunks.ts";

const HUNT_SEEDS_MAX = 200;

tellFlagMistakes();
const { values } = parseArgs({
  options: {
    seed: { type: "string", default: "1" },
    seeds: { type: "string", default: "1" },
    log: { type: "boolean", default: false },
    only: { type: "string" },
    json: { type: "boolean", default: false },
    report: { type: "boolean", default: false },
    chunk: { type: "string", default: "250" },
    resume: { type: "boolean", default: false },
    planted: { type: "boolean", default: false },
  },
});

const only = values.only === undefined ? null : faultKinds(values.only);
if (values.report && only !== null) throw new FlagMistake("--report is about all faults: it does not go with --only");
const stamped = values.report ? stamp() : null;
const isSafe = values.planted ? await huntAll() : await runAll();
process.exitCode = isSafe ? 0 : 1;

async function runAll(): Promise<boolean> {
  const range = { from: wholeNumber("seed", values.seed), count: wholeNumber("seeds", values.seeds) };
  const seeds = values.resume
    ? unproven(await readProof(), range.from, range.count)
    : [...seedsFrom(range.from, range.count)];
  const startedAtMs = performance.now();
  const total = new SeedTally();
  for (const chunk of chunksOf(seeds, wholeNumber("chunk", values.chunk))) {
    const tally = new SeedTally();
    for await (const result of runSeeds(chunk, { only, ...(values.log ? { onLine: print } : {}) })) {
      tally.add(result);
      total.add(result);
      if (values.json) print(JSON.stringify(result));
      else if (result.violation !== null) print(failureText(result, only));
      showProgress(total, seeds.length, performance.now() - startedAtMs);
    }
    await report(tally, chunk);
  }
  if (!values.json) print(total.text(performance.now() - startedAtMs));
  return total.violations === 0;
}

async function report(tally: SeedTally, chunk: readonly number[]): Promise<void> {
  const [from, to] = [chunk[0], chunk.at(-1)];
  if (stamped === null || from === undefined || to === undefined) return;
  const { events, turns, calls, violations } = tally;
  const faults = Object.fromEntries([...tally.faults].toSorted());
  await appendProof({ run: "simulation", from, to, events, turns, calls, faults, violations }, PROOF_FILE, stamped);
}

async function huntAll(): Promise<boolean> {
  const store = await openSimStore();
  const bugs: Record<string, number | null> = {};
  for (const bug of PLANTED_BUGS) {
    const hunt = await huntBug(store, bug, seedsFrom(1, HUNT_SEEDS_MAX));
    bugs[bug.name] = hunt.seed === null ? null : hunt.seeds;
    const found = hunt.seed === null ? "survived" : `found by seed ${hunt.seed}: ${hunt.violation?.slice(0, 80)}`;
    print(values.json ? JSON.stringify(hunt) : `${bug.name} ${found}`);
  }
  await store.close();
  if (stamped !== null) await appendProof({ run: "planted", bugs }, PROOF_FILE, stamped);
  return Object.values(bugs).every((seeds) => seeds !== null);
}

/** One line that is written over, for who watches. */
function showProgress({ seeds, violations }: SeedTally, wanted: number, ranMs: number): void {
  if (!process.stderr.isTTY || values.json || values.log) return;
  const perSecond = seeds / (ranMs / 1_000);
  const minutesLeft = Math.ceil((wanted - seeds) / perSecond / 60);
  const end = seeds === wanted ? "\n" : "";
  process.stderr.write(
    `\r\u001b[K${seeds} of ${wanted} seeds, ${perSecond.toFixed(2)} per second, ${minutesLeft} min left, ${violations} failed${end}`,
  );
}

function print(line: string): void {
  console.log(line);
}

function faultKinds(text: string): FaultKind[] {
  const names = text
    .replace(/^faults=/, "")
    .split(",")
    .filter(Boolean);
  return names.map((name) => {
    const kind = FAULT_KINDS.find((each) => each === name);
    if (kind === undefined) throw new FlagMistake(`--only: ${name} is no fault; there are ${FAULT_KINDS.join(", ")}`);
    return kind;
  });
}
