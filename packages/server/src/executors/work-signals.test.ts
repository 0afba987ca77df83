import type { Bus, SubscribeOptions } from "@tessera/kernel";
import { VirtualClock, waitFor } from "@tessera/testkit";
import { describe, expect, it } from "vitest";
import { createWorkSignals } from "./work-signals.ts";

const MESSAGE = {
  ...{ subject: "cg.v1r4.p1.public.cmd.tool.echo.run", headers: {}, data: new Uint8Array(), deliveries: 1 },
  ...{ nak: () => undefined, term: () => undefined },
};

function world() {
  const clock = new VirtualClock();
  const subscribed: SubscribeOptions[] = [];
  let stopped = 0;
  let acked = 0;
  let handler: Parameters<Bus["subscribe"]>[1] = () => undefined;
  const bus: Pick<Bus, "subscribe"> = {
    subscribe: async (options, given) => {
      subscribed.push(options);
      handler = given;
      return {
        stop: async () => {
          stopped += 1;
        },
      };
    },
  };
  const signals = createWorkSignals({ bus, clock, onWarning: () => undefined });
  const ack = () => {
    acked += 1;
  };
  const send = () => handler({ ...MESSAGE, ack });
  return { clock, signals, subscribed, send, stopped: () => stopped, acked: () => acked };
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

describe("the signals of a target", () => {
  it("come from the commands of one target of one project, subscribed once for all claims, and leave nothing on the broker", () => {
    const { signals, subscribed } = world();
    signals.of("p1", "echo");
    signals.of("p1", "echo");
    expect(subscribed).toEqual([
      { pattern: "cg.v1r3.p1.*.cmd.tool.echo.>" },
      { pattern: "cg.v1r4.p1.*.cmd.tool.echo.>" },
    ]);
  });

  it("wakes one waiter per send, the one that has waited longest, and acknowledges at once", async () => {
    const { signals, send, acked } = world();
    const signal = signals.of("p1", "echo");
    const ended = watch([signal.wait(1_000, never), signal.wait(1_000, never)]);
    send();
    await waitFor(() => ended[0], { what: "the first" });
    expect(ended).toEqual([true, false]);
    send();
    await waitFor(() => ended[1], { what: "the second" });
    expect(acked()).toBe(2);
  });

  it("are kept, once, for the next claim when none waits", async () => {
    const { signals, send, clock } = world();
    const signal = signals.of("p1", "echo");
    send();
    send();
    await signal.wait(1_000, never);
    const ended = watch([signal.wait(1_000, never)]);
    await clock.advance(999);
    expect(ended).toEqual([false]);
    await clock.advance(1);
    expect(ended).toEqual([true]);
  });

  it("pass over a claim whose client has gone, and wake another", async () => {
    const { signals, send } = world();
    const signal = signals.of("p1", "echo");
    const gone = new AbortController();
    const ended = watch([signal.wait(1_000, gone.signal), signal.wait(1_000, never)]);
    gone.abort();
    await waitFor(() => ended[0], { what: "the one that left" });
    expect(ended).toEqual([true, false]);
    send();
    await waitFor(() => ended[1], { what: "the one that stayed" });
  });

  it("end half a minute after the last claim is gone, and not while one waits", async () => {
    const { signals, subscribed, stopped, clock } = world();
    const first = signals.of("p1", "echo");
    first.release();
    await clock.advance(20_000);
    const second = signals.of("p1", "echo");
    await clock.advance(60_000);
    expect([subscribed.length, stopped()]).toEqual([2, 0]);
    second.release();
    await clock.advance(30_000);
    expect(stopped()).toBe(2);
    signals.of("p1", "echo");
    expect(subscribed).toHaveLength(4);
    await signals.close();
    expect(stopped()).toBe(4);
  });

  it("are not there for the thousand-and-first target: its claims only look", async () => {
    const { signals, subscribed, clock } = world();
    for (let n = 0; n < 1_000; n++) signals.of("p1", `t${n}`);
    const late = signals.of("p1", "late");
    expect(subscribed).toHaveLength(2_000);
    const ended = watch([late.wait(1_000, never)]);
    await clock.advance(1_000);
    expect(ended).toEqual([true]);
    late.release();
    await signals.close();
  });
});
