// A call that is worked on: its heartbeat, its report, and what happens when it is taken away.

import type { ToolResultContent } from "@tessera/protocol";
import { VirtualClock } from "@tessera/testkit";
import { describe, expect, it } from "vitest";
import type { CallHold, OpenedCall, RenewOutcome, ReportOutcome } from "../moves/outcomes.ts";
import { DatabaseError } from "../ports.ts";
import { type WorkedCall, workOnCall } from "./work-on-call.ts";

const call = { project_id: "p1", tool_call_id: "tc_1", capability: "c" } as OpenedCall;
const content: ToolResultContent = { status: "success", after_execution: "suspend", result: {}, error: null };
const renewed: RenewOutcome = { outcome: "accepted", lease_expires_at: "", cancel: false };
const taken: ReportOutcome = { outcome: "duplicate", tool_result_card_id: "card_1" };

function working(answers: { renew?: () => RenewOutcome; report?: () => ReportOutcome }) {
  const clock = new VirtualClock();
  const beats: CallHold[] = [];
  const stopping = new AbortController();
  const work = Promise.withResolvers<WorkedCall | "withheld">();
  const seen: { signal?: AbortSignal } = {};
  let reports = 0;
  const port = {
    renewCall: async (hold: CallHold) => {
      beats.push(hold);
      return (answers.renew ?? (() => renewed))();
    },
    report: async () => {
      reports += 1;
      return (answers.report ?? (() => taken))();
    },
  };
  const options = {
    clock,
    port,
    askedAtMs: clock.monotonicMs(),
    stopping: stopping.signal,
    onWarning: () => undefined,
  };
  const ended = workOnCall(call, options, (signal) => {
    seen.signal = signal;
    return work.promise;
  });
  return { clock, ended, work, beats, stopping, seen, reports: () => reports };
}

const away = () => {
  throw new DatabaseError("unavailable", "the store is away");
};

describe("a call that is worked on", () => {
  it("is renewed every five seconds until its report is answered", async () => {
    const { clock, ended, work, beats } = working({});
    await clock.advance(15_000);
    expect(beats).toHaveLength(3);
    expect(beats[0]).toMatchObject({ tool_call_id: "tc_1", capability: "c" });
    work.resolve({ content });
    expect(await ended).toEqual({ ended: "reported", status: "success", outcome: taken });
    await clock.advance(15_000);
    expect(beats).toHaveLength(3);
    expect(clock.pending).toBe(0);
  });

  it("is aborted and not reported once another executor decides about it", async () => {
    const { clock, ended, work, seen, reports } = working({
      renew: () => ({ outcome: "rejected", code: "already_settled", cancel: true }),
    });
    await clock.advance(5_000);
    expect(seen.signal?.aborted).toBe(true);
    work.resolve({ content });
    expect(await ended).toEqual({ ended: "lost", why: "already_settled" });
    expect(reports()).toBe(0);
  });

  it("is aborted and not reported when its host stops", async () => {
    const { ended, work, stopping, seen, reports } = working({});
    stopping.abort();
    expect(seen.signal?.aborted).toBe(true);
    work.resolve({ content });
    expect(await ended).toEqual({ ended: "lost", why: "shutting_down" });
    expect(reports()).toBe(0);
  });

  it("is let go without a report where something else settles it", async () => {
    const { clock, ended, work, reports } = working({});
    work.resolve("withheld");
    expect(await ended).toEqual({ ended: "withheld" });
    expect(reports()).toBe(0);
    expect(clock.pending).toBe(0);
  });

  it("is let go where the work throws", async () => {
    const { clock, ended, work } = working({});
    work.reject(new Error("a fault of the host"));
    await expect(ended).rejects.toThrow("a fault of the host");
    expect(clock.pending).toBe(0);
  });

  it("is reported again while the store is away, until the lease has run out", async () => {
    const { clock, ended, work, reports } = working({ renew: away, report: away });
    work.resolve({ content });
    await clock.advance(30_000);
    expect(await ended).toEqual({ ended: "lost", why: "lease_lost" });
    expect(reports()).toBeGreaterThan(3);
    expect(clock.pending).toBe(0);
  });

  it("is answered when the store comes back", async () => {
    let tries = 0;
    const { clock, ended, work } = working({
      report: () => {
        tries += 1;
        return tries < 3 ? away() : taken;
      },
    });
    work.resolve({ content });
    await clock.advance(1_000);
    expect(await ended).toMatchObject({ ended: "reported", outcome: taken });
  });
});
