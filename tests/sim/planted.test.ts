// The test of the tests: each planted bug must be found by one of the seeds 1 to 200, which passes without it. The one that
// found it the last time is tried first: while it still does, a hunt is that seed, with and without the bug.
// (tests/scenarios/planted-lock-order.test.ts hunts the one that is left.)

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { huntBug } from "./planted.ts";
import { PLANTED_BUGS, plant } from "./planted-bugs.ts";
import { seedsFrom } from "./run-seeds.ts";
import { openSimStore, type SimStore } from "./store.ts";

const SEEDS_MAX = 200;
const TIMEOUT_MS = 600_000;

describe("a planted bug", () => {
  let store: SimStore;
  beforeAll(async () => {
    store = await openSimStore();
  });
  afterAll(() => store.close());

  it.each(PLANTED_BUGS)("$name is found: $says", { timeout: TIMEOUT_MS }, async (bug) => {
    const seeds = new Set([bug.foundBy ?? 1, ...seedsFrom(1, SEEDS_MAX)]);
    const hunt = await huntBug(store, bug, seeds);
    expect(hunt.violation, `${bug.name} survived ${hunt.seeds} seeds`).not.toBeNull();
  });

  it("is not found by a seed that fails without it, too", { timeout: TIMEOUT_MS }, async () => {
    const [another] = PLANTED_BUGS.filter(({ foundBy }) => foundBy === undefined);
    if (another === undefined) throw new Error("no bug is found by seed 1");
    const remove = await plant(store.database, another);
    const harmless = { name: "harmless", says: "", replaced: [] };
    await expect(huntBug(store, harmless, [1])).rejects.toThrow("seed 1 fails without harmless, too");
    await store.reset();
    await remove();
  });

  it("whose text is no longer in the kernel is refused", async () => {
    const bug = { name: "gone", says: "", replaced: [{ fn: "resume", from: "no such text", to: "" }] };
    await expect(plant(store.database, bug)).rejects.toThrow("occurs 0 times");
  });
});
