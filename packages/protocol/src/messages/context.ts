// CGContext: who acts, in which turn, on which trace. An immutable value that travels beside every payload.
//
//   X1. Every operation returns a new, re-validated value; nothing is changed in place.
//   X2. Identity lives in the fields. `headers` only carries transport (trace, vendors' state, foreign headers), and what
//       is emitted is built from the fields, so a stale copy in `headers` can never speak for the context.
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
import { formatSubject, type SubjectCategory, type SubjectComponent } from "./subject.ts";
import { renderTargetSubject } from "./target-subject.ts";
import {
  formatTraceparent,
  isTraceparent,
  normalizeTraceId,
  parseTraceparent,
  type TraceIds,
} from "./trace-context.ts";
import { normalizeTransport, type TransportInput } from "./transport.ts";

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

export interface LineageMeta {
  readonly step_id?: string;
  readonly trace_id?: string;
  readonly parent_step_id?: string;
}

/** The turn that a row belongs to: a head (`active_agent_turn_id`) or any other row (`agent_turn_id`). */
export interface TurnRow {
  readonly agent_turn_id?: string | null;
  readonly active_agent_turn_id?: string | null;
  readonly turn_epoch: number;
}

/** A string sets the header, null removes it, undefined leaves it. */
export interface TracePatch extends Omit<TransportInput, "headers"> {
  readonly traceparent?: string | null | undefined;
  readonly tracestate?: string | null | undefined;
  readonly parent_traceparent?: string | null | undefined;
}

/** Who acts, in which turn, step and call: what the headers of a message say. It never changes; the `with…` methods and `evolve` make
 *  another one. */
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

  /** The context of a record as `toSysDict` gives it, without headers. */
  static fromSysDict(dict: CGContextInput): CGContext {
    return new CGContext({ ...dict, headers: null });
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

  /** The same in another turn. */
  withTurn(agent_turn_id: string, turn_epoch: number): CGContext {
    return this.evolve({ agent_turn_id, turn_epoch });
  }

  /** The same with the next epoch of its turn. */
  withBumpedEpoch(): CGContext {
    return this.evolve({ turn_epoch: this.turn_epoch + 1 });
  }

  /** The same in another step. */
  withNewStep(step_id: string): CGContext {
    return this.evolve({ step_id });
  }

  /** The same for a call. */
  withToolCall(tool_call_id: string): CGContext {
    return this.evolve({ tool_call_id });
  }

  /** The same at another depth. */
  withRecursionDepth(recursion_depth: number): CGContext {
    return this.evolve({ recursion_depth });
  }

  /** Sets what was stored with a suspended turn; what is not given stays. */
  withRestoredState(state: {
    readonly parent_step_id?: string | null;
    readonly trace_id?: string | null;
    readonly headers?: Readonly<Record<string, unknown>> | null;
  }): CGContext {
    return this.evolve({
      ...(state.parent_step_id ? { parent_step_id: state.parent_step_id } : {}),
      ...(state.headers ? { headers: state.headers } : {}),
      ...(state.trace_id ? { trace_id: state.trace_id } : {}),
    });
  }

  /** Sets headers, trace and depth as given, without completing them. */
  withTransport(transport: TransportInput): CGContext {
    return this.evolve({
      ...(transport.headers ? { headers: transport.headers } : {}),
      ...(transport.trace_id ? { trace_id: transport.trace_id } : {}),
      ...(transport.recursion_depth === undefined ? {} : { recursion_depth: transport.recursion_depth }),
    });
  }

  /** Like withTransport, and afterwards the headers hold a valid traceparent and the depth. */
  withNormalizedTransport(transport: TransportInput, ids: TraceIds): CGContext {
    const headers = normalizeHeaders(transport.headers ?? this.headers);
    const isNewTransport = Boolean(transport.headers);
    if (!isNewTransport) delete headers[HEADERS.recursion_depth]; // the field decides (X2)
    const trace_id = transport.trace_id ?? (isNewTransport ? null : this.trace_id);
    const recursion_depth =
      transport.recursion_depth ?? (headers[HEADERS.recursion_depth] === undefined ? this.recursion_depth : undefined);
    const next = normalizeTransport({ headers, trace_id, recursion_depth }, ids);
    return this.evolve({ headers: next.headers, trace_id: next.trace_id, recursion_depth: next.recursion_depth });
  }

  /** Like withNormalizedTransport on the context's own headers, after setting or removing trace headers. A removed
   *  traceparent is replaced by a fresh span: of `trace_id` if given, else of the context's trace. */
  withTraceTransport(patch: TracePatch, ids: TraceIds): CGContext {
    const headers: Record<string, string> = { ...this.headers };
    for (const field of ["traceparent", "tracestate", "parent_traceparent"] as const) {
      const value = patch[field];
      if (value === null) delete headers[HEADERS[field]];
      else if (value !== undefined) headers[HEADERS[field]] = value;
    }
    delete headers[HEADERS.recursion_depth];
    const ownTrace = typeof patch.traceparent === "string" ? null : this.trace_id;
    const trace_id = patch.trace_id ?? ownTrace;
    // A new trace without a traceparent of its own starts with a fresh span; the old one belongs to the old trace.
    if (patch.traceparent === undefined && trace_id !== this.trace_id) delete headers[HEADERS.traceparent];
    const recursion_depth = patch.recursion_depth ?? this.recursion_depth;
    const next = normalizeTransport({ headers, trace_id, recursion_depth }, ids);
    return this.evolve({ headers: next.headers, trace_id: next.trace_id, recursion_depth });
  }

  /** Takes the lineage of a card's metadata; only what is set there. */
  withLineageMeta(meta: Readonly<Record<string, unknown>> | null | undefined): CGContext {
    const patch: Record<string, string> = {};
    for (const key of ["step_id", "trace_id", "parent_step_id"] as const) {
      const value = meta?.[key];
      if (typeof value === "string" && value.trim() !== "") patch[key] = value;
    }
    return this.evolve(patch);
  }

  /** What a card's metadata says about where it came from; without the step with `includeStep: false`. */
  toLineageMeta(options: { readonly includeStep?: boolean } = {}): LineageMeta {
    return {
      ...(this.step_id !== null && options.includeStep !== false ? { step_id: this.step_id } : {}),
      ...(this.trace_id === null ? {} : { trace_id: this.trace_id }),
      ...(this.parent_step_id === null ? {} : { parent_step_id: this.parent_step_id }),
    };
  }

  /** Its identity as plain data, without the headers. */
  toSysDict(): CGSysDict {
    const { headers: _, ...fields } = this;
    return fields as CGSysDict;
  }

  /** A subject of its project and channel. */
  subject(category: SubjectCategory, component: SubjectComponent, target: string, suffix: string): string {
    const { project_id, channel_id } = this;
    return formatSubject({ project_id, channel_id, category, component, target, suffix });
  }

  /** A `target_subject` with this context's project and channel in the places for them. */
  renderSubjectTemplate(template: string): string {
    return renderTargetSubject(template, this);
  }

  /** Whether a row is of the same turn, in the same epoch. */
  matchesState(row: TurnRow): boolean {
    return this.#isTurnOf(row) && row.turn_epoch === this.turn_epoch;
  }

  /** Whether a row is of the same turn, in this epoch or a later one. */
  matchesSameTurnAllowNewerEpoch(row: TurnRow): boolean {
    return this.#isTurnOf(row) && row.turn_epoch >= this.turn_epoch;
  }

  /** What is sent. Commands and stored context headers include the topology; events and wakeups do not. */
  toNatsHeaders(options: { readonly includeTopology?: boolean } = {}): Record<string, string> {
    const topology = options.includeTopology === true;
    return withoutEmpty({
      [HEADERS.project_id]: this.project_id,
      [HEADERS.channel_id]: this.channel_id,
      [HEADERS.agent_id]: this.agent_id,
      [HEADERS.agent_turn_id]: this.agent_turn_id,
      [HEADERS.turn_epoch]: String(this.turn_epoch),
      [HEADERS.traceparent]: this.headers[HEADERS.traceparent],
      [HEADERS.tracestate]: this.headers[HEADERS.tracestate],
      ...(topology
        ? {
            [HEADERS.recursion_depth]: String(this.recursion_depth),
            [HEADERS.step_id]: this.step_id,
            [HEADERS.tool_call_id]: this.tool_call_id,
            [HEADERS.parent_agent_id]: this.parent_agent_id,
            [HEADERS.parent_agent_turn_id]: this.parent_agent_turn_id,
            [HEADERS.parent_step_id]: this.parent_step_id,
            [HEADERS.parent_traceparent]: this.headers[HEADERS.parent_traceparent],
          }
        : {}),
    });
  }

  /** Its identity as attributes of a span. */
  toOtelAttributes(): Record<string, string | number> {
    return {
      "cg.project_id": this.project_id,
      "cg.channel_id": this.channel_id,
      "cg.agent_id": this.agent_id,
      "cg.agent_turn_id": this.agent_turn_id,
      "cg.turn_epoch": this.turn_epoch,
      ...(this.step_id === null ? {} : { "cg.step_id": this.step_id }),
      ...(this.tool_call_id === null ? {} : { "cg.tool_call_id": this.tool_call_id }),
      ...(this.trace_id === null ? {} : { "cg.trace_id": this.trace_id }),
      ...(this.parent_step_id === null ? {} : { "cg.parent_step_id": this.parent_step_id }),
    };
  }

  /** The turn; throws `protocol_violation` where there is none. */
  requireAgentTurnId(): TurnId {
    return present(this.agent_turn_id, "agent_turn_id");
  }

  /** The step; throws `protocol_violation` where there is none. */
  requireStepId(): StepId {
    return present(this.step_id, "step_id");
  }

  /** The call; throws `protocol_violation` where there is none. */
  requireToolCallId(): CallId {
    return present(this.tool_call_id, "tool_call_id");
  }

  /** The step above; throws `protocol_violation` where there is none. */
  requireParentStepId(): StepId {
    return present(this.parent_step_id, "parent_step_id");
  }

  #isTurnOf(row: TurnRow): boolean {
    const turn = row.active_agent_turn_id ?? row.agent_turn_id ?? "";
    return turn !== "" && turn === this.agent_turn_id;
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

function withoutEmpty(headers: Record<string, string | null | undefined>): Record<string, string> {
  const rest: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers)) if (value) rest[name] = value;
  return rest;
}
