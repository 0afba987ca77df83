// A held call: its heartbeat, its report, and what happens when it is taken away.

import { type CallHold, DatabaseError, type OpenedCall, type RenewOutcome, type ReportOutcome } from "@tessera/kernel";
import type { ToolResultContent } from "@tessera/protocol";
import { VirtualClock } from "@tessera/testkit";
import { describe, expect, it } from "vitest";
import { holdCall } from "./call-lease.ts";

const call = { project_id: "p1", tool_call_id: "tc_1", capability: "c" } as OpenedCall;
const content: ToolResultContent = { status: "success", after_execution: "suspend", result: {}, error: null };
const renewed: RenewOutcome = { outcome: "accepted", lease_expires_at: "", cancel: false };
const taken: ReportOutcome = { outcome: "duplicate", tool_result_card_id: "card_1" };

function held(answers: { renew?: () => RenewOutcome; report?: () => ReportOutcome }) {
  const clock = new VirtualClock();
  const beats: CallHold[] = [];
  let reports = 0;
  const lease = holdCall(call, {
    clock,
    askedAtMs: clock.monotonicMs(),
    onWarning: () => undefined,
    kernel: {
      renewCall: async (hold) => {
        beats.push(hold);
        return (answers.renew ?? (() => renewed))();
      },
      report: async () => {
        reports += 1;
        return (answers.report ?? (() => taken))();
      },
    },
  });
  return { clock, lease, beats, reports: () => reports };
}

const away = () => {
  throw new DatabaseError("unavailable", "the store is away");
};

describe("a held call", () => {
  it("is renewed every five seconds until it is released", async () => {
    const { clock, lease, beats } = held({});
    await clock.advance(15_000);
    expect(beats).toHaveLength(3);
    expect(beats[0]).toMatchObject({ tool_call_id: "tc_1", capability: "c" });
    lease.release();
    await clock.advance(15_000);
    expect(beats).toHaveLength(3);
    expect(clock.pending).toBe(0);
  });

  it("is not reported once somebody else decides about it", async () => {
    const { clock, lease, reports } = held({
      renew: () => ({ outcome: "rejected", code: "already_settled", cancel: true }),
    });
    await clock.advance(5_000);
    expect(await lease.report(content)).toBeNull();
    expect(reports()).toBe(0);
  });

  it("is reported again while the store is away, until the lease has run out", async () => {
    const { clock, lease, reports } = held({ renew: away, report: away });
    const reporting = lease.report(content);
    await clock.advance(30_000);
    expect(await reporting).toBeNull();
    expect(reports()).toBeGreaterThan(3);
    expect(clock.pending).toBe(0);
  });

  it("is answered when the store comes back", async () => {
    let tries = 0;
    const { clock, lease } = held({
      report: () => {
        tries += 1;
        return tries < 3 ? away() : taken;
      },
    });
    const reporting = lease.report(content);
    await clock.advance(1_000);
    expect(await reporting).toEqual(taken);
    lease.release();
  });
});
