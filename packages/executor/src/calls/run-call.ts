// Takes one opened call to its end: run, heartbeat, report. The same for a command from the bus and a claim over HTTP.
//
//   C1. While the tool runs and until its report is answered the lease is held (the kernel's holdLease). Once it is lost the run is
//       aborted and nothing is reported: somebody else decides what became of the call.
//   C2. A result is brought home for as long as the lease can be renewed (the kernel's reportPatiently), which ends when the
//       call is settled without it.
//   C3. Aborted by the host's own shutdown, nothing is reported either: the lease lapses and the tool's effect decides.

import {
  type CallHold,
  type Clock,
  type ExecutorPort,
  holdLease,
  type OpenedCall,
  type ReportOutcome,
  reportPatiently,
} from "@tessera/kernel";
import {
  buildErrorResultFromException,
  CGError,
  isJsonObject,
  readCallerFacts,
  type ToolResultContent,
} from "@tessera/protocol";
import type { RunOptions, ToolInvocation, ToolRunner } from "@tessera/tool";

/** What of the kernel, or of the HTTP edge in front of it, a run needs. */
export type CallPort = Pick<ExecutorPort, "renewCall" | "report">;

export interface RunCallOptions extends Omit<RunOptions, "signal"> {
  readonly port: CallPort;
  readonly runner: ToolRunner;
  readonly clock: Clock;
  readonly principal?: string;
  readonly leaseMs?: number;
  /** When the call was asked for: its lease runs from then. */
  readonly askedAtMs: number;
  /** The host is going away (C3). */
  readonly stopping?: AbortSignal;
  readonly onWarning: (warning: string) => void;
}

export type RunCallOutcome =
  | { readonly ended: "reported"; readonly status: string; readonly outcome: ReportOutcome }
  | { readonly ended: "lost"; readonly why: string };

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
    const report = { ...hold, content };
    const patience = { ...options, signal: lease.signal, afterExecution: call.after_execution };
    const { outcome, status } = await reportPatiently(report, patience); // C2
    if (outcome === null) return { ended: "lost", why: lease.lostBecause() ?? "not delivered" };
    return { ended: "reported", status, outcome };
  } finally {
    lease.release();
  }
}

async function runTool(call: OpenedCall, signal: AbortSignal, options: RunCallOptions): Promise<ToolResultContent> {
  if (call.tool_name === "" || !isJsonObject(call.arguments)) {
    const invalid = new CGError("invalid_card", "the tool.call card holds no tool name, or no arguments object");
    return { ...buildErrorResultFromException(invalid), after_execution: call.after_execution };
  }
  try {
    const invocation = { ...call, ...readCallerFacts(call.call_metadata) } as ToolInvocation;
    return await options.runner.run(invocation, { ...options, signal });
  } catch (error) {
    // A runner answers for everything a tool can do; this is a fault of the host itself.
    options.onWarning(`running ${call.tool_name} failed: ${String(error)}`);
    const internal = new CGError("internal_error", "the executor failed while it ran the tool");
    return { ...buildErrorResultFromException(internal), after_execution: call.after_execution };
  }
}
