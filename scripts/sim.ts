// Runs seeds of the simulation: `npm run sim -- --seed 1 --seeds 100`.
//
//   --seed S         the first seed (default 1)
//   --seeds N        how many: S … S+N−1 (default 1)
//   --log            prints every event: how a failing seed is read
//   --only faults=a,b  these kinds of faults and no others
//   --json           one JSON object per seed, as soon as it has run
//   --planted        instead of seeds: plants each bug of tests/sim/planted-bugs.ts and says how many seeds find it
//
// Ends with 1 if a seed found a violation. A seed that ever failed belongs into tests/sim/seeds.txt.

import { parseArgs } from "node:util";
import { FAULT_KINDS, type FaultKind } from "@tessera/testkit/sim";
import { huntBug } from "../tests/sim/planted.ts";
import { PLANTED_BUGS } from "../tests/sim/planted-bugs.ts";
import type { SeedResult } from "../tests/sim/run-seed.ts";
import { runSeeds, seedsFrom } from "../tests/sim/run-seeds.ts";
import { failureText, summaryText } from "../tests/sim/seed-report.ts";
import { openSimStore } from "../tests/sim/store.ts";

const HUNT_SEEDS_MAX = 200;

const { values } = parseArgs({
  options: {
    seed: { type: "string", default: "1" },
    seeds: { type: "string", default: "1" },
    log: { type: "boolean", default: false },
    only: { type: "string" },
    json: { type: "boolean", default: false },
    planted: { type: "boolean", default: false },
  },
});

const isSafe = values.planted ? await huntAll() : await runAll();
process.exitCode = isSafe ? 0 : 1;

async function runAll(): Promise<boolean> {
  const seeds = seedsFrom(wholeNumber("seed", values.seed), wholeNumber("seeds", values.seeds));
  const only = values.only === undefined ? null : faultKinds(values.only);
  const startedAtMs = performance.now();
  const results: SeedResult[] = [];
  for await (const result of runSeeds(seeds, { only, ...(values.log ? { onLine: print } : {}) })) {
    results.push(result);
    if (values.json) print(JSON.stringify(result));
    else if (result.violation !== null) print(failureText(result, only));
  }
  if (!values.json) print(summaryText(results, performance.now() - startedAtMs));
  return results.every(({ violation }) => violation === null);
}

async function huntAll(): Promise<boolean> {
  const store = await openSimStore();
  let isEachFound = true;
  for (const bug of PLANTED_BUGS) {
    const { seeds, violation } = await huntBug(store, bug, HUNT_SEEDS_MAX);
    isEachFound &&= seeds !== null;
    const found =
      seeds === null ? `survived ${HUNT_SEEDS_MAX} seeds` : `found after ${seeds} seeds: ${violation?.slice(0, 80)}`;
    print(values.json ? JSON.stringify({ bug: bug.name, seeds, violation }) : `${bug.name} ${found}`);
  }
  await store.close();
  return isEachFound;
}

function print(line: string): void {
  console.log(line);
}

function wholeNumber(name: string, text: string): number {
  const value = Number(text);
  if (!Number.isSafeInteger(value) || value < 0) throw new Error(`--${name} must be a whole number, not ${text}`);
  return value;
}

function faultKinds(text: string): FaultKind[] {
  const names = text
    .replace(/^faults=/, "")
    .split(",")
    .filter(Boolean);
  return names.map((name) => {
    const kind = FAULT_KINDS.find((each) => each === name);
    if (kind === undefined) throw new Error(`--only: ${name} is no fault; there are ${FAULT_KINDS.join(", ")}`);
    return kind;
  });
}
