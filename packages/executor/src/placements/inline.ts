// The inline placement: a function call in this process, for code the operator trusts like the host itself.
//
//   J1. At the deadline, and shortly after a cancel, the run is answered although the handler may still run: JavaScript
//       cannot stop a promise. `ctx.signal` tells it. This is the one placement in which tool's R2 does not hold.
//   J2. A handler that blocks the event loop blocks the host; no deadline can fire meanwhile. Such code belongs in
//       `isolated`.
//   J3. The handler gets copies: what it does to its input reaches nobody, not even its own `ctx.message`.

import type { Clock } from "@tessera/kernel/ports";
import type { AgentToolRuntime, ToolInvocation, ToolPolicy, ToolProgress } from "@tessera/tool";
import { plainCopy } from "@tessera/tool/catalog";
import { buildToolContext, executeHandler, type ToolFunctions } from "@tessera/tool/run";
import type { RunEnd } from "./run-end.ts";

export interface InlineCall {
  readonly code: ToolFunctions;
  /** With complete arguments. */
  readonly invocation: ToolInvocation;
  readonly policy: ToolPolicy;
  /** Asked when the handler wants it. */
  readonly workdir: () => string;
  readonly signal: AbortSignal;
  /** The host stops and waits no longer than for a canceled run. */
  readonly closing: AbortSignal;
  readonly logger: () => Console;
  readonly onProgress: (update: ToolProgress) => void;
  readonly runtime: AgentToolRuntime | null;
}

/** Between `ctx.signal` and the answer to a canceled run, so that a handler that listens can finish. */
const CANCEL_GRACE_MS = 1_000;

export async function runInline(clock: Clock, call: InlineCall): Promise<RunEnd> {
  const { invocation, policy, signal, closing } = call;
  if (signal.aborted) return { kind: "canceled" };
  if (closing.aborted) {
    const message = "this process is stopping and starts no tool";
    return { kind: "refused", code: "shutting_down", message, retryable: true };
  }
  const abort = new AbortController();
  const { promise: cut, resolve: answer } = Promise.withResolvers<RunEnd>();
  const timers = [
    clock.after(policy.timeout_ms, () => {
      abort.abort(new Error("the tool's time is up"));
      answer({ kind: "timeout" }); // J1
    }),
  ];
  const onAbort = () => {
    abort.abort(new Error("the call was canceled"));
    timers.push(clock.after(CANCEL_GRACE_MS, () => answer({ kind: "canceled" })));
  };
  const onClosing = () => {
    abort.abort(closing.reason);
    const end: RunEnd = { kind: "crashed", detail: { why: "its host was stopped" } };
    timers.push(clock.after(CANCEL_GRACE_MS, () => answer(end)));
  };
  signal.addEventListener("abort", onAbort);
  closing.addEventListener("abort", onClosing);

  const ctx = buildToolContext(invocation, {
    get workdir() {
      return call.workdir();
    },
    get logger() {
      return call.logger();
    },
    signal: abort.signal,
    progress: call.onProgress,
    ...(call.runtime === null ? {} : { runtime: call.runtime }),
  });
  const executed = executeHandler({
    code: call.code,
    ctx,
    input: plainCopy(invocation.arguments), // J3
    toolName: invocation.tool_name,
    errorMessageLimit: policy.error_message_limit,
    mode: invocation.mode,
    idempotencyKey: invocation.idempotency_key,
  }).then((result): RunEnd => (signal.aborted ? { kind: "canceled" } : { kind: "executed", executed: result }));

  const end = await Promise.race([executed, cut]);
  signal.removeEventListener("abort", onAbort);
  closing.removeEventListener("abort", onClosing);
  for (const timer of timers) timer.cancel();
  return end;
}
