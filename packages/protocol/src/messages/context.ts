// CGContext: who acts, in which turn, on which trace. An immutable value that travels beside every payload.
//
//   X1. Every operation returns a new, re-validated value; nothing is changed in place.
//   X2. Identity lives in the fields. `headers` only carries transport (trace, vendors' state, foreign headers); what is
//       emitted is built from the fields (headers.ts, H4), so a stale copy in `headers` never identifies anything.
//   X3. `trace_id` and the `traceparent` header name the same trace.
//   X4. No ticket or capability is ever inside: contexts are stored and logged.
//
// Fields keep the names of the wire (and of SQL); the operations are camelCase.

import { ProtocolViolation } from "../errors/errors.ts";
import {
  type AgentId,
  type CallId,
  CHANNEL_DEFAULT,
  type ChannelId,
  isActorId,
  isId,
  type ProjectId,
  type StepId,
  type TurnId,
} from "../ids.ts";
import { HEADERS, normalizeHeaders, parseCanonicalInteger, withoutSecretHeaders } from "./headers.ts";
import { parseRecursionDepth } from "./recursion-depth.ts";
import { formatTraceparent, isTraceparent, normalizeTraceId, parseTraceparent } from "./trace-context.ts";

export interface CGContextInput {
  readonly project_id: string;
  readonly agent_id: string;
  readonly channel_id?: string | null | undefined;
  /** Empty where the actor is a service that acts in no turn of its own. */
  readonly agent_turn_id?: string | null | undefined;
  readonly turn_epoch?: number | string | null | undefined;
  readonly step_id?: string | null | undefined;
  readonly tool_call_id?: string | null | undefined;
  readonly trace_id?: string | null | undefined;
  readonly recursion_depth?: number | string | null | undefined;
  readonly parent_agent_id?: string | null | undefined;
  readonly parent_agent_turn_id?: string | null | undefined;
  readonly parent_step_id?: string | null | undefined;
  readonly headers?: Readonly<Record<string, unknown>> | null | undefined;
}

/** The identity of a context as plain data: everything but the headers. */
export interface CGSysDict {
  readonly project_id: string;
  readonly agent_id: string;
  readonly channel_id: string;
  readonly agent_turn_id: string;
  readonly turn_epoch: number;
  readonly step_id: string | null;
  readonly tool_call_id: string | null;
  readonly trace_id: string | null;
  readonly recursion_depth: number;
  readonly parent_agent_id: string | null;
  readonly parent_agent_turn_id: string | null;
  readonly parent_step_id: string | null;
}

/** Who acts, in which turn, step and call: what the headers of a message say. It never changes; `evolve` makes another
 *  one. */
export class CGContext implements CGSysDict {
  /** The project that the call, turn or message belongs to. */
  readonly project_id: ProjectId;
  /** The agent whose turn it is, or the service that acts: `tool.<name>`, `sys.<name>`. */
  readonly agent_id: AgentId;
  /** The channel of the project; `public` unless it was given. */
  readonly channel_id: ChannelId;
  /** The turn; empty where a service acts in no turn of its own. */
  readonly agent_turn_id: TurnId;
  /** Grows whenever the turn changes hands: what comes with an older one is refused. */
  readonly turn_epoch: number;
  /** The step of the turn. */
  readonly step_id: StepId | null;
  /** The call of a tool. */
  readonly tool_call_id: CallId | null;
  /** The trace, 32 hex digits. */
  readonly trace_id: string | null;
  /** How many turns stand above this one. */
  readonly recursion_depth: number;
  /** The agent that asked for this turn. */
  readonly parent_agent_id: AgentId | null;
  /** The turn that asked for this one. */
  readonly parent_agent_turn_id: TurnId | null;
  /** The step that asked for this turn. */
  readonly parent_step_id: StepId | null;
  /** The headers that it came with, without tickets and capabilities. */
  readonly headers: Readonly<Record<string, string>>;

  constructor(input: CGContextInput) {
    this.project_id = required(input.project_id, "project_id", isId) as ProjectId;
    this.agent_id = required(input.agent_id, "agent_id", isActorId) as AgentId;
    this.channel_id = required(input.channel_id ?? CHANNEL_DEFAULT, "channel_id", isId) as ChannelId;
    this.agent_turn_id = (optional(input.agent_turn_id, "agent_turn_id", isId) ?? "") as TurnId;
    this.turn_epoch = wholeNumber(input.turn_epoch, "turn_epoch");
    this.step_id = optional(input.step_id, "step_id", isId) as StepId | null;
    this.tool_call_id = optional(input.tool_call_id, "tool_call_id", isId) as CallId | null;
    this.recursion_depth = parseRecursionDepth(input.recursion_depth ?? 0);
    this.parent_agent_id = optional(input.parent_agent_id, "parent_agent_id", isActorId) as AgentId | null;
    this.parent_agent_turn_id = optional(input.parent_agent_turn_id, "parent_agent_turn_id", isId) as TurnId | null;
    this.parent_step_id = optional(input.parent_step_id, "parent_step_id", isId) as StepId | null;
    const headers = withoutSecretHeaders(normalizeHeaders(input.headers));
    this.trace_id = traceId(input.trace_id, headers);
    if (headers[HEADERS.recursion_depth] !== undefined) {
      headers[HEADERS.recursion_depth] = String(this.recursion_depth);
    }
    this.headers = Object.freeze(headers);
    Object.freeze(this);
  }

  /** Replaces fields: null clears an optional one, undefined leaves it. A new `trace_id` without new headers takes the
   *  traceparent along, and new headers with a traceparent bring their trace. */
  evolve(patch: Partial<CGContextInput>): CGContext {
    // X3
    const given = Object.fromEntries(Object.entries(patch).filter(([, value]) => value !== undefined));
    const headers = patch.headers === undefined ? this.#headersOnTrace(patch.trace_id) : patch.headers;
    const bringsTrace = isTraceparent(headers?.[HEADERS.traceparent] as string | undefined);
    const trace_id = patch.trace_id ?? (bringsTrace ? null : this.trace_id);
    return new CGContext({ ...this.toSysDict(), ...given, headers, trace_id });
  }

  /** Its identity as plain data, without the headers. */
  toSysDict(): CGSysDict {
    const { headers: _, ...fields } = this;
    return fields as CGSysDict;
  }

  /** The turn; throws `protocol_violation` where there is none. */
  requireAgentTurnId(): TurnId {
    return present(this.agent_turn_id, "agent_turn_id");
  }

  /** The call; throws `protocol_violation` where there is none. */
  requireToolCallId(): CallId {
    return present(this.tool_call_id, "tool_call_id");
  }

  #headersOnTrace(trace_id: string | null | undefined): Readonly<Record<string, string>> {
    const trace = parseTraceparent(this.headers[HEADERS.traceparent]);
    const wanted = normalizeTraceId(trace_id);
    if (trace === null || wanted === null || wanted === trace.trace_id) return this.headers;
    return { ...this.headers, [HEADERS.traceparent]: formatTraceparent({ ...trace, trace_id: wanted }) };
  }
}

function required(value: unknown, field: string, isLegal: (value: string) => boolean): string {
  const text = optional(value, field, isLegal);
  if (text === null) throw new ProtocolViolation(`${field} is required`, { details: { field } });
  return text;
}

function optional(value: unknown, field: string, isLegal: (value: string) => boolean): string | null {
  if (value === null || value === undefined) return null;
  const text = typeof value === "string" ? value.trim() : null;
  if (text === "") return null;
  if (text === null || !isLegal(text)) {
    throw new ProtocolViolation(`${field} is not a legal id`, { details: { field } });
  }
  return text;
}

function wholeNumber(value: number | string | null | undefined, field: string): number {
  const number = typeof value === "string" ? parseCanonicalInteger(value.trim()) : (value ?? 0);
  if (number === null || !Number.isSafeInteger(number) || number < 0) {
    throw new ProtocolViolation(`${field} must be a whole number from 0`, { details: { field } });
  }
  return number;
}

/** The context's trace: as given, else that of the traceparent. Both must agree (X3). */
function traceId(given: string | null | undefined, headers: Readonly<Record<string, string>>): string | null {
  const ofHeader = parseTraceparent(headers[HEADERS.traceparent])?.trace_id ?? null;
  if (given === null || given === undefined) return ofHeader;
  if (typeof given === "string" && given.trim() === "") return ofHeader;
  const trace_id = normalizeTraceId(given);
  if (trace_id === null || (ofHeader !== null && ofHeader !== trace_id)) {
    const why = trace_id === null ? "is not 32 hex digits" : "and traceparent name different traces";
    throw new ProtocolViolation(`trace_id ${why}`, { details: { field: "trace_id" } });
  }
  return trace_id;
}

function present<T extends string>(value: T | null, field: string): T {
  if (value === null || value === "") throw new ProtocolViolation(`${field} is required here`, { details: { field } });
  return value;
}
