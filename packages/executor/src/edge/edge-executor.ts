// An executor over HTTP: asks for the calls of a target, runs them, reports. What a service is on the bus, without the bus.
//
//   X1. It asks only for as many calls as it has places, so no claimed call waits while its lease runs down.
//   X2. A server that is away is asked again after a pause; nothing is lost, because the calls wait in the store.
//   X3. stop() ends the long poll at once, waits for what runs, and after the grace lets go of the rest.

import type { Clock, OpenedCall } from "@tessera/kernel";
import type { AgentToolRuntime, ToolLogEntry, ToolRunner } from "@tessera/tool";
import { type RunCallOutcome, runCall } from "../calls/run-call.ts";
import { RunSlots } from "../calls/slots.ts";
import type { EdgeClient } from "./edge-client.ts";

export interface EdgeExecutorOptions {
  readonly edge: EdgeClient;
  readonly clock: Clock;
  readonly project_id: string;
  readonly target: string;
  readonly executor: string;
  readonly runner: ToolRunner;
  readonly concurrencyMax?: number;
  readonly waitMs?: number;
  readonly runtimeFor?: (call: OpenedCall) => AgentToolRuntime | undefined;
  readonly onLog?: (entry: ToolLogEntry) => void;
  readonly onEnded?: (call: OpenedCall, ended: RunCallOutcome) => void;
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

export function startEdgeExecutor(options: EdgeExecutorOptions): EdgeExecutor {
  const { edge, clock, project_id, target, executor, runner, onWarning = () => undefined } = options;
  const slots = new RunSlots(options.concurrencyMax ?? CONCURRENCY_DEFAULT);
  const stopping = new AbortController();
  const letGo = new AbortController();

  async function work(call: OpenedCall): Promise<void> {
    const runtime = options.runtimeFor?.(call);
    const ended = await runCall(call, {
      port: edge,
      runner,
      clock,
      ...(options.onLog === undefined ? {} : { onLog: options.onLog }),
      ...(runtime === undefined ? {} : { runtime }),
      stopping: letGo.signal,
      onWarning,
    });
    options.onEnded?.(call, ended);
  }

  async function ask(): Promise<void> {
    await slots.take(); // X1
    const places = 1 + slots.free;
    let calls: OpenedCall[] = [];
    try {
      const request = { project_id, target, executor, max: places, wait_ms: options.waitMs ?? WAIT_DEFAULT_MS };
      calls = await edge.claim(request, { signal: stopping.signal });
    } catch (error) {
      if (!stopping.signal.aborted) {
        onWarning(`asking for calls of ${target} failed: ${String(error)}`);
        await new Promise<void>((resolve) => clock.after(ASK_AGAIN_MS, resolve)); // X2
      }
    }
    for (const [n, call] of calls.entries()) {
      if (n > 0) await slots.take();
      void work(call).finally(() => slots.give());
    }
    if (calls.length === 0) slots.give();
  }

  const asking = (async () => {
    while (!stopping.signal.aborted) await ask();
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
