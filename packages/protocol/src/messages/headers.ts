// Header names of the wire and how a header is looked up.
//
//   H1. Names are emitted in the exact casing below and looked up in any casing.
//   H2. A header of ours that arrives with two different values is a protocol violation: whoever reads the first and
//       whoever reads the last would see two different identities. (A Bus joins repeated values with "\n".)
//   H3. Integers are canonical decimal digits. `-1`, `1.5`, `1e3`, `007` and anything above 2^53 - 1 are violations.

import { ProtocolViolation, quoted } from "../errors/errors.ts";
import { TRACESTATE_CHARS_MAX } from "../limits.ts";

export const HEADERS = {
  project_id: "CG-Project-Id",
  channel_id: "CG-Channel-Id",
  agent_id: "CG-Agent-Id",
  agent_turn_id: "CG-Turn-Id",
  turn_epoch: "CG-Turn-Epoch",
  step_id: "CG-Step-Id",
  tool_call_id: "CG-Tool-Call-Id",
  parent_agent_id: "CG-Parent-Agent-Id",
  parent_agent_turn_id: "CG-Parent-Turn-Id",
  parent_step_id: "CG-Parent-Step-Id",
  parent_traceparent: "CG-Parent-Traceparent",
  recursion_depth: "CG-Recursion-Depth",
  l0_ack_reply: "CG-L0-Ack-Reply",
  /** Proof that the kernel issued this command (docs/design.md#authority-is-in-the-database). Never logged. */
  call_ticket: "CG-Call-Ticket",
  /** Proof that the reporter holds the attempt (docs/design.md#authority-is-in-the-database). Never logged. */
  report_capability: "CG-Report-Capability",
  /** Which store rings: members pass over what is another's (engines/nats/durable-owner.ts). */
  store_id: "CG-Store-Id",
  timestamp: "CG-Timestamp",
  version: "CG-Version",
  msg_type: "CG-Msg-Type",
  sender: "CG-Sender",
  traceparent: "traceparent",
  tracestate: "tracestate",
} as const;
export type HeaderField = keyof typeof HEADERS;
export type HeaderName = (typeof HEADERS)[HeaderField];

/** Header values that prove authority. They must not reach cards, logs, spans or stored rows. */
export const SECRET_HEADERS: readonly HeaderName[] = [HEADERS.call_ticket, HEADERS.report_capability];

/** What the publisher fills in when it is absent. */
export const SENDER_DEFAULT = "tessera";
export const MSG_TYPE_DEFAULT = "Payload";

export type Headers = Readonly<Record<string, string>>;

const NAME_BY_LOWER_CASE: ReadonlyMap<string, HeaderName> = new Map(
  Object.values(HEADERS).map((name) => [name.toLowerCase(), name]),
);

/** Copies `raw` with our names in their exact casing and values trimmed. Entries with an empty name, a null value or
 *  (for our names) an empty value are dropped; numbers and booleans are turned into strings, anything else is refused. */
export function normalizeHeaders(raw: Readonly<Record<string, unknown>> | null | undefined): Record<string, string> {
  const headers: Record<string, string> = Object.create(null);
  for (const [key, value] of Object.entries(raw ?? {})) {
    const name = key.trim();
    if (name === "" || value === null || value === undefined) continue;
    const known = NAME_BY_LOWER_CASE.get(name.toLowerCase());
    if (known === undefined) {
      headers[name] = textOf(name, value).trim();
      continue;
    }
    const single = singleValue(known, textOf(known, value), headers[known]);
    if (single !== "") headers[known] = single;
  }
  return headers;
}

/** The value of one header, or null when it is absent or empty. */
export function getHeader(raw: Readonly<Record<string, unknown>>, name: HeaderName): string | null {
  const wanted = name.toLowerCase();
  let found: string | undefined;
  for (const [key, value] of Object.entries(raw)) {
    if (value === null || value === undefined || key.trim().toLowerCase() !== wanted) continue;
    found = singleValue(name, textOf(name, value), found);
  }
  return found === undefined || found === "" ? null : found;
}

/** A required header; its absence is a violation. */
export function requireHeader(raw: Readonly<Record<string, unknown>>, name: HeaderName): string {
  const value = getHeader(raw, name);
  if (value === null) throw new ProtocolViolation(`header ${name} is required`, { details: { header: name } });
  return value;
}

/** An integer header (H3), or null when it is absent. */
export function getIntegerHeader(raw: Readonly<Record<string, unknown>>, name: HeaderName): number | null {
  const value = getHeader(raw, name);
  if (value === null) return null;
  const parsed = parseCanonicalInteger(value);
  if (parsed === null) {
    throw new ProtocolViolation(`header ${name} must be a whole number from 0 to 2^53 - 1 in plain digits`, {
      details: { header: name, value: value.slice(0, 64) },
    });
  }
  return parsed;
}

/** A whole number in plain digits without sign, leading zero, fraction or exponent; null for anything else. */
export function parseCanonicalInteger(text: string): number | null {
  if (!/^(?:0|[1-9][0-9]{0,15})$/.test(text)) return null;
  const value = Number(text);
  return Number.isSafeInteger(value) ? value : null;
}

/** `headers` without what proves authority, for logs and stored rows. */
export function withoutSecretHeaders(headers: Headers): Record<string, string> {
  const secret = new Set(SECRET_HEADERS.map((name) => name.toLowerCase()));
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !secret.has(name.trim().toLowerCase())));
}

/** Stored headers are JSON, in which anybody may have put an object; there is no text that all readers would make of one. */
function textOf(name: string, value: unknown): string {
  if (typeof value === "string") return value;
  if (typeof value === "number" || typeof value === "boolean") return String(value);
  throw new ProtocolViolation(`header ${quoted(name)} must be a text`, { details: { header: name.slice(0, 64) } });
}

/** Folds the values of one header into one (H2). W3C lets `tracestate` be split over several headers: those are joined. */
function singleValue(name: HeaderName, joined: string, earlier: string | undefined): string {
  const values = joined.split("\n").map((value) => value.trim());
  if (earlier !== undefined) values.unshift(earlier);
  if (name === HEADERS.tracestate) return joinTracestate(values);
  const first = values[0] ?? "";
  if (values.some((value) => value !== first)) {
    throw new ProtocolViolation(`header ${name} was sent more than once with different values`, {
      details: { header: name },
    });
  }
  return first;
}

/** Vendors' state is passed through when it is printable and short, and dropped otherwise: it never decides anything. */
function joinTracestate(values: readonly string[]): string {
  const joined = values.filter((value) => value !== "").join(",");
  return joined.length <= TRACESTATE_CHARS_MAX && /^[\x20-\x7e]*$/.test(joined) ? joined : "";
}
