// The kernel against its reference model: random sequences of everything that its clients may do, one after another.

import { engineFromEnvironment } from "@tessera/testkit";
import { expect, test } from "vitest";
import { useFixture } from "../fixture.ts";
import type { ModelCommand } from "./commands.ts";
import { kernelProperty } from "./kernel-property.ts";
import { recordRun } from "./record-run.ts";
import { assertSequences, runParameters, Sequences } from "./sequences.ts";

/** Of each half: 2,000 in every run of the tests, over both databases. `TESSERA_MODEL_RUNS` asks for more. */
const RUNS = engineFromEnvironment() === "pglite" ? 700 : 300;
/** From so many sequences on, each of the answers below must have come. */
const RUNS_THAT_REACH_ALL = 700;
/** Answers that are rare, and without which a run would have shown little. */
const MUST_BE_REACHED = [
  "appendCards: accepted",
  "appendCards: duplicate",
  "applyResults: accepted",
  "batch: several",
  "claimCalls: took",
  "deleteProject: accepted",
  "deleteProject: rejected conflict",
  "enqueue: rejected conflict",
  "finishBatch: accepted",
  "finishBatch: rejected conflict",
  "open: rejected already_claimed",
  "open: rejected stale_attempt",
  "open: rejected tool_timeout",
  "readEvents: read",
  "report: accepted retry",
  "report: accepted wake",
  "report: duplicate",
  "report: rejected already_settled",
  "report: rejected stale_attempt",
  "resume: accepted resumed",
  "stop: accepted suspended",
  "suspend: duplicate",
];

export function describeModel(half: 1 | 2): void {
  const fx = useFixture({ checkSafety: false });

  test("the kernel answers and stores what the model says, whatever comes in whatever order", {
    timeout: 3_600_000,
  }, async () => {
    const sequences = new Sequences(fx);
    // Next to each other: fast-check mixes the seed, and no two halves draw the same.
    const parameters = runParameters<[Iterable<ModelCommand>]>(2 * fx.seed.value + half, RUNS);
    console.info(`model ${half}: TESSERA_SEED=${fx.seed.value}, ${parameters.numRuns} sequences`);
    await recordRun(sequences, "sequences", () => assertSequences(sequences, kernelProperty(sequences), parameters));
    const missed = MUST_BE_REACHED.filter((answer) => !sequences.reached.has(answer));
    if (sequences.count >= RUNS_THAT_REACH_ALL) expect(missed, "answers that no sequence led to").toEqual([]);
  });
}
