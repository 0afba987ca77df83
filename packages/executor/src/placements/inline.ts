// The inline placement: a function call in this process, for code the operator trusts like the host itself.
//
//   J1. At the deadline, and shortly after a cancel, the run is answered although the handler may still run: JavaScript
//       cannot stop a promise. `ctx.signal` aborts. This is the one placement in which tool's R2 does not hold.
//   J2. A handler that blocks the event loop blocks the host; no deadline can fire meanwhile. Such code belongs in
//       `isolated`.
//   J3. The handler gets copies: what it does to its input is seen nowhere else, not even in its own `ctx.message`.
//   J4. Deadline and cancels are listened for once the handler has answered with a promise. Nothing could have been heard
//       before, and one that answers at once costs no timer.
//   J5. A failure that the handler leaves behind (a promise without an await, a throw in a timer) is reported with the call's
//       name. A call that still runs ends by it, as its process would have ended in the isolated placement.

import type { Clock, Timer } from "@tessera/kernel/ports";
import type { AgentToolRuntime, ToolInvocation, ToolPolicy, ToolProgress } from "@tessera/tool";
import { plainCopy } from "@tessera/tool/catalog";
import {
  buildToolContext,
  describeThrown,
  type ExecutedCall,
  executeHandler,
  type ForeignCode,
  failureOf,
  failureStack,
  ownApi,
  runForeign,
  runOwn,
  type ThrownFailure,
  type ToolFunctions,
} from "@tessera/tool/run";
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
  /** Takes what the handler left behind (J5). */
  readonly onStray: (error: unknown) => void;
}

/** Between `ctx.signal` and the answer to a canceled run, so that a handler that listens can finish. */
const CANCEL_GRACE_MS = 1_000;

export function runInline(clock: Clock, call: InlineCall): RunEnd | Promise<RunEnd> {
  const { invocation, policy, signal, closing } = call;
  if (signal.aborted) return { kind: "canceled" };
  if (closing.aborted) {
    const message = "this process is stopping and starts no tool";
    return { kind: "refused", code: "shutting_down", message, retryable: true };
  }
  const abort = new AbortController();
  let onStrayOfRun: (error: unknown) => void = () => undefined;
  const foreign: ForeignCode = {
    name: `the tool ${invocation.tool_name} (call ${invocation.tool_call_id})`,
    onStray(error) {
      call.onStray(error);
      onStrayOfRun(error);
    },
  };
  let failure: ThrownFailure | undefined;
  const ended = (executed: ExecutedCall): RunEnd => {
    if (signal.aborted) return { kind: "canceled" };
    return { kind: "executed", executed, ...(failure === undefined ? {} : { failure }) };
  };
  const executed = executeHandler({
    code: foreignFunctions(call.code, foreign),
    ctx: buildToolContext(invocation, new InlineParts(call, abort.signal)),
    input: plainCopy(invocation.arguments), // J3
    toolName: invocation.tool_name,
    errorMessageLimit: policy.error_message_limit,
    mode: invocation.mode,
    idempotencyKey: invocation.idempotency_key,
    onThrown: (thrown) => {
      failure = failureOf(thrown);
    },
  });
  if (!(executed instanceof Promise)) return ended(executed); // J4
  const { promise: strayed, resolve } = Promise.withResolvers<RunEnd>();
  onStrayOfRun = (error) => {
    const { message } = describeThrown(error, policy.error_message_limit).error;
    const why = `its code failed outside of the handler: ${message}`;
    abort.abort(new Error("the tool's code failed outside of the handler"));
    resolve({ kind: "crashed", detail: { why }, stack: failureStack(error) }); // J5
  };
  return cutShort(clock, call, abort, [executed.then(ended), strayed]);
}

function foreignFunctions(code: ToolFunctions, foreign: ForeignCode): ToolFunctions {
  const run = <A extends readonly unknown[], R>(work: (...args: A) => R) => {
    return (...args: A): R => runForeign(foreign, () => work(...args));
  };
  const { handler, parse, reconcile } = code;
  return {
    handler: run(handler),
    ...(parse === undefined ? {} : { parse: run(parse) }),
    ...(reconcile === undefined ? {} : { reconcile: run(reconcile) }),
  };
}

/** What a run gave, or what cut it short. */
async function cutShort(
  clock: Clock,
  { policy, signal, closing }: InlineCall,
  abort: AbortController,
  ends: readonly Promise<RunEnd>[],
): Promise<RunEnd> {
  const { promise: cut, resolve: answer } = Promise.withResolvers<RunEnd>();
  const timers: Timer[] = [
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
  // The handler itself may have brought its cancel about.
  if (signal.aborted) onAbort();
  if (closing.aborted) onClosing();
  const end = await Promise.race([...ends, cut]);
  signal.removeEventListener("abort", onAbort);
  closing.removeEventListener("abort", onClosing);
  for (const timer of timers) timer.cancel();
  return end;
}

class InlineParts {
  readonly #call: InlineCall;
  readonly signal: AbortSignal;
  readonly progress: (update: ToolProgress) => void;
  readonly runtime: AgentToolRuntime | undefined;

  constructor(call: InlineCall, signal: AbortSignal) {
    this.#call = call;
    this.signal = signal;
    this.progress = (update) => runOwn(() => call.onProgress(update));
    this.runtime = call.runtime === null ? undefined : ownApi(call.runtime);
  }

  get workdir(): string {
    return this.#call.workdir();
  }

  get logger(): Console {
    return this.#call.logger();
  }
}
