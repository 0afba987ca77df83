// The kernel against its reference model: random sequences of everything that its clients may do, one after another.

import { engineFromEnvironment } from "@tessera/testkit";
import fc from "fast-check";
import { expect, test } from "vitest";
import { useFixture } from "../fixture.ts";
import type { ModelCommand } from "./commands.ts";
import { kernelProperty } from "./kernel-property.ts";
import { newSequences, runParameters } from "./sequences.ts";

/** What fits into every run of the tests; PostgreSQL is half as fast here. `TESSERA_MODEL_RUNS` asks for more. */
const RUNS = engineFromEnvironment() === "pglite" ? 120 : 60;
/** From so many sequences on, each of the answers below must have come. */
const RUNS_THAT_REACH_ALL = 1_200;
/** Answers that are rare, and without which a run would have shown little. */
const MUST_BE_REACHED = [
  "applyResults: accepted",
  "open: rejected already_claimed",
  "open: rejected stale_attempt",
  "open: rejected tool_timeout",
  "report: accepted retry",
  "report: accepted wake",
  "report: duplicate",
  "report: rejected already_settled",
  "report: rejected stale_attempt",
  "resume: accepted resumed",
  "stop: accepted suspended",
  "suspend: duplicate",
];
const fx = useFixture({ checkSafety: false });

test("the kernel answers and stores what the model says, whatever comes in whatever order", {
  timeout: 3_600_000,
}, async () => {
  const sequences = newSequences(fx);
  const parameters = runParameters<[Iterable<ModelCommand>]>(fx.seed.value, RUNS);
  console.info(`model: seed ${fx.seed.value}, ${parameters.numRuns} sequences`);
  await fc.assert(kernelProperty(sequences), parameters);
  const missed = MUST_BE_REACHED.filter((answer) => !sequences.reached.has(answer));
  if (sequences.count >= RUNS_THAT_REACH_ALL) expect(missed, "answers that no sequence led to").toEqual([]);
});
