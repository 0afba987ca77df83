// A turn's place, lent while its tools wait for other agents.

import { WorkSlots } from "@tessera/kernel";
import { beforeEach, describe, expect, it } from "vitest";
import { lentPlace } from "./lent-place.ts";

let slots: WorkSlots;
beforeEach(async () => {
  slots = new WorkSlots(2);
  await slots.take();
});

function gate() {
  let open = () => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { open, opened };
}

describe("a lent place", () => {
  it("is free while the work waits and taken again behind it", async () => {
    const place = lentPlace(slots);
    const { open, opened } = gate();
    const work = place.lendDuring(() => opened);
    expect(slots.taken).toBe(0);
    open();
    await work;
    expect(slots.taken).toBe(1);
    place.release();
    expect(slots.taken).toBe(0);
  });

  it("is one, however many calls of the turn wait", async () => {
    const place = lentPlace(slots);
    const gates = [gate(), gate(), gate()];
    const works = gates.map(({ opened }) => place.lendDuring(() => opened));
    expect(slots.taken).toBe(0);
    gates[0]?.open();
    await works[0];
    expect(slots.taken).toBe(0); // two still wait
    gates[1]?.open();
    gates[2]?.open();
    await Promise.all(works);
    expect(slots.taken).toBe(1);
    place.release();
    await slots.idle();
  });

  it("of a turn that is over is given back once, although a call still waits", async () => {
    const place = lentPlace(slots);
    const { open, opened } = gate();
    const work = place.lendDuring(() => opened);
    place.release();
    expect(slots.taken).toBe(0);
    open();
    await work;
    expect(slots.taken).toBe(0);
  });

  it("of a turn that ends while it stands in line for its place goes to the next", async () => {
    const place = lentPlace(slots);
    const { open, opened } = gate();
    const work = place.lendDuring(() => opened);
    await slots.take();
    await slots.take(); // both places are others' now
    open();
    await opened;
    await Promise.resolve();
    place.release();
    slots.give();
    await work;
    expect(slots.taken).toBe(1);
  });

  it("comes back when the work fails", async () => {
    const place = lentPlace(slots);
    await expect(place.lendDuring(() => Promise.reject(new Error("no")))).rejects.toThrow("no");
    expect(slots.taken).toBe(1);
  });
});
