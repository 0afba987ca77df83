// The kernel against its reference model while several clients ask at once, in an order that a scheduler draws.

import fc from "fast-check";
import { expect, test } from "vitest";
import { useFixture } from "../fixture.ts";
import { type ModelCommand, plainCommands } from "./commands.ts";
import { SHRINKS_MAX } from "./kernel-property.ts";
import type { Model } from "./model-state.ts";
import { openRacers, races } from "./races.ts";
import { recordRun } from "./record-run.ts";
import { assertSequences, runParameters, Sequences, sequenceSize } from "./sequences.ts";
import type { System } from "./system.ts";

const RUNS = 20;
/** Of the commands drawn, about a third are races. */
const RACES = Math.ceil(plainCommands.length / 2);
const fx = useFixture({ checkSafety: false });

test("clients that ask at once get answers that some order of asking explains", { timeout: 3_600_000 }, async () => {
  const sequences = new Sequences(fx);
  const racers = await openRacers(fx);
  let scheduler: fc.Scheduler | null = null;
  const race = races(racers, () => scheduler as fc.Scheduler);
  const commands = fc.commands<Model, System, false>(
    [...plainCommands, ...Array.from({ length: RACES }, () => race)],
    sequenceSize,
  );
  const parameters = runParameters<[fc.Scheduler, Iterable<ModelCommand>]>(fx.seed.value, RUNS);
  console.info(`races: seed ${fx.seed.value}, ${parameters.numRuns} sequences`);
  const property = fc.asyncProperty(fc.scheduler(), fc.limitShrink(commands, SHRINKS_MAX), async (drawn, sequence) => {
    scheduler = drawn;
    const { model, real } = await sequences.open();
    await fc.scheduledModelRun(drawn, () => ({ model, real }), sequence);
    await sequences.close(model, real);
  });
  await recordRun(sequences, "races", () => assertSequences(sequences, property, parameters));
  expect(sequences.reached.get("race: accepted") ?? 0).toBeGreaterThan(0);
});
