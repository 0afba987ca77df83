// The executor over HTTP against an API that loses answers.

import { systemClock } from "@tessera/engines/system";
import type { Clock } from "@tessera/kernel";
import { SeededIds, VirtualClock, waitFor } from "@tessera/testkit";
import type { ToolRunner } from "@tessera/tool";
import { describe, expect, it } from "vitest";
import { connectEdge } from "./edge-client.ts";
import { type EdgeExecutor, startEdgeExecutor } from "./edge-executor.ts";

interface Asked {
  readonly path: string;
  readonly body: Record<string, unknown>;
}

/** Answers a request; throws where the answer is lost. Never resolves while `signal` may end it. */
type Answer = (asked: Asked, signal: AbortSignal) => Promise<unknown>;

function edgeOf(answer: Answer, clock: Clock = systemClock) {
  const asked: Asked[] = [];
  const ids = new SeededIds(3);
  const edge = connectEdge({
    url: "http://api.test",
    apiKey: "tsk_test",
    clock,
    mintClaimId: () => ids.mint("claim"),
    fetch: async (url, init) => {
      const one = { path: new URL(String(url)).pathname, body: JSON.parse(String(init?.body)) };
      asked.push(one);
      return Response.json(await answer(one, init?.signal as AbortSignal));
    },
  });
  return { edge, claims: () => asked.filter(({ path }) => path.endsWith("/claim")).map(({ body }) => body), asked };
}

const CALL = { tool_call_id: "tc_1", tool_name: "echo__run", arguments: {}, attempt: 1, capability: "c", headers: {} };
const ended = (signal: AbortSignal) =>
  new Promise<never>((_, reject) => signal.addEventListener("abort", () => reject(new Error("ended"))));
const runner = {
  run: async () => ({ status: "success", after_execution: "suspend", result: 1, error: null }),
} as Pick<ToolRunner, "run">;

function start(edge: ReturnType<typeof edgeOf>["edge"], onEnded: () => void, concurrencyMax = 2): EdgeExecutor {
  const names = { project_id: "p1", target: "echo", executor: "e1" };
  return startEdgeExecutor({ edge, clock: systemClock, ...names, runner, concurrencyMax, onEnded });
}

describe("an executor over HTTP", () => {
  it("asks again with the same claim id after a lost answer, and with a new one after an answer", async () => {
    let ran = 0;
    const { edge, claims } = edgeOf(async ({ path, body }, signal) => {
      if (!path.endsWith("/claim")) return { outcome: "accepted", tool_result_card_id: "card_1" };
      if (body.wait_ms === 0) return { calls: [] };
      if (claims().length === 1) throw new Error("lost");
      return claims().length === 2 ? { calls: [CALL] } : await ended(signal);
    });
    const executor = start(edge, () => ran++);
    await waitFor(() => claims().length === 3 && ran === 1, { what: "the call to be run" });
    const [lost, again, next] = claims().map(({ claim_id }) => claim_id);
    expect(again).toBe(lost);
    expect(next).not.toBe(lost);
    await executor.stop();
  });

  it("asks for no more calls than the API gives at once, however many it may run", async () => {
    const { edge, claims } = edgeOf(async ({ body }, signal) =>
      body.wait_ms === 0 ? { calls: [] } : await ended(signal),
    );
    const executor = start(edge, () => undefined, 100);
    await waitFor(() => claims().length === 1, { what: "a claim" });
    expect(claims()[0]).toMatchObject({ max: 64 });
    await executor.stop();
  });

  it("told to stop while it waits, takes what that claim was given and runs it to its end", async () => {
    let ran = 0;
    const { edge, claims } = edgeOf(async ({ path, body }, signal) => {
      if (!path.endsWith("/claim")) return { outcome: "accepted", tool_result_card_id: "card_1" };
      return body.wait_ms === 0 ? { calls: [CALL] } : await ended(signal);
    });
    const executor = start(edge, () => ran++);
    await waitFor(() => claims().length === 1, { what: "the long poll" });
    await executor.stop();
    expect(claims().map(({ claim_id }) => claim_id)).toEqual([claims()[0]?.claim_id, claims()[0]?.claim_id]);
    expect(ran).toBe(1);
    expect(executor.running).toBe(0);
  });
});

describe("a call that an executor over HTTP has from a long poll", () => {
  /** The poll is answered after `waitedMs`; `beat` answers the n-th heartbeat. */
  function polled(waitedMs: number, beat: (n: number) => unknown) {
    const clock = new VirtualClock();
    const startedAtMs: number[] = [];
    const beatsAtMs: number[] = [];
    const whys: unknown[] = [];
    const tool = {
      run: async (_call: unknown, { signal }: { signal: AbortSignal }) => {
        startedAtMs.push(clock.monotonicMs());
        await ended(signal).catch(() => undefined);
        return { status: "failed", after_execution: "suspend", error: { code: "stopped", message: "stopped" } };
      },
    } as Pick<ToolRunner, "run">;
    const { edge } = edgeOf(async ({ path, body }, signal) => {
      if (path.endsWith("/heartbeat")) return beat(beatsAtMs.push(clock.monotonicMs()));
      if (body.wait_ms === 0) return { calls: [] };
      if (clock.monotonicMs() > 0) return await ended(signal);
      await new Promise<void>((resolve) => void clock.after(waitedMs, resolve));
      return { calls: [CALL] };
    }, clock);
    const names = { project_id: "p1", target: "echo", executor: "e1" };
    const onEnded = (_: unknown, end: unknown) => void whys.push(end);
    const executor = startEdgeExecutor({ edge, clock, ...names, runner: tool, concurrencyMax: 1, onEnded });
    /** One step after the other: answers come in turns of the event loop. */
    const pass = async (ms: number) => {
      for (let at = 0; at < ms; at += 500) {
        await clock.advance(500);
        await new Promise<void>((resolve) => void setImmediate(resolve));
      }
    };
    return { executor, pass, startedAtMs, beatsAtMs, whys };
  }
  const renewed = { lease_expires_at: "", cancel: false };
  const away = () => {
    throw new Error("away");
  };

  it("is held from when it was asked for, where the answer was soon there", async () => {
    const { executor, pass, startedAtMs, whys } = polled(4_000, away);
    await pass(14_500);
    expect([startedAtMs, whys]).toEqual([[4_000], []]);
    await pass(1_000);
    expect(whys).toEqual([{ ended: "lost", why: "lease_lost" }]);
    await executor.stop({ graceMs: 0 });
  });

  it("is renewed before its tool is started, where it may be older, and is held from then", async () => {
    const { executor, pass, startedAtMs, beatsAtMs, whys } = polled(20_000, (n) => (n === 1 ? renewed : away()));
    await pass(34_000);
    expect([beatsAtMs[0], startedAtMs, whys]).toEqual([20_000, [20_000], []]);
    await pass(2_000);
    expect(whys).toEqual([{ ended: "lost", why: "lease_lost" }]);
    await executor.stop({ graceMs: 0 });
  });

  it("is not run where it is no longer ours, and not while the server cannot be asked", async () => {
    const taken = polled(20_000, () => ({ lease_expires_at: "", cancel: true }));
    await taken.pass(21_000);
    expect([taken.startedAtMs, taken.whys]).toEqual([[], [{ ended: "lost", why: "already_settled" }]]);
    const unknown = polled(20_000, away);
    await unknown.pass(34_000);
    expect([unknown.startedAtMs, unknown.whys]).toEqual([[], []]);
    await unknown.pass(6_000);
    expect([unknown.startedAtMs, unknown.whys]).toEqual([[], [{ ended: "lost", why: "lease_lost" }]]);
    await Promise.all([taken, unknown].map(({ executor }) => executor.stop({ graceMs: 0 })));
  });
});

describe("the edge's client", () => {
  it("opens a call again with the same claim id after a lost answer", async () => {
    const { edge, asked } = edgeOf(async () => {
      if (asked.length === 1) throw new Error("lost");
      return CALL;
    });
    const request = { project_id: "p1", tool_call_id: "tc_1", ticket: "t", executor: "e1" };
    expect(await edge.openCall(request)).toMatchObject({ outcome: "accepted", tool_call_id: "tc_1" });
    expect(asked.map(({ body }) => body.claim_id)).toEqual(["", ""].map(() => asked[0]?.body.claim_id));
    expect(asked[0]?.body.claim_id).toMatch(/^claim_/);
  });

  it("passes on who signed a result card, and its id", async () => {
    const { edge, asked } = edgeOf(async () => ({ tool_result_card_id: "card_1" }));
    const signed = { card_id: "card_1", author_id: "tool.echo", function_name: "echo__run" };
    const hold = { project_id: "p1", tool_call_id: "tc_1", capability: "c" };
    const content = { status: "success", result: 1 };
    expect(await edge.putResultCard({ ...hold, ...signed, content })).toMatchObject({ tool_result_card_id: "card_1" });
    expect(asked[0]?.body).toEqual({ content, ...signed });
  });
});
