// Memory for bodies and answers: who waits for it, who gets it, and what an answer holds that is larger than was said.

import { VirtualClock } from "@tessera/testkit";
import { describe, expect, it } from "vitest";
import { createBytesInFlight, WAIT_MS } from "./bytes-in-flight.ts";

const LIMITS = { bytesMax: 100, bytesPerProjectMax: 100, bytesPerAddressMax: 100, bytesPerKeyMax: 50 };
const holder = (key_id: string) => ({ key: { key_id, project_id: null }, address: key_id });

function opened() {
  const clock = new VirtualClock();
  return { clock, bytes: createBytesInFlight(clock, LIMITS) };
}

describe("a request for which there is no room", () => {
  it("waits, and is let in as soon as another gives enough back", async () => {
    const { clock, bytes } = opened();
    const first = await bytes.take(holder("a"), 40);
    let isIn = false;
    const second = bytes.take(holder("a"), 30).then((held) => {
      isIn = true;
      return held;
    });
    await clock.advance(WAIT_MS - 1);
    first.become(25);
    await clock.advance(0);
    expect(isIn).toBe(false);
    first.become(20);
    await clock.advance(0);
    expect(isIn).toBe(true);
    (await second).release();
    first.release();
    expect([bytes.held(), clock.pending]).toEqual([0, 0]);
  });

  it("is refused when its time is over, with the bound that it met, and leaves nothing behind", async () => {
    const { clock, bytes } = opened();
    const held = [await bytes.take(holder("a"), 40), await bytes.take(holder("b"), 40)];
    const own = bytes.take(holder("a"), 20).catch((error: unknown) => error);
    const all = bytes.take(holder("c"), 30).catch((error: unknown) => error);
    await clock.advance(WAIT_MS);
    expect(await own).toMatchObject({ status: 429, details: { full: "key" } });
    expect(await all).toMatchObject({ status: 503, details: { full: "all" } });
    for (const each of held) each.release();
    expect([bytes.held(), clock.pending]).toEqual([0, 0]);
  });
});

describe("an answer that is larger than its route said", () => {
  it("is held as large as it is, so that the next one waits", async () => {
    const { clock, bytes } = opened();
    const large = await bytes.take(holder("a"), 10);
    large.become(60);
    expect(bytes.held()).toBe(60);
    const next = bytes.take(holder("a"), 10).catch((error: unknown) => error);
    await clock.advance(WAIT_MS);
    expect(await next).toMatchObject({ status: 429, details: { full: "key" } });
    large.release();
    large.become(60); // made after its connection had gone
    expect(bytes.held()).toBe(0);
  });

  it("of a request that only reads is refused where there is no room for the rest, and holds no more than before", async () => {
    const { clock, bytes } = opened();
    const [first, second] = [await bytes.take(holder("a"), 10), await bytes.take(holder("a"), 10)];
    first.becomeWithin(40);
    expect(() => second.becomeWithin(11)).toThrow(expect.objectContaining({ status: 429, details: { full: "key" } }));
    expect(bytes.held()).toBe(50);
    second.becomeWithin(5);
    expect(bytes.held()).toBe(45);
    first.release();
    second.becomeWithin(50);
    second.release();
    second.becomeWithin(60); // its connection had gone
    expect([bytes.held(), clock.pending]).toEqual([0, 0]);
  });
});
