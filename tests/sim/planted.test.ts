// The test of the tests: each planted bug must be found.

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { huntBug } from "./planted.ts";
import { PLANTED_BUGS, plant } from "./planted-bugs.ts";
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
    const hunt = await huntBug(store, bug, SEEDS_MAX);
    expect(hunt.violation, `${bug.name} survived ${SEEDS_MAX} seeds`).not.toBeNull();
  });

  it("whose text is no longer in the kernel is refused", async () => {
    const bug = { name: "gone", says: "", replaced: [{ fn: "resume", from: "no such text", to: "" }] };
    await expect(plant(store.database, bug)).rejects.toThrow("occurs 0 times");
  });
});
