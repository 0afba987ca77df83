// An executor over HTTP: asks for the calls of a target, runs them, reports. What a service is on the bus, without the bus.
//
//   X1. It asks only for as many calls as it has places, so no claimed call waits while its lease runs down.
//   X2. A server that is away is asked again after a pause; nothing is lost, because the calls wait in the store.
//   X3. stop() ends the long poll at once, waits for what runs, and after the grace lets go of the rest.
//   X4. A claim without an answer, because it was lost or because stop() ended the poll, may have taken calls. It is asked
//       again with its id, at the end too, and what it answers is run: no call that was claimed here is dropped.
//   X5. A lease runs from when its call was taken, and the answer to a long poll does not say when that was. Where it may be
//       a third of the lease ago, the lease is renewed first, and a call that is no longer ours is not run.

import { askPatiently, type CallEnd, type Clock, type OpenedCall, WorkSlots, workOnCall } from "@tessera/kernel";
import { BATCH_ITEMS_MAX, LEASE_MS } from "@tessera/protocol";
import type { AgentToolRuntime, ToolLogEntry, ToolRunner } from "@tessera/tool";
import { runTool } from "../calls/run-tool.ts";
import type { EdgeClient } from "./edge-client.ts";
import { edgeRuntime } from "./edge-runtime.ts";

export interface EdgeExecutorOptions {
  readonly edge: EdgeClient;
  readonly clock: Clock;
  readonly project_id: string;
  readonly target: string;
  readonly executor: string;
  readonly runner: Pick<ToolRunner, "run">;
  readonly concurrencyMax?: number;
  readonly waitMs?: number;
  /** As the API gives it; a third of it is the pause between two heartbeats. */
  readonly leaseMs?: number;
  /** Instead of asking the API for other agents. */
  readonly runtimeFor?: (call: OpenedCall) => AgentToolRuntime | undefined;
  readonly onLog?: (entry: ToolLogEntry) => void;
  readonly onEnded?: (call: OpenedCall, ended: CallEnd) => void;
  readonly onWarning?: (warning: string) => void;
}

export interface EdgeExecutor {
  readonly running: number;
  stop(options?: { readonly graceMs?: number }): Promise<void>;
}

const CONCURRENCY_DEFAULT = 8;
const WAIT_DEFAULT_MS = 20_000;
const ASK_AGAIN_MS = 1_000;
const GRACE_DEFAULT_MS = 30_000;
/** X5: of a lease. */
const FRESH_SHARE = 1 / 3;

export function startEdgeExecutor(options: EdgeExecutorOptions): EdgeExecutor {
  const { edge, clock, project_id, target, executor, runner, onWarning = () => undefined } = options;
  const slots = new WorkSlots(options.concurrencyMax ?? CONCURRENCY_DEFAULT);
  const stopping = new AbortController();
  const letGo = new AbortController();
  let claimId = edge.mintClaimId();
  let isAnswered = true;

  async function work(call: OpenedCall, askedAtMs: number): Promise<void> {
    const held = await confirm(call, askedAtMs);
    const ended: CallEnd =
      "lostBecause" in held ? { ended: "lost", why: held.lostBecause } : await run(call, held.sinceMs);
    options.onEnded?.(call, ended);
  }

  /** X5: since when its lease runs at the latest, or why it is not ours. */
  async function confirm(call: OpenedCall, askedAtMs: number): Promise<{ sinceMs: number } | { lostBecause: string }> {
    const { leaseMs = LEASE_MS } = options;
    if (clock.monotonicMs() - askedAtMs < leaseMs * FRESH_SHARE) return { sinceMs: askedAtMs };
    const lapsed = new AbortController();
    const lapse = clock.after(leaseMs, () => lapsed.abort());
    let sinceMs = askedAtMs;
    const renew = () => {
      sinceMs = clock.monotonicMs();
      return edge.renewCall({ project_id, tool_call_id: call.tool_call_id, capability: call.capability });
    };
    const outcome = await askPatiently(renew, {
      clock,
      signal: AbortSignal.any([lapsed.signal, letGo.signal]),
      onFailure: (error) => onWarning(`renewing the lease of ${call.tool_call_id} failed: ${String(error)}`),
    }).finally(() => lapse.cancel());
    if (outcome === null) return { lostBecause: letGo.signal.aborted ? "shutting_down" : "lease_lost" };
    return outcome.cancel ? { lostBecause: outcome.code } : { sinceMs };
  }

  async function run(call: OpenedCall, askedAtMs: number): Promise<CallEnd> {
    const runtime = options.runtimeFor?.(call) ?? edgeRuntime(edge, call);
    const own = { port: edge, clock, askedAtMs, leaseMs: options.leaseMs, stopping: letGo.signal, onWarning };
    return await workOnCall(call, own, (signal) =>
      runTool(call, signal, { runner, onLog: options.onLog, runtime, onWarning }),
    );
  }

  async function ask(wait_ms: number, signal: AbortSignal): Promise<void> {
    await slots.take(); // X1
    const places = Math.min(1 + slots.free, BATCH_ITEMS_MAX); // what the API gives at once; the next ask takes the rest
    let calls: OpenedCall[] = [];
    const askedAtMs = clock.monotonicMs();
    isAnswered = false;
    try {
      const request = { project_id, target, executor, max: places, wait_ms, claim_id: claimId };
      calls = await edge.claim(request, { signal });
      isAnswered = true;
      claimId = edge.mintClaimId();
    } catch (error) {
      if (!signal.aborted) onWarning(`asking for calls of ${target} failed: ${String(error)}`);
    }
    for (const [n, call] of calls.entries()) {
      if (n > 0) await slots.take();
      void work(call, askedAtMs).finally(() => slots.give());
    }
    if (calls.length === 0) slots.give();
  }

  const asking = (async () => {
    while (!stopping.signal.aborted) {
      await ask(options.waitMs ?? WAIT_DEFAULT_MS, stopping.signal);
      if (isAnswered || stopping.signal.aborted) continue;
      await new Promise<void>((resolve) => clock.after(ASK_AGAIN_MS, resolve)); // X2
    }
    if (!isAnswered) await ask(0, letGo.signal); // X4
  })();

  return {
    get running() {
      return slots.taken;
    },
    async stop({ graceMs = GRACE_DEFAULT_MS } = {}) {
      stopping.abort();
      const grace = clock.after(graceMs, () => letGo.abort());
      await asking;
      await slots.idle(); // X3
      grace.cancel();
    },
  };
}
