// Keeps a call while it is worked on, and brings its result home.
//
//   H1. The lease is renewed until the report is answered. Told to cancel, or not able to renew until the lease has
//       lapsed, the call is lost: nothing is reported, and whoever has it now decides.
//   H2. Its result is brought home for as long as the call is ours (the kernel's reportPatiently).

import {
  type CallHold,
  type Clock,
  type Kernel,
  type OpenedCall,
  type ReportOutcome,
  reportPatiently,
} from "@tessera/kernel";
import { HEARTBEAT_MS, LEASE_MS, type ToolResultContent } from "@tessera/protocol";

export interface CallLease {
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
    readonly onWarning: (warning: string) => void;
  },
): CallLease {
  const { kernel, clock, onWarning } = options;
  const hold: CallHold = {
    project_id: call.project_id,
    tool_call_id: call.tool_call_id,
    capability: call.capability,
  };
  const lost = new AbortController();
  let renewedAtMs = clock.monotonicMs();
  let timer = clock.after(HEARTBEAT_MS, beat);

  function beat(): void {
    const askedAtMs = clock.monotonicMs();
    void kernel
      .renewCall({ ...hold, lease_ms: LEASE_MS })
      .then(
        (outcome) => {
          if (outcome.cancel) lost.abort();
          else renewedAtMs = askedAtMs;
        },
        () => {
          // Not reached: it may still be ours, until the lease has run out.
          if (clock.monotonicMs() - renewedAtMs >= LEASE_MS) lost.abort();
        },
      )
      .then(() => {
        if (!lost.signal.aborted) timer = clock.after(HEARTBEAT_MS, beat); // H1
      });
  }

  return {
    async report(content) {
      if (lost.signal.aborted) return null;
      const patience = { port: kernel, clock, signal: lost.signal, onWarning, afterExecution: call.after_execution };
      return (await reportPatiently({ ...hold, content }, patience)).outcome; // H2
    },
    release() {
      lost.abort();
      timer.cancel();
    },
  };
}
