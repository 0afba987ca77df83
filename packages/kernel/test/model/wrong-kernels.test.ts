// The model test is tested: it must tell kernels with one mistake each from the right one, soon.

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { useFixture } from "../fixture.ts";
import { kernelProperty } from "./kernel-property.ts";
import { newSequences } from "./sequences.ts";
import { MISTAKES, makeMistake } from "./wrong-kernels.ts";

/** Of a mistake that needs a crash at the right moment, most sequences show nothing. */
const SEQUENCES_MAX = 400;
const fx = useFixture({ checkSafety: false });

describe("the model notices within four hundred sequences that", () => {
  for (const mistake of MISTAKES) {
    it(mistake.says, { timeout: 300_000 }, async () => {
      const correct = await makeMistake(fx, mistake);
      const sequences = newSequences(fx);
      const found = await fc
        .check(kernelProperty(sequences), { seed: fx.seed.value | 0, numRuns: SEQUENCES_MAX, endOnFailure: true })
        .finally(correct);
      console.info(`${mistake.says}: ${found.failed ? `noticed after ${found.numRuns}` : "not noticed"}`);
      expect(found.failed, "the mistake is noticed").toBe(true);
    });
  }
});
