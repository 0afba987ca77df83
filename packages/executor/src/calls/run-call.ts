// Takes one opened call to its end: run, heartbeat, report. The same for a command from the bus and a claim over HTTP.
//
//   C1. While the tool runs and until its report is answered the lease is held (call-lease.ts). Once it is lost the run is
//       aborted and nothing is reported: somebody else decides what became of the call.
//   C2. A result that could not be delivered is kept and sent again with growing pauses for as long as the lease can be
//       renewed, which ends when the call is settled without it: the side effect has happened, so its answer must not be
//       dropped.
//   C3. Aborted by the host's own shutdown, nothing is reported either: the lease lapses and the tool's effect decides.
//   C4. A report that is refused for its content is followed by one that says so: the call has an executor that lives, and
//       must not end as if it had died.

import type { CallHold, Clock, ExecutorPort, OpenedCall, ReportOutcome, ReportRequest } from "@tessera/kernel";
import {
  buildErrorResultFromException,
  CGError,
  type ErrorCode,
  isJsonObject,
  type ToolResultContent,
} from "@tessera/protocol";
import type { RunOptions, ToolInvocation, ToolRunner } from "@tessera/tool";
import { type CallLease, holdLease } from "./call-lease.ts";

/** What of the kernel, or of the HTTP edge in front of it, a run needs. */
export type CallPort = Pick<ExecutorPort, "renewCall" | "report">;

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

/** The content is at fault, not the reporter. */
const CONTENT_CODES: ReadonlySet<ErrorCode> = new Set([
  "payload_too_large",
  "too_deep",
  "schema_invalid",
  "forbidden_key",
  "after_execution_mismatch",
]);
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
    const why = lease.lostBecause();
    if (why !== null) return { ended: "lost", why }; // C1
    const outcome = await reportUntilAnswered({ ...hold, content }, lease, options);
    if (outcome?.outcome === "rejected" && CONTENT_CODES.has(outcome.code)) {
      const refused = refusedContent(call, outcome.code); // C4
      const second = await reportUntilAnswered({ ...hold, content: refused }, lease, options);
      if (second !== null) return { ended: "reported", status: refused.status, outcome: second };
    }
    if (outcome === null) return { ended: "lost", why: lease.lostBecause() ?? "not delivered" };
    return { ended: "reported", status: content.status, outcome };
  } finally {
    lease.release();
  }
}

/** The tool ran and its answer cannot be stored: that is what the agent is told, and not that nobody knows (C4). */
function refusedContent(call: OpenedCall, code: ErrorCode): ToolResultContent {
  const error = new CGError("result_not_serializable", `the tool ran, but its result was refused: ${code}`, {
    details: { refused_with: code },
  });
  return { ...buildErrorResultFromException(error), after_execution: call.after_execution };
}

async function runTool(call: OpenedCall, signal: AbortSignal, options: RunCallOptions): Promise<ToolResultContent> {
  if (call.tool_name === "" || !isJsonObject(call.arguments)) {
    const invalid = new CGError("invalid_card", "the tool.call card holds no tool name, or no arguments object");
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
  lease: CallLease,
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
