// What the memory bus does with time: waits, pauses and limits, on a clock that the test turns.

import type { Bus, BusMessage, Delivery } from "@tessera/kernel/ports";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { LocalClock } from "../delivery/local-clock.ts";
import { openMemoryBus } from "./index.ts";

const ACK_WAIT_MS = 1_000;
const PATTERN = "cg.v1r4.*.*.cmd.tool.echo.>";

class HandClock implements LocalClock {
  #nowMs = 0;
  #tasks: { atMs: number; task: () => void }[] = [];
  monotonicMs(): number {
    return this.#nowMs;
  }
  after(ms: number, task: () => void): { cancel: () => void } {
    const entry = { atMs: this.#nowMs + ms, task };
    this.#tasks.push(entry);
    return { cancel: () => (this.#tasks = this.#tasks.filter((each) => each !== entry)) };
  }
  async turn(ms: number): Promise<void> {
    this.#nowMs += ms;
    const due = this.#tasks.filter(({ atMs }) => atMs <= this.#nowMs);
    this.#tasks = this.#tasks.filter((each) => !due.includes(each));
    for (const { task } of due) task();
    await settled();
  }
}

/** Deliveries start on the next turn of the event loop, and their handlers' promises settle before the one after. */
async function settled(): Promise<void> {
  for (let turn = 0; turn < 3; turn++) await new Promise((resolve) => setImmediate(resolve));
}

function message(text: string): BusMessage {
  return { subject: "cg.v1r4.p.c.cmd.tool.echo.run", headers: {}, data: new TextEncoder().encode(text) };
}

describe("the memory bus", () => {
  let clock: HandClock;
  let bus: Bus;
  let warnings: string[];

  beforeEach(async () => {
    clock = new HandClock();
    warnings = [];
    bus = await openMemoryBus({ ackWaitMs: ACK_WAIT_MS, clock, onWarning: (warning) => warnings.push(warning) });
  });
  afterEach(() => bus.close());

  test("an unanswered delivery is given to another member when its wait is over, and the late answer changes nothing", async () => {
    const held: Delivery[] = [];
    const finish: (() => void)[] = [];
    const slow = (delivery: Delivery): Promise<void> => {
      held.push(delivery);
      return new Promise((resolve) => finish.push(resolve));
    };
    await bus.subscribe({ pattern: PATTERN, durable: "d" }, slow);
    await bus.publish([message("1")]);
    await settled();
    await clock.turn(ACK_WAIT_MS - 1);
    expect(held).toHaveLength(1);
    await clock.turn(1);
    expect(held.map(({ deliveries }) => deliveries)).toEqual([1, 2]);
    held[0]?.nak();
    held[1]?.ack();
    await clock.turn(10 * ACK_WAIT_MS);
    expect(held).toHaveLength(2);
    for (const each of finish) each();
  });

  test("an unanswered message is dropped with a warning after its last delivery", async () => {
    let deliveries = 0;
    const finish: (() => void)[] = [];
    await bus.subscribe({ pattern: PATTERN, durable: "d" }, () => {
      deliveries += 1;
      return new Promise((resolve) => finish.push(resolve));
    });
    await bus.publish([message("1")]);
    await settled();
    for (let wait = 0; wait < 5; wait++) await clock.turn(ACK_WAIT_MS);
    expect(deliveries).toBe(3);
    expect(warnings).toHaveLength(1);
    for (const each of finish) each();
  });

  test("a throw pauses before the message comes back, longer the second time", async () => {
    const seen: number[] = [];
    await bus.subscribe({ pattern: PATTERN, durable: "d" }, ({ deliveries }) => {
      seen.push(deliveries);
      throw new Error("injected");
    });
    await bus.publish([message("1")]);
    await settled();
    await clock.turn(49);
    expect(seen).toEqual([1]);
    await clock.turn(1);
    expect(seen).toEqual([1, 2]);
    await clock.turn(499);
    expect(seen).toEqual([1, 2]);
    await clock.turn(1);
    expect(seen).toEqual([1, 2, 3]);
  });

  test("members of a durable take turns", async () => {
    const seen: string[] = [];
    for (const name of ["a", "b", "c"]) {
      await bus.subscribe({ pattern: PATTERN, durable: "d" }, () => {
        seen.push(name);
      });
    }
    await bus.publish(["1", "2", "3", "4", "5", "6"].map(message));
    await settled();
    expect(seen).toEqual(["a", "b", "c", "a", "b", "c"]);
  });

  test("a durable that overflows keeps the newest messages", async () => {
    const seen: string[] = [];
    const subscription = await bus.subscribe({ pattern: PATTERN, durable: "d" }, () => {});
    await subscription.stop();
    for (let index = 0; index < 100_010; index++) await bus.publish([message(`${index}`)]);
    expect(warnings).toHaveLength(10);
    await bus.subscribe({ pattern: PATTERN, durable: "d", inFlightMax: 200_000 }, ({ data }) => {
      seen.push(new TextDecoder().decode(data));
    });
    while (seen.length < 100_000) await settled();
    expect([seen[0], seen.at(-1)]).toEqual(["10", "100009"]);
  });

  test.each([
    "cg.*.*.*.cmd.tool.x.>",
    "cg.v1r4.*.*.*.tool.x.>",
    "cg.v1r4.>.x",
    "cg.v1r4.*.*.cmd.nobody.x.>",
    "x.>",
    "",
  ])("the pattern %j is refused", async (pattern) => {
    await expect(bus.subscribe({ pattern, durable: "d" }, () => {})).rejects.toMatchObject({ kind: "refused" });
  });
});
