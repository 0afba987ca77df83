// W3C trace context: `traceparent` is `{version}-{trace id}-{span id}-{flags}`.
//
//   W1. A traceparent that is not valid never stops a message: a new one is made and `restarted` says so, so that it can
//       be counted. (A trace id that contradicts a valid traceparent does stop it: one of the two was forged.)
//   W2. A child has its parent's trace id and flags, and a new span id.
//   W3. Randomness comes from the caller.

import { ProtocolViolation } from "../errors/errors.ts";

/** Where new ids come from. The kernel's `Ids` port fits. */
export interface TraceIds {
  /** 32 hex digits, not all zero. */
  traceId(): string;
  /** 16 hex digits, not all zero. */
  spanId(): string;
}

export interface TraceContext {
  readonly trace_id: string;
  readonly span_id: string;
  readonly flags: string;
}

const TRACEPARENT = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/;
const TRACEPARENT_CHARS = 55;
const SAMPLED = "01";

/** Null when the text is not a valid traceparent: wrong form, version ff, or an all-zero id. */
export function parseTraceparent(text: string | null | undefined): TraceContext | null {
  if (typeof text !== "string" || text.length > 2 * TRACEPARENT_CHARS) return null;
  const match = TRACEPARENT.exec(text.trim().toLowerCase());
  if (match === null) return null;
  const [, version, trace_id = "", span_id = "", flags = ""] = match;
  if (version === "ff" || isZero(trace_id) || isZero(span_id)) return null;
  return { trace_id, span_id, flags };
}

export function isTraceparent(text: string | null | undefined): boolean {
  return parseTraceparent(text) !== null;
}

export function formatTraceparent(trace: TraceContext): string {
  return `00-${trace.trace_id}-${trace.span_id}-${trace.flags}`;
}

/** The traceparent of a span of ours. */
export function traceparentOf(trace_id: string, span_id: string): string {
  return formatTraceparent({ trace_id, span_id, flags: SAMPLED });
}

/** The next span of the same trace (W2). Where the parent is not valid, a new trace starts. */
export function childTraceparent(parent: string, ids: TraceIds): string {
  const trace = parseTraceparent(parent);
  return trace === null
    ? traceparentOf(ids.traceId(), ids.spanId())
    : formatTraceparent({ ...trace, span_id: ids.spanId() });
}

/** A bare trace id: 32 hex digits in any case, or a UUID whose dashes are dropped. Null when it is neither. */
export function normalizeTraceId(text: string | null | undefined): string | null {
  if (typeof text !== "string" || text.length > 64) return null;
  const hex = text.trim().toLowerCase().replaceAll("-", "");
  return /^[0-9a-f]{32}$/.test(hex) && !isZero(hex) ? hex : null;
}

export interface ResolvedTrace {
  readonly trace_id: string;
  readonly traceparent: string;
  /** A traceparent was there and could not be used (W1). */
  readonly restarted: boolean;
}

/** Settles on one trace from what arrived: the traceparent, a bare trace id, both, or neither. */
export function resolveTrace(
  given: { readonly traceparent?: string | null | undefined; readonly trace_id?: string | null | undefined },
  ids: TraceIds,
): ResolvedTrace {
  const trace = parseTraceparent(given.traceparent);
  const bare = normalizeTraceId(given.trace_id);
  const isBareUnusable = bare === null && given.trace_id !== null && given.trace_id !== undefined;
  if (trace !== null && ((bare !== null && bare !== trace.trace_id) || isBareUnusable)) {
    throw new ProtocolViolation("trace_id and traceparent name different traces", { details: { field: "trace_id" } });
  }
  if (trace !== null) return { trace_id: trace.trace_id, traceparent: formatTraceparent(trace), restarted: false };
  const trace_id = bare ?? ids.traceId();
  const hadTraceparent = typeof given.traceparent === "string" && given.traceparent.trim() !== "";
  return { trace_id, traceparent: traceparentOf(trace_id, ids.spanId()), restarted: hadTraceparent || isBareUnusable };
}

function isZero(hex: string): boolean {
  return /^0+$/.test(hex);
}
