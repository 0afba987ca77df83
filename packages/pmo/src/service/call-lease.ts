// Keeps a call while it is worked on, and brings its result home.
//
//   H1. The lease is renewed until the report is answered (the kernel's holdLease). Once it is lost nothing is reported, and
//       the holder of the call decides.
//   H2. Its result is brought home for as long as the call is ours (the kernel's reportPatiently).

import {
  type CallHold,
  type Clock,
  holdLease,
  type Kernel,
  type OpenedCall,
  type ReportOutcome,
  reportPatiently,
} from "@tessera/kernel";
import type { ToolResultContent } from "@tessera/protocol";

export interface HeldCall {
  /** The report's answer, or null when the call was lost. */
  report(content: ToolResultContent): Promise<ReportOutcome | null>;
  /** Stops renewing. */
  release(): void;
}

export function holdCall(
  call: OpenedCall,
  options: {
    readonly kernel: Pick<Kernel, "renewCall" | "report">;
    readonly clock: Clock;
    /** When the call was asked for: its lease runs from then. */
    readonly askedAtMs: number;
    readonly onWarning: (warning: string) => void;
  },
): HeldCall {
  const { kernel: port, clock, askedAtMs, onWarning } = options;
  const hold: CallHold = {
    project_id: call.project_id,
    tool_call_id: call.tool_call_id,
    capability: call.capability,
  };
  const lease = holdLease(hold, { port, clock, askedAtMs }); // H1
  return {
    async report(content) {
      if (lease.lostBecause() !== null) return null;
      const patience = { port, clock, signal: lease.signal, onWarning, afterExecution: call.after_execution };
      return (await reportPatiently({ ...hold, content }, patience)).outcome; // H2
    },
    release: () => lease.release(),
  };
}
