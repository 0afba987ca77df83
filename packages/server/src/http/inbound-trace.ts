// The trace that a request continues (W3C): the turn that it asks for is in that trace, below the caller's span.
//
//   I1. A `traceparent` that cannot be used is ignored, with its `tracestate`: a trace of its own begins.
//   I2. It decides nothing but where spans hang. Who may ask is the key's to say, and a trace that has spent its turns is
//       continued by a new one.

import { getHeader, HEADERS, type OrderTrace, parseTraceparent } from "@tessera/protocol";
import type { ApiRequest } from "../routing/route-spec.ts";

/** For the `headers` of a route. */
export const TRACE_HEADERS = {
  [HEADERS.traceparent]: "The W3C context of the caller: what the request starts is in its trace.",
};

export function inboundTrace(request: Pick<ApiRequest, "header">): OrderTrace {
  const parent = parseTraceparent(request.header(HEADERS.traceparent));
  if (parent === null) return {}; // I1
  const { trace_id, span_id } = parent;
  const tracestate = getHeader({ tracestate: request.header(HEADERS.tracestate) }, HEADERS.tracestate);
  return tracestate === null ? { trace_id, span_id } : { trace_id, span_id, tracestate };
}
