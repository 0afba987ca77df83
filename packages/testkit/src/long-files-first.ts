// The order in which a run of all tests begins its files.
//
//   L1. The files that take long come first, as the longest of them must not be what is left at the end. Vitest knows how long
//       a file took only where it ran before; a fresh clone does not.
//   L2. Files that compute stand between files that wait, so that at any time there are some of both.
//   L3. A file that is missing here costs time and nothing else.

import { BaseSequencer, type TestSpecification } from "vitest/node";

/** Files that take more than some 20 s on two cores. */
const LONG_FILES = [
  "tests/sim/seeds-2151.test.ts",
  "tests/agents/memory.test.ts",
  "tests/sim/seeds-2301.test.ts",
  "tests/crash/hangs.test.ts",
  "packages/kernel/test/model/kernel-model-1.test.ts",
  "tests/package/installed.test.ts",
  "packages/kernel/test/model/kernel-model-2.test.ts",
  "tests/crash/kill-points.test.ts",
  "tests/crash/migrators.test.ts",
  "tests/cli/run.test.ts",
  "tests/conformance/database.test.ts",
  "tests/crash/random-kills.test.ts",
  "tests/cli/chat.test.ts",
  "tests/crash/stop-bounds.test.ts",
  "tests/agents/crash-points.test.ts",
  "tests/docs/an-assistant-that-remembers.test.ts",
  "tests/cli/dev-reload.test.ts",
  "tests/cli/run-postgres.test.ts",
  "tests/sim/planted.test.ts",
  "tests/sim/sim.test.ts",
  "tests/cli/quickstart.test.ts",
  "packages/kernel/test/rights/kept-rows.test.ts",
  "tests/crash/paused-worker.test.ts",
  "tests/docs/a-tool-in-another-language.test.ts",
  "tests/package/init-projects.test.ts",
  "tests/cli/json-shapes.test.ts",
  "tests/docs/write-a-tool.test.ts",
  "tests/cli/launcher.test.ts",
  "tests/docs/quick-start.test.ts",
  "tests/scenarios/health.test.ts",
  "tests/scale/topology.test.ts",
  "tests/docs/guide-types.test.ts",
  "tests/crash/store-lock.test.ts",
];

export class LongFilesFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rest = await super.sort(files);
    const placeOf = ({ moduleId }: TestSpecification) => LONG_FILES.findIndex((file) => moduleId.endsWith(`/${file}`));
    const long = rest.filter((file) => placeOf(file) >= 0);
    return [...long.toSorted((a, b) => placeOf(a) - placeOf(b)), ...rest.filter((file) => placeOf(file) < 0)];
  }
}
