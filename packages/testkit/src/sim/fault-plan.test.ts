import { describe, expect, it } from "vitest";
import { FaultPlan } from "./fault-plan.ts";
import { SimRandom } from "./random.ts";

describe("a fault that was added later", () => {
  it("leaves the occasions of the others as they were drawn before there was one", () => {
    const dropped = (isLocking: boolean) => {
      const plan = new FaultPlan(new SimRandom(7), ["bus.drop", "store.locked_head"]);
      return Array.from({ length: 50 }, () => {
        if (isLocking) plan.draws("store.locked_head");
        return plan.draws("bus.drop");
      });
    };
    expect(new Set(dropped(false)).size).toBe(2);
    expect(dropped(true)).toEqual(dropped(false));
  });
});
