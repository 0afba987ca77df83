// The property that everything else here is about: a sequence of commands, and then peace, leaves model and kernel agreed.

import fc from "fast-check";
import { plainCommands } from "./commands.ts";
import type { Model } from "./model-state.ts";
import { type Sequences, sequenceSize } from "./sequences.ts";
import type { System } from "./system.ts";

/** A failure must be reported within half a minute, also where a sequence takes a tenth of a second. */
export const SHRINKS_MAX = 300;

export const kernelProperty = (sequences: Sequences) =>
  fc.asyncProperty(
    fc.limitShrink(fc.commands<Model, System, false>(plainCommands, sequenceSize), SHRINKS_MAX),
    async (commands) => {
      const { model, real } = await sequences.open();
      await fc.asyncModelRun(() => ({ model, real }), commands);
      await sequences.close(model, real);
    },
  );
