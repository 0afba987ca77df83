// Keeps a call while it is worked on, and brings its result home.
//
//   H1. The lease is renewed until the report is answered. Told to cancel, or not able to renew until the lease has
//       lapsed, the call is lost: nothing is reported, and whoever has it now decides.
//   H2. A report that could not be delivered is sent again, with growing pauses, for as long as the call is ours.

import type { CallHold, Clock, Kernel, OpenedCall, ReportOutcome } from "@tessera/kernel";
import { HEARTBEAT_MS, LEASE_MS, type ToolResultContent } from "@tessera/protocol";

export interface CallLease {
  /** The report's answer, or null when the call was lost. */
  report(content: ToolResultContent): Promise<ReportOutcome | null>;
  /** Stops renewing. */
  release(): void;
}

const REPORT_AGAIN_FIRST_MS = 100;
const REPORT_AGAIN_MAX_MS = 5_000;

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
  let isOurs = true;
  let renewedAtMs = clock.monotonicMs();
  let timer = clock.after(HEARTBEAT_MS, beat);

  function beat(): void {
    const askedAtMs = clock.monotonicMs();
    void kernel
      .renewCall({ ...hold, lease_ms: LEASE_MS })
      .then(
        (outcome) => {
          if (outcome.cancel) isOurs = false;
          else renewedAtMs = askedAtMs;
        },
        () => {
          // Not reached: it may still be ours, until the lease has run out.
          if (clock.monotonicMs() - renewedAtMs >= LEASE_MS) isOurs = false;
        },
      )
      .then(() => {
        if (isOurs) timer = clock.after(HEARTBEAT_MS, beat); // H1
      });
  }

  return {
    async report(content) {
      for (let pauseMs = REPORT_AGAIN_FIRST_MS; isOurs; pauseMs = Math.min(pauseMs * 2, REPORT_AGAIN_MAX_MS)) {
        try {
          return await kernel.report({ ...hold, content });
        } catch (error) {
          onWarning(`the report of ${call.tool_call_id} was not taken and is sent again: ${String(error)}`);
          await new Promise<void>((resolve) => clock.after(pauseMs, resolve)); // H2
        }
      }
      return null;
    },
    release() {
      isOurs = false;
      timer.cancel();
    },
  };
}
