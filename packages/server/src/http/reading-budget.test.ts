import { VirtualClock } from "@tessera/testkit";
import { expect, it } from "vitest";
import { createReadingBudget } from "./reading-budget.ts";

const LIMITS = {
  readingMsPerKey: { perSecond: 100, burst: 1_000 },
  readingMsPerProject: { perSecond: 200, burst: 1_500 },
};

it("lets a key and a project read until their milliseconds are used, and says when there are some again", async () => {
  const clock = new VirtualClock();
  const budget = createReadingBudget(clock, LIMITS);
  const wait = (key_id: string, project: string): number => {
    try {
      budget.open({ key_id }, project);
      return 0;
    } catch (error) {
      return Number((error as { headers: Record<string, string> }).headers["retry-after"]);
    }
  };
  budget.open({ key_id: "a" }, "p")(1_400); // one document may cost more than there is
  expect(wait("a", "p")).toBe(5);
  expect(wait("b", "p")).toBe(0);
  budget.open({ key_id: "b" }, "p")(300);
  expect(wait("c", "p")).toBe(2); // the project's are used, by two keys
  expect(wait("c", "q")).toBe(0);
  await clock.advance(2_000);
  expect(wait("c", "p")).toBe(0);
  expect(wait("a", "q")).toBe(3);
});
