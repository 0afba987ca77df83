// The other half of CI's seeds.

import { describe } from "vitest";
import { describeSeeds } from "./seed-suite.ts";

describe("the simulation", () => {
  describeSeeds(2151, 150);
});
