// A turn that is asked for from outside, in the trace of the request.

import type { EnqueueOutcome, Kernel, TurnRequest } from "@tessera/kernel";
import { formatTraceparent } from "@tessera/protocol";

const SAMPLED = "01";

/**
 * The budget of a trace bounds what one request may start, not how many requests a caller makes in one trace: where it is
 * spent, the turn begins a trace of its own that names the caller's.
 */
export async function enqueueRootTurn(
  kernel: Pick<Kernel, "enqueueTurn">,
  request: TurnRequest,
): Promise<EnqueueOutcome> {
  const outcome = await kernel.enqueueTurn(request);
  const { trace_id, span_id, ...rest } = request;
  const isSpent = outcome.outcome === "rejected" && outcome.code === "trace_budget_exceeded";
  if (!isSpent || trace_id === undefined) return outcome;
  const parent =
    span_id === undefined ? {} : { parent_traceparent: formatTraceparent({ trace_id, span_id, flags: SAMPLED }) };
  return await kernel.enqueueTurn({ ...rest, ...parent });
}
