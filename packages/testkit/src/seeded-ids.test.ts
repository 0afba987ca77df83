import { expect, test } from "vitest";
import { SeededIds, seededRandom, withSeed } from "./seeded-ids.ts";

test("the same seed gives the same ids, another seed gives others", () => {
  const draw = (seed: number) => {
    const ids = new SeededIds(seed);
    return [ids.mint("call"), ids.mint("call"), ids.traceId(), ids.spanId()];
  };
  expect(draw(7)).toEqual(draw(7));
  expect(draw(7)).not.toEqual(draw(8));
});

test("ids have the form of a UUIDv7 without dashes and sort in the order of their making", () => {
  const ids = new SeededIds(1);
  const minted = Array.from({ length: 500 }, () => ids.mint("turn"));
  for (const id of minted) expect(id).toMatch(/^turn_[0-9a-f]{12}7[0-9a-f]{3}8[0-9a-f]{15}$/);
  expect(minted.toSorted()).toEqual(minted);
  expect(new Set(minted).size).toBe(500);
  expect(ids.traceId()).toMatch(/^[0-9a-f]{32}$/);
  expect(ids.spanId()).toMatch(/^[0-9a-f]{16}$/);
});

test("random numbers repeat with their seed and stay in range", () => {
  const first = seededRandom(3);
  const second = seededRandom(3);
  for (let n = 0; n < 1_000; n++) {
    const value = first();
    expect(value).toBe(second());
    expect(value >= 0 && value < 1).toBe(true);
  }
});

test("a failure prints the seed", async () => {
  const run = withSeed(async () => expect.fail("broken"), { value: 42, hint: "run again with TESSERA_SEED=42" });
  await expect(run).rejects.toThrow(/broken\nrun again with TESSERA_SEED=42/);
});
