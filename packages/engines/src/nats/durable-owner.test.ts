import { describe, expect, it } from "vitest";
import { DurableOwner } from "./durable-owner.ts";

const OURS = `store_${"a".repeat(32)}`;
const THEIRS = `store_${"b".repeat(32)}`;
const owner = (storeId: string | undefined = OURS) => new DurableOwner(storeId, "d", (name) => name);
const found = (description: string | undefined, pulls = 1, { delivered = 7, answered = 6 } = {}) => ({
  config: description === undefined ? {} : { description },
  num_waiting: pulls,
  delivered: { consumer_seq: delivered },
  ack_floor: { consumer_seq: answered },
});
type Found = Parameters<DurableOwner["look"]>[0];
const look = (at: DurableOwner, info: ReturnType<typeof found> | null, nowMs = 0) => at.look(info as Found, nowMs);

describe("whose a durable is", () => {
  it.each([
    ["that is not there", null],
    ["without a store", found(undefined)],
    ["that an operator described", found("made manually")],
    ["of this store", found(`tessera ${OURS}`)],
  ])("one %s is pulled from by its published name", (_what, info) => {
    const one = owner();
    look(one, info);
    expect([one.name, one.neighbour]).toEqual(["d", null]);
  });

  it("one of another store is left to it, for a name of our own", () => {
    const one = owner();
    look(one, found(`made manually; tessera ${THEIRS}`));
    expect([one.name, one.neighbour]).toEqual(["d_aaaaaaaa", THEIRS]);
  });

  it("one that had no pull for five minutes is taken over, and not before, also with a delivery that stays unanswered", () => {
    const one = owner();
    const deserted = found(`tessera ${THEIRS}`, 0);
    for (const [nowMs, name] of [
      [0, "d_aaaaaaaa"],
      [299_999, "d_aaaaaaaa"],
      [300_000, "d"],
    ] as const) {
      look(one, deserted, nowMs);
      expect(one.name).toBe(name);
    }
  });

  it.each([
    ["pulls", found(`tessera ${THEIRS}`, 1)],
    ["was given something", found(`tessera ${THEIRS}`, 0, { delivered: 8 })],
    ["answered something", found(`tessera ${THEIRS}`, 0, { answered: 7 })],
  ])("one whose store %s in between is not", (_what, alive) => {
    const one = owner();
    look(one, found(`tessera ${THEIRS}`, 0), 0);
    look(one, alive, 200_000);
    look(one, alive.num_waiting > 0 ? found(`tessera ${THEIRS}`, 0) : alive, 400_000);
    expect(one.name).toBe("d_aaaaaaaa");
  });

  it("is written into its description beside what an operator wrote there", () => {
    expect(owner().described(undefined)).toBe(`tessera ${OURS}`);
    expect(owner().described("made manually")).toBe(`made manually; tessera ${OURS}`);
    expect(owner().described(`made manually; tessera ${THEIRS}`)).toBe(`made manually; tessera ${OURS}`);
    expect(owner().described(`tessera ${OURS}, ours`)).toBe(`tessera ${OURS}, ours`);
  });
});

describe("whom a message is for", () => {
  it("is said by its store; one without a store is for the published name", () => {
    const first = owner();
    look(first, null);
    const second = owner();
    look(second, found(`tessera ${THEIRS}`));
    for (const one of [first, second]) {
      expect([one.isForAnother(OURS), one.isForAnother(THEIRS)]).toEqual([false, true]);
    }
    expect([first.isForAnother(undefined), second.isForAnother(undefined)]).toEqual([false, true]);
  });

  it("an executor that is no part of a store takes what it gets and claims no durable", () => {
    const one = new DurableOwner(undefined, "d", (name) => name);
    look(one, found(`tessera ${THEIRS}`));
    expect([one.name, one.neighbour, one.isForAnother(THEIRS), one.described("x")]).toEqual(["d", null, false, "x"]);
  });
});
