// Takes one opened call to its end: the work, the lease beside it, the report. The same for a command from the bus, an
// internal tool and a claim over HTTP.
//
//   W1. While the work runs and until its report is answered the lease is held (call-lease.ts). Once it is lost the work is
//       aborted and nothing is reported: the holder of the call decides what became of it.
//   W2. A result is reported for as long as the lease can be renewed (report-patiently.ts), which ends when the call is
//       settled without it.
//   W3. Aborted by the host's own shutdown, nothing is reported either: the lease lapses and the tool's effect decides.
//   W4. Work may answer `withheld`: something else will settle the call, and it is let go without a report.

import type { ToolResultContent } from "@tessera/protocol";
import type { ExecutorPort } from "../moves/executor-port.ts";
import type { CallHold, OpenedCall, ReportOutcome } from "../moves/outcomes.ts";
import type { Clock } from "../ports.ts";
import { holdLease } from "./call-lease.ts";
import { reportPatiently } from "./report-patiently.ts";

/** What of the kernel, or of the HTTP edge in front of it, a call needs while it is worked on. */
type CallPort = Pick<ExecutorPort, "renewCall" | "report">;

export interface WorkOnCallOptions {
  readonly port: CallPort;
  readonly clock: Clock;
  readonly principal?: string | undefined;
  readonly leaseMs?: number | undefined;
  /** When the call was asked for: its lease runs from then. */
  readonly askedAtMs: number;
  /** The host is going away (W3). */
  readonly stopping?: AbortSignal | undefined;
  readonly onWarning: (warning: string) => void;
}

export type CallEnd =
  | { readonly ended: "reported"; readonly status: string; readonly outcome: ReportOutcome }
  | { readonly ended: "withheld" }
  | { readonly ended: "lost"; readonly why: string };

/** What the work came to. */
export interface WorkedCall {
  readonly content: ToolResultContent;
  /** Of what failed, for operators. */
  readonly stack?: string | undefined;
}

export async function workOnCall(
  call: OpenedCall,
  options: WorkOnCallOptions,
  work: (signal: AbortSignal) => Promise<WorkedCall | "withheld">,
): Promise<CallEnd> {
  const hold: CallHold = {
    project_id: call.project_id,
    tool_call_id: call.tool_call_id,
    capability: call.capability,
    principal: options.principal,
  };
  const lease = holdLease(hold, options);
  try {
    const worked = await work(lease.signal);
    if (worked === "withheld") return { ended: "withheld" }; // W4
    const why = lease.lostBecause();
    if (why !== null) return { ended: "lost", why }; // W1
    const patience = { ...options, signal: lease.signal, afterExecution: call.after_execution };
    const { outcome, status } = await reportPatiently({ ...hold, ...worked }, patience); // W2
    if (outcome === null) return { ended: "lost", why: lease.lostBecause() ?? "not delivered" };
    return { ended: "reported", status, outcome };
  } finally {
    lease.release();
  }
}
