// Transport: the trace and depth that travel with every message, made complete.
//
//   X1. After normalization the headers hold a valid `traceparent` and `CG-Recursion-Depth`, and both agree with the
//       returned values.
//   X2. Proofs of authority (ticket, capability) are taken out: a context is stored and logged, they must not be.

import { ProtocolViolation } from "../errors/errors.ts";
import { getIntegerHeader, HEADERS, normalizeHeaders, withoutSecretHeaders } from "./headers.ts";
import { parseRecursionDepth } from "./recursion-depth.ts";
import { resolveTrace, type TraceIds } from "./trace-context.ts";

export interface TransportInput {
  readonly headers?: Readonly<Record<string, unknown>> | null | undefined;
  readonly trace_id?: string | null | undefined;
  readonly recursion_depth?: number | undefined;
}

export interface Transport {
  readonly headers: Readonly<Record<string, string>>;
  readonly trace_id: string;
  readonly recursion_depth: number;
  /** A traceparent came but could not be used; a new one was made. */
  readonly trace_restarted: boolean;
}

/** A depth given as a value and a different one in the headers contradict each other; neither given is 0. */
export function normalizeTransport(input: TransportInput, ids: TraceIds): Transport {
  const headers = withoutSecretHeaders(normalizeHeaders(input.headers));
  const headerDepth = getIntegerHeader(headers, HEADERS.recursion_depth);
  const givenDepth = input.recursion_depth === undefined ? null : parseRecursionDepth(input.recursion_depth);
  if (headerDepth !== null && givenDepth !== null && headerDepth !== givenDepth) {
    throw new ProtocolViolation(`${HEADERS.recursion_depth} mismatch`, {
      details: { header: HEADERS.recursion_depth },
    });
  }
  const recursion_depth = givenDepth ?? headerDepth ?? 0;
  const trace = resolveTrace({ traceparent: headers[HEADERS.traceparent], trace_id: input.trace_id }, ids);
  headers[HEADERS.traceparent] = trace.traceparent;
  headers[HEADERS.recursion_depth] = String(recursion_depth);
  return { headers, trace_id: trace.trace_id, recursion_depth, trace_restarted: trace.restarted };
}
