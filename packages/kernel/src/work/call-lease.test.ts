// A held lease on a clock that stands still: what ends it, and from when it is counted.

import { VirtualClock } from "@tessera/testkit";
import { describe, expect, it } from "vitest";
import type { CallHold, RenewOutcome } from "../moves/outcomes.ts";
import { holdLease } from "./call-lease.ts";

const LEASE_MS = 15_000;
const hold: CallHold = { project_id: "p1", tool_call_id: "tc_1", capability: "c" };
const renewed: RenewOutcome = { outcome: "accepted", lease_expires_at: "", cancel: false };

function held(answers: readonly (() => RenewOutcome | Promise<RenewOutcome>)[], options: object = {}) {
  const clock = new VirtualClock();
  const beatsAtMs: number[] = [];
  const lease = holdLease(hold, {
    clock,
    leaseMs: LEASE_MS,
    askedAtMs: clock.monotonicMs(),
    port: {
      renewCall: async () => {
        const answer = answers[beatsAtMs.length] ?? answers.at(-1);
        beatsAtMs.push(clock.monotonicMs());
        return (await answer?.()) ?? renewed;
      },
    },
    ...options,
  });
  return { clock, lease, beatsAtMs };
}

const away = (): never => {
  throw new Error("the store is away");
};
const never = () => new Promise<RenewOutcome>(() => undefined);

describe("the lease of a call", () => {
  it("is renewed three times in its length until it is released, and leaves no timer", async () => {
    const { clock, lease, beatsAtMs } = held([() => renewed]);
    await clock.advance(40_000);
    expect(beatsAtMs).toEqual([5_000, 10_000, 15_000, 20_000, 25_000, 30_000, 35_000, 40_000]);
    expect(lease.lostBecause()).toBeNull();
    lease.release();
    expect(clock.pending).toBe(0);
    expect(lease.signal.aborted).toBe(false);
  });

  it("is lost when a renewal says so, with its code", async () => {
    const { clock, lease, beatsAtMs } = held([() => ({ outcome: "rejected", code: "already_settled", cancel: true })]);
    await clock.advance(60_000);
    expect([lease.lostBecause(), lease.signal.aborted, beatsAtMs, clock.pending]).toEqual([
      "already_settled",
      true,
      [5_000],
      0,
    ]);
  });

  it("is lost when it has lapsed and no renewal got through, and not before", async () => {
    const { clock, lease } = held([() => renewed, away]);
    await clock.advance(5_000 + LEASE_MS - 1);
    expect(lease.lostBecause()).toBeNull();
    await clock.advance(1);
    expect(lease.lostBecause()).toBe("lease_lost");
    expect(clock.pending).toBe(0);
  });

  it("runs from when a renewal was asked for, not from when its answer came", async () => {
    const slowly = (clock: () => VirtualClock) => () =>
      new Promise<RenewOutcome>((resolve) => void clock().after(9_000, () => resolve(renewed)));
    const lent: { clock?: VirtualClock } = {};
    const { clock, lease } = held([slowly(() => lent.clock as VirtualClock), away]);
    lent.clock = clock;
    await clock.advance(14_000); // asked for at 5 s, answered at 14 s
    expect(lease.lostBecause()).toBeNull();
    await clock.advance(5_999);
    expect(lease.lostBecause()).toBeNull();
    await clock.advance(1); // 15 s after it was asked for
    expect(lease.lostBecause()).toBe("lease_lost");
  });

  it("runs from when the call was asked for, and is renewed the sooner the later the answer came", async () => {
    const slow = held([away], { askedAtMs: -4_000 });
    await slow.clock.advance(10_999);
    expect(slow.beatsAtMs[0]).toBe(1_000);
    expect(slow.lease.lostBecause()).toBeNull();
    await slow.clock.advance(1);
    expect(slow.lease.lostBecause()).toBe("lease_lost");
  });

  it("that had lapsed when the call was answered is decided by a renewal at once", async () => {
    const alive = held([() => renewed], { askedAtMs: -20_000 });
    await alive.clock.advance(0);
    expect([alive.beatsAtMs, alive.lease.lostBecause()]).toEqual([[0], null]);
    await alive.clock.advance(60_000);
    expect(alive.lease.lostBecause()).toBeNull();
    const gone = held([away], { askedAtMs: -20_000 });
    await gone.clock.advance(0);
    expect(gone.lease.lostBecause()).toBe("lease_lost");
  });

  it("ends in time though a renewal is never answered", async () => {
    const { clock, lease } = held([never]);
    await clock.advance(LEASE_MS);
    expect(lease.lostBecause()).toBe("lease_lost");
    expect(clock.pending).toBe(0);
  });

  it("is lost when its host stops, also when it had stopped before", async () => {
    const stopping = new AbortController();
    const { clock, lease } = held([() => renewed], { stopping: stopping.signal });
    stopping.abort();
    const late = held([() => renewed], { stopping: stopping.signal });
    await late.clock.advance(60_000);
    expect([lease.lostBecause(), late.lease.lostBecause()]).toEqual(["shutting_down", "shutting_down"]);
    expect([clock.pending, late.clock.pending, late.beatsAtMs]).toEqual([0, 0, []]);
  });

  it("that was released is never lost", async () => {
    const stopping = new AbortController();
    const { clock, lease } = held([never], { stopping: stopping.signal });
    await clock.advance(5_000);
    lease.release();
    stopping.abort();
    await clock.advance(60_000);
    expect(lease.signal.aborted).toBe(false);
  });
});
