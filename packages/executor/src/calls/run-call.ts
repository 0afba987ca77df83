// Takes one opened call to its end: run, heartbeat, report. The same for a command from the bus and a claim over HTTP.
//
//   C1. While the tool runs and until its report is answered the lease is renewed. Told `cancel`, or unable to renew until
//       the lease has lapsed, the run is aborted and nothing is reported: somebody else decides what became of the call.
//   C2. A result that could not be delivered is kept and sent again with growing pauses, for as long as the lease can be
//       renewed and the deadline has not passed: the side effect has happened, so its answer must not be dropped.
//   C3. Aborted by the host's own shutdown, nothing is reported either: the lease lapses and the tool's effect decides.

import type { CallHold, Clock, OpenedCall, RenewOutcome, ReportOutcome, ReportRequest, Timer } from "@tessera/kernel";
import {
  buildErrorResultFromException,
  CGError,
  isJsonObject,
  LEASE_MS,
  type ToolResultContent,
} from "@tessera/protocol";
import type { RunOptions, ToolInvocation, ToolRunner } from "@tessera/tool";

/** What of the kernel, or of the HTTP edge in front of it, a run needs. */
export interface CallPort {
  renewCall(hold: CallHold & { readonly lease_ms?: number }): Promise<RenewOutcome>;
  report(request: ReportRequest): Promise<ReportOutcome>;
}

export interface RunCallOptions extends Omit<RunOptions, "signal"> {
  readonly port: CallPort;
  readonly runner: ToolRunner;
  readonly clock: Clock;
  readonly principal?: string;
  readonly leaseMs?: number;
  /** The host is going away (C3). */
  readonly stopping?: AbortSignal;
  readonly onWarning: (warning: string) => void;
}

export type RunCallOutcome =
  | { readonly ended: "reported"; readonly status: string; readonly outcome: ReportOutcome }
  | { readonly ended: "lost"; readonly why: string };

const BEATS_PER_LEASE = 3;
const REPORT_AGAIN_FIRST_MS = 100;
const REPORT_AGAIN_MAX_MS = 5_000;

export async function runCall(call: OpenedCall, options: RunCallOptions): Promise<RunCallOutcome> {
  const hold: CallHold = {
    project_id: call.project_id,
    tool_call_id: call.tool_call_id,
    capability: call.capability,
    ...(options.principal === undefined ? {} : { principal: options.principal }),
  };
  const lease = holdLease(hold, options);
  try {
    const content = await runTool(call, lease.signal, options);
    if (lease.lostBecause() !== null) return { ended: "lost", why: lease.lostBecause() ?? "" };
    const outcome = await reportUntilAnswered({ ...hold, content }, lease, options);
    if (outcome === null) return { ended: "lost", why: lease.lostBecause() ?? "not delivered" };
    return { ended: "reported", status: content.status, outcome };
  } finally {
    lease.release();
  }
}

async function runTool(call: OpenedCall, signal: AbortSignal, options: RunCallOptions): Promise<ToolResultContent> {
  if (!isJsonObject(call.arguments)) {
    const invalid = new CGError("invalid_card", "the tool.call card holds no arguments object");
    return { ...buildErrorResultFromException(invalid), after_execution: call.after_execution };
  }
  try {
    return await options.runner.run(call as ToolInvocation, { ...options, signal });
  } catch (error) {
    // A runner answers for everything a tool can do; this is a fault of the host itself.
    options.onWarning(`running ${call.tool_name} failed: ${String(error)}`);
    const internal = new CGError("internal_error", "the executor failed while it ran the tool");
    return { ...buildErrorResultFromException(internal), after_execution: call.after_execution };
  }
}

async function reportUntilAnswered(
  request: ReportRequest,
  lease: Lease,
  options: RunCallOptions,
): Promise<ReportOutcome | null> {
  for (let pauseMs = REPORT_AGAIN_FIRST_MS; ; pauseMs = Math.min(pauseMs * 2, REPORT_AGAIN_MAX_MS)) {
    try {
      return await options.port.report(request);
    } catch (error) {
      options.onWarning(`the report of ${request.tool_call_id} was not taken and is sent again: ${String(error)}`);
      await pause(options.clock, pauseMs, lease.signal);
      if (lease.lostBecause() !== null) return null; // C2
    }
  }
}

interface Lease {
  readonly signal: AbortSignal;
  lostBecause(): string | null;
  release(): void;
}

/** C1 */
function holdLease(hold: CallHold, options: RunCallOptions): Lease {
  const { clock, port, leaseMs = LEASE_MS, stopping } = options;
  const controller = new AbortController();
  let lostBecause: string | null = null;
  let renewedAtMs = clock.monotonicMs();
  let timer: Timer | null = null;
  let isReleased = false;

  function lose(why: string): void {
    if (lostBecause !== null || isReleased) return;
    lostBecause = why;
    controller.abort(new CGError("lease_lost", `the call is no longer ours: ${why}`));
  }
  const onStopping = () => lose("shutting_down");
  stopping?.addEventListener("abort", onStopping);
  if (stopping?.aborted) onStopping();

  async function beat(): Promise<void> {
    const askedAtMs = clock.monotonicMs();
    try {
      const outcome = await port.renewCall({ ...hold, lease_ms: leaseMs });
      if (outcome.cancel) lose(outcome.code);
      else renewedAtMs = askedAtMs;
    } catch {
      // Not reached: the lease may still be ours, until it has run out.
      if (clock.monotonicMs() - renewedAtMs >= leaseMs) lose("lease_lost");
    }
  }
  function schedule(): void {
    if (isReleased || lostBecause !== null) return;
    timer = clock.after(leaseMs / BEATS_PER_LEASE, () => void beat().then(schedule));
  }
  schedule();

  return {
    signal: controller.signal,
    lostBecause: () => lostBecause,
    release() {
      isReleased = true;
      timer?.cancel();
      stopping?.removeEventListener("abort", onStopping);
    },
  };
}

function pause(clock: Clock, ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      timer.cancel();
      signal.removeEventListener("abort", done);
      resolve();
    };
    const timer = clock.after(ms, done);
    signal.addEventListener("abort", done);
    if (signal.aborted) done();
  });
}
