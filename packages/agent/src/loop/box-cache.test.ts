import { describe, expect, it } from "vitest";
import { createBoxCache, type PlacedCard } from "./box-cache.ts";

const card = (pos: number, name = "a", text = "hello"): PlacedCard => ({
  ...{ card_id: `${name}_${pos}`, pos, content: { text }, project_id: "p", type: "agent.thought", author_id: "a" },
  ...{ metadata: {}, tool_calls: null, tool_call_id: null, created_at: "2026-01-01T00:00:00.000Z" },
});
const cards = (count: number, name?: string) => Array.from({ length: count }, (_, pos) => card(pos, name));

/** A store of boxes, and from where each was read. */
function storeOf(boxes: Record<string, PlacedCard[]>) {
  const reads: string[] = [];
  const read = async (project: string, box: string, from: number) => {
    reads.push(`${project}/${box} from ${from}`);
    return (boxes[box] ?? []).filter(({ pos }) => pos >= from);
  };
  return { boxes, reads, read };
}

describe("a box that was read before", () => {
  it("is read from its last known card on, and is whole all the same", async () => {
    const store = storeOf({ b: cards(100) });
    const cache = createBoxCache(store.read);
    await cache.read("p", "b");
    store.boxes.b?.push(card(100), card(101));
    expect(await cache.read("p", "b")).toEqual(cards(102));
    expect(await cache.read("p", "b")).toEqual(cards(102));
    expect(store.reads).toEqual(["p/b from 0", "p/b from 99", "p/b from 101"]);
  });

  it("is read from its first gap on, because a place may be filled later", async () => {
    const store = storeOf({ b: cards(60).filter(({ pos }) => pos !== 50) });
    const cache = createBoxCache(store.read);
    expect(await cache.read("p", "b")).toHaveLength(59);
    store.boxes.b = cards(60);
    expect(await cache.read("p", "b")).toEqual(cards(60));
    expect(store.reads[1]).toBe("p/b from 49");
  });

  it("is read from its beginning when another box has taken its name", async () => {
    const store = storeOf({ b: cards(60) });
    const cache = createBoxCache(store.read);
    await cache.read("p", "b");
    store.boxes.b = cards(70, "other");
    expect(await cache.read("p", "b")).toEqual(cards(70, "other"));
    store.boxes.b = cards(3, "small");
    expect(await cache.read("p", "b")).toEqual(cards(3, "small"));
    expect(await cache.read("other_project", "b")).toEqual(cards(3, "small"));
  });

  it("is whole for each of two readers at once", async () => {
    const store = storeOf({ b: cards(60) });
    const cache = createBoxCache(store.read);
    await cache.read("p", "b");
    store.boxes.b?.push(card(60));
    const both = await Promise.all([cache.read("p", "b"), cache.read("p", "b")]);
    expect(both).toEqual([cards(61), cards(61)]);
    expect(await cache.read("p", "b")).toEqual(cards(61));
  });

  it("cannot be changed by a reader", async () => {
    const store = storeOf({ b: cards(60) });
    const cache = createBoxCache(store.read);
    const [first] = await cache.read("p", "b");
    expect(() => Object.assign(first?.content ?? {}, { text: "changed" })).toThrow(TypeError);
    (await cache.read("p", "b")).pop();
    expect(await cache.read("p", "b")).toHaveLength(60);
  });
});

describe("what is kept", () => {
  it("is no short box", async () => {
    const store = storeOf({ b: cards(5) });
    const cache = createBoxCache(store.read);
    await cache.read("p", "b");
    await cache.read("p", "b");
    expect(store.reads).toEqual(["p/b from 0", "p/b from 0"]);
  });

  it("is bounded: the box that was used longest ago goes first", async () => {
    const store = storeOf({ a: cards(100), b: cards(100), c: cards(100) });
    const size = cards(100).reduce((sum, each) => sum + JSON.stringify(each).length, 0);
    const cache = createBoxCache(store.read, 2 * size);
    for (const box of ["a", "b", "a", "c"]) await cache.read("p", box);
    store.reads.length = 0;
    for (const box of ["a", "c", "b"]) await cache.read("p", box);
    expect(store.reads).toEqual(["p/a from 99", "p/c from 99", "p/b from 0"]);
  });
});
