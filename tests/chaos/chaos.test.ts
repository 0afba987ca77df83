// A minute and a half of chaos with real servers and processes; `npm run chaos` runs longer ones.

import { seedFromEnvironment } from "@tessera/testkit";
import { expect, it } from "vitest";
import { runChaos } from "./run-chaos.ts";

const SECONDS = 90;
/** How long a fault takes depends on the machine. */
const FAULTS_MIN = 12;
const TEST_MS = 8 * 60_000;

it(
  "whatever is killed, paused, restarted or cut off, every turn ends, no effect happens twice and no invariant breaks",
  async () => {
    const seed = seedFromEnvironment();
    console.log(`seed ${seed.value}`);
    const { record, violations, directory } = await runChaos({
      seed: seed.value,
      seconds: SECONDS,
      faultsMin: FAULTS_MIN,
    });
    console.log(JSON.stringify(record));
    expect(violations, `${seed.hint}; logs are in ${directory}`).toEqual([]);
    const kinds = Object.keys(record.faults);
    expect(kinds.length).toBeGreaterThanOrEqual(6);
    expect(Object.values(record.faults).reduce((sum, count) => sum + count, 0)).toBeGreaterThanOrEqual(FAULTS_MIN);
    expect(record.turns).toBeGreaterThan(50);
    const { broker_return, worker_kill } = record.recovery;
    expect(broker_return?.samples).toBeGreaterThanOrEqual(2); // that none was late is a matter of the violations
    expect(worker_kill?.samples).toBeGreaterThanOrEqual(1);
  },
  TEST_MS,
);
