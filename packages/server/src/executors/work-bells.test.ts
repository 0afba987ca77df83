import type { Bus, Delivery, SubscribeOptions } from "@tessera/kernel";
import { VirtualClock, waitFor } from "@tessera/testkit";
import { describe, expect, it } from "vitest";
import { createWorkBells } from "./work-bells.ts";

function world() {
  const clock = new VirtualClock();
  const subscribed: SubscribeOptions[] = [];
  let stopped = 0;
  let acked = 0;
  let handler: (delivery: Delivery) => unknown = () => undefined;
  const bus = {
    subscribe: async (options: SubscribeOptions, given: typeof handler) => {
      subscribed.push(options);
      handler = given;
      return {
        stop: async () => {
          stopped += 1;
        },
      };
    },
  } as unknown as Bus;
  const bells = createWorkBells({ bus, clock, onWarning: () => undefined });
  const ack = () => {
    acked += 1;
  };
  const ring = () => handler({ ack } as unknown as Delivery);
  return { clock, bells, subscribed, ring, stopped: () => stopped, acked: () => acked };
}

const never = new AbortController().signal;

/** Which of the waits have ended. */
function watch(waits: readonly Promise<void>[]): boolean[] {
  const ended = waits.map(() => false);
  waits.forEach((wait, n) => {
    void wait.then(() => {
      ended[n] = true;
    });
  });
  return ended;
}

describe("a bell", () => {
  it("listens for the commands of one target of one project, once for all who wait, and leaves nothing on the broker", () => {
    const { bells, subscribed } = world();
    bells.listen("p1", "echo");
    bells.listen("p1", "echo");
    expect(subscribed).toEqual([
      { pattern: "cg.v1r3.p1.*.cmd.tool.echo.>" },
      { pattern: "cg.v1r4.p1.*.cmd.tool.echo.>" },
    ]);
  });

  it("wakes one waiter per ring, the one that has waited longest, and acknowledges at once", async () => {
    const { bells, ring, acked } = world();
    const ear = bells.listen("p1", "echo");
    const ended = watch([ear.wait(1_000, never), ear.wait(1_000, never)]);
    ring();
    await waitFor(() => ended[0], { what: "the first" });
    expect(ended).toEqual([true, false]);
    ring();
    await waitFor(() => ended[1], { what: "the second" });
    expect(acked()).toBe(2);
  });

  it("keeps a ring that found nobody waiting for the next who waits, once", async () => {
    const { bells, ring, clock } = world();
    const ear = bells.listen("p1", "echo");
    ring();
    ring();
    await ear.wait(1_000, never);
    const ended = watch([ear.wait(1_000, never)]);
    await clock.advance(999);
    expect(ended).toEqual([false]);
    await clock.advance(1);
    expect(ended).toEqual([true]);
  });

  it("lets a waiter go that has gone away, and gives the ring to another", async () => {
    const { bells, ring } = world();
    const ear = bells.listen("p1", "echo");
    const gone = new AbortController();
    const ended = watch([ear.wait(1_000, gone.signal), ear.wait(1_000, never)]);
    gone.abort();
    await waitFor(() => ended[0], { what: "the one that left" });
    expect(ended).toEqual([true, false]);
    ring();
    await waitFor(() => ended[1], { what: "the one that stayed" });
  });

  it("is taken down half a minute after the last ear is gone, and not while one listens", async () => {
    const { bells, subscribed, stopped, clock } = world();
    const first = bells.listen("p1", "echo");
    first.release();
    await clock.advance(20_000);
    const second = bells.listen("p1", "echo");
    await clock.advance(60_000);
    expect([subscribed.length, stopped()]).toEqual([2, 0]);
    second.release();
    await clock.advance(30_000);
    expect(stopped()).toBe(2);
    bells.listen("p1", "echo");
    expect(subscribed).toHaveLength(4);
    await bells.close();
    expect(stopped()).toBe(4);
  });

  it("is not hung for the thousand-and-first target: who waits there only looks", async () => {
    const { bells, subscribed, clock } = world();
    for (let n = 0; n < 1_000; n++) bells.listen("p1", `t${n}`);
    const late = bells.listen("p1", "late");
    expect(subscribed).toHaveLength(2_000);
    const ended = watch([late.wait(1_000, never)]);
    await clock.advance(1_000);
    expect(ended).toEqual([true]);
    late.release();
    await bells.close();
  });
});
