// Header names of the wire and how a header is looked up.
//
//   H1. Names are emitted in the exact casing below and looked up in any casing.
//   H2. A header of ours that arrives with two different values is a protocol violation: a reader of the first and a reader
//       of the last would see two different identities. (A Bus joins repeated values with "\n".)
//   H3. Integers are canonical decimal digits. `-1`, `1.5`, `1e3`, `007` and anything above 2^53 - 1 are violations.
//   H4. What leaves is made by `turnHeaders` and `commandHeaders`, from the identity of the turn or call and nothing else.

import { ProtocolViolation, quoted } from "../errors/errors.ts";
import { TRACESTATE_CHARS_MAX } from "../limits.ts";
import { SUBJECT_VERSION, type SubjectVersion } from "./subject.ts";

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

const SENDER = "tessera";

export type Headers = Readonly<Record<string, string>>;

/** The turn that a message is of. */
export interface TurnIdentity {
  readonly project_id: string;
  readonly channel_id: string;
  readonly agent_id: string;
  readonly agent_turn_id: string;
  readonly turn_epoch: number;
}

/** The call that a command is of, and the turn above. */
export interface CallIdentity extends TurnIdentity {
  readonly step_id: string | null;
  readonly tool_call_id: string | null;
  readonly parent_agent_id: string | null;
  readonly parent_agent_turn_id: string | null;
  readonly parent_step_id: string | null;
  readonly recursion_depth: number;
}

/** What a message says of itself. */
export interface Envelope {
  /** The name of its payload. */
  readonly msg_type: string;
  readonly traceparent: string | null;
  /** The version of the protocol that its reader speaks; default SUBJECT_VERSION. */
  readonly version?: SubjectVersion | undefined;
}

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

/** H4. The headers of an event or a wakeup. */
export function turnHeaders(turn: TurnIdentity, envelope: Envelope): Record<string, string> {
  return withoutEmpty({ ...identityOfTurn(turn), ...headersOf(envelope) });
}

/** H4. The headers of a command: its call and the turn above as well. */
export function commandHeaders(
  call: CallIdentity,
  { ticket, ...envelope }: Envelope & { readonly ticket: string },
): Record<string, string> {
  return withoutEmpty({
    ...identityOfTurn(call),
    [HEADERS.step_id]: call.step_id,
    [HEADERS.tool_call_id]: call.tool_call_id,
    [HEADERS.parent_agent_id]: call.parent_agent_id,
    [HEADERS.parent_agent_turn_id]: call.parent_agent_turn_id,
    [HEADERS.parent_step_id]: call.parent_step_id,
    [HEADERS.recursion_depth]: String(call.recursion_depth),
    [HEADERS.call_ticket]: ticket,
    ...headersOf(envelope),
  });
}

function identityOfTurn(turn: TurnIdentity): Record<string, string> {
  return {
    [HEADERS.project_id]: turn.project_id,
    [HEADERS.channel_id]: turn.channel_id,
    [HEADERS.agent_id]: turn.agent_id,
    [HEADERS.agent_turn_id]: turn.agent_turn_id,
    [HEADERS.turn_epoch]: String(turn.turn_epoch),
  };
}

function headersOf({ msg_type, traceparent, version = SUBJECT_VERSION }: Envelope): Record<string, string | null> {
  return {
    [HEADERS.traceparent]: traceparent,
    [HEADERS.version]: version,
    [HEADERS.msg_type]: msg_type,
    [HEADERS.sender]: SENDER,
  };
}

function withoutEmpty(headers: Readonly<Record<string, string | null>>): Record<string, string> {
  const kept: Record<string, string> = {};
  for (const name in headers) {
    const value = headers[name];
    if (value) kept[name] = value;
  }
  return kept;
}

/** `headers` without what proves authority, for logs and stored rows. */
export function withoutSecretHeaders(headers: Headers): Record<string, string> {
  const secret = new Set(SECRET_HEADERS.map((name) => name.toLowerCase()));
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !secret.has(name.trim().toLowerCase())));
}

/** Stored headers are JSON, which may hold an object; no two readers would make the same text of one. */
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
