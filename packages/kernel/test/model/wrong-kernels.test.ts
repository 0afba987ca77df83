// The model test is tested: it must distinguish kernels with one mistake each from the right one.
//
//   W1. The search begins with the sequence that distinguished them when this was written, so it is mostly over at once. After a
//       change of the commands that sequence is another one; the search then goes on, and the test prints what to write down.

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { useFixture } from "../fixture.ts";
import { kernelProperty } from "./kernel-property.ts";
import { Sequences } from "./sequences.ts";
import { MISTAKES, makeMistake } from "./wrong-kernels.ts";

const SEED = 1;
/** Of a mistake that needs a crash at the right moment, most sequences show nothing. */
const SEQUENCES_MAX = 400;
const isAnew = process.env.TESSERA_MODEL_ANEW === "1";
const fx = useFixture({ checkSafety: false });

describe("the model notices within four hundred sequences that", () => {
  for (const mistake of MISTAKES) {
    it(mistake.says, { timeout: 300_000 }, async () => {
      const correct = await makeMistake(fx, mistake);
      const path = isAnew ? "0" : String(mistake.noticedAt);
      const found = await fc
        .check(kernelProperty(new Sequences(fx, true)), {
          seed: SEED,
          path,
          numRuns: SEQUENCES_MAX,
          endOnFailure: true,
        })
        .finally(correct);
      expect(found.failed, "the mistake is noticed").toBe(true);
      if (found.counterexamplePath !== path)
        console.info(`${mistake.says}: noticedAt is now ${found.counterexamplePath}`);
    });
  }
});
