// Whether a call that runs here may be tried again here: asked of the kernel before each further attempt.
//
//   M1. A store that is away does not end the call: its failure is known here and nowhere else, and so are the results of
//       the calls beside it.
//   M2. The name that the call was taken under counts: a worker that goes on under another one has lost it.

import { askPatiently, type Clock, type Kernel } from "@tessera/kernel";
import type { RunFailure } from "@tessera/tool";

/** False: the call was given to somebody else while it paused, has ended, or is no longer wanted. */
export function mayRepeat(
  worker: {
    readonly kernel: Kernel;
    readonly clock: Clock;
    readonly workerId: () => string;
    readonly onWarning: (warning: string) => void;
  },
  call: { readonly project_id: string; readonly tool_call_id: string },
  signal: AbortSignal,
): (attempt: number, failure?: RunFailure) => Promise<boolean> {
  const { kernel, clock, onWarning } = worker;
  const worker_id = worker.workerId(); // M2
  return async (attempt, failure) => {
    const order = { ...call, worker_id, attempt, ...(failure === undefined ? {} : { stack: failure.stack }) };
    const answer = await askPatiently(() => kernel.repeatCall(order), {
      clock,
      signal,
      onFailure: (error) =>
        onWarning(`attempt ${attempt} of ${call.tool_call_id} waits for the store: ${String(error)}`),
    }); // M1
    return answer !== null && answer.outcome !== "rejected";
  };
}
