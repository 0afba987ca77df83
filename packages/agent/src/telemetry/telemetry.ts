// Spans and metrics of what agents do (docs/design.md#public-surface). Only the OpenTelemetry API is used: without an SDK in the
// process all of this costs next to nothing.
//
//   T1. One trace, one tree: a span's parent is the span whose id was stored with what it continues. A turn stores the id of
//       the span that asked for it, a call the id of the turn's span, so that every process can hang its own below.
//   T2. A turn may be worked on by several processes, one after the other: each stretch is its own `invoke_agent` span below
//       the span that asked for the turn.
//   T3. A child with a trace of its own (fork_join: fifty children in one trace are not readable) has a link to the span
//       that asked for it.
//   T4. Attributes follow the GenAI conventions. Arguments, results and texts are never among them.

import {
  type Attributes,
  type Context,
  context,
  metrics,
  type Span,
  type SpanContext,
  SpanKind,
  SpanStatusCode,
  TraceFlags,
  trace,
} from "@opentelemetry/api";
import type { CardDocument } from "@tessera/kernel";
import { isJsonObject, parseTraceparent, TesseraError } from "@tessera/protocol";
import type { ModelAnswer, ModelCall } from "../model-port.ts";

const SCOPE = "@tessera/agent";
const INVALID_SPAN_ID = "0".repeat(16);

export interface TracedTurn {
  readonly project_id: string;
  readonly agent_id: string;
  readonly agent_turn_id: string;
  readonly trace_id: string;
  readonly span_id: string;
  readonly parent_agent_turn_id: string | null;
}

/** T2 */
export async function traceTurn<T>(
  turn: TracedTurn,
  options: {
    readonly agentName: string;
    /** The `traceparent` of the request that asked for the turn (T3). Read only where spans are recorded. */
    readonly parentOf: () => Promise<unknown>;
    readonly work: () => Promise<T>;
  },
): Promise<T> {
  const { agentName, parentOf, work } = options;
  const attributes = {
    "gen_ai.operation.name": "invoke_agent",
    "gen_ai.agent.name": agentName,
    "gen_ai.agent.id": turn.agent_id,
    "cg.project_id": turn.project_id,
    "cg.agent_turn_id": turn.agent_turn_id,
  };
  const linked = async (span: Span) => {
    if (span.isRecording() && turn.parent_agent_turn_id !== null) linkParent(span, turn, await parentOf());
    return await work();
  };
  const parent = remote(turn.trace_id, turn.span_id);
  return await inSpan(`invoke_agent ${agentName}`, SpanKind.INTERNAL, attributes, linked, parent);
}

/** T3 */
function linkParent(span: Span, turn: TracedTurn, given: unknown): void {
  const parent = typeof given === "string" ? parseTraceparent(given) : null;
  if (parent === null || parent.trace_id === turn.trace_id) return;
  const { trace_id: traceId, span_id: spanId } = parent;
  span.addLink({ context: { traceId, spanId, traceFlags: TraceFlags.SAMPLED, isRemote: true } });
}

export async function traceChat(call: ModelCall, work: () => Promise<ModelAnswer>): Promise<ModelAnswer> {
  const attributes = {
    "gen_ai.operation.name": "chat",
    "gen_ai.provider.name": call.model.provider,
    "gen_ai.request.model": call.model.model,
    "gen_ai.agent.name": call.agentName,
  };
  return await inSpan(`chat ${call.model.model}`, SpanKind.CLIENT, attributes, async (span) => {
    const answer = await work();
    span.setAttribute("gen_ai.response.finish_reasons", [answer.finish_reason]);
    const { input_tokens, output_tokens } = answer.usage ?? {};
    if (input_tokens !== undefined) span.setAttribute("gen_ai.usage.input_tokens", input_tokens);
    if (output_tokens !== undefined) span.setAttribute("gen_ai.usage.output_tokens", output_tokens);
    return answer;
  });
}

/** Who is asked, for what (an agent's turn, or one call of a tool), and the context of the caller where it came with the request. */
type Asked = ({ readonly agent_name: string } | { readonly tool_name: string }) & {
  readonly trace_id?: string | undefined;
  readonly span_id?: string | undefined;
};

/** The span that asks for a turn; its id is stored with the turn (T1). Without an SDK the caller's own is. */
export async function traceEnqueue<T>(
  turn: Asked,
  work: (ids: { readonly trace_id?: string; readonly span_id?: string }) => Promise<T>,
): Promise<T> {
  const parent = turn.trace_id && turn.span_id ? remote(turn.trace_id, turn.span_id) : context.active();
  const [name, attribute] =
    "agent_name" in turn ? [turn.agent_name, "gen_ai.agent.name"] : [turn.tool_name, "gen_ai.tool.name"];
  const attributes = { [attribute]: name };
  return await inSpan(`enqueue ${name}`, SpanKind.PRODUCER, attributes, (span) => work(idsOf(span)), parent);
}

/** The id of the span that is active now, for what is stored (T1); undefined without an SDK. */
export function activeSpanId(): string | undefined {
  return idsOf(trace.getSpan(context.active())).span_id;
}

/** W3C context for an outgoing request. */
export function activeTraceparent(): string | undefined {
  const { trace_id, span_id } = idsOf(trace.getSpan(context.active()));
  return trace_id === undefined || span_id === undefined ? undefined : `00-${trace_id}-${span_id}-01`;
}

/** How a step's calls ended, counted when their results are applied. */
export function countResults(cards: readonly Pick<CardDocument, "content" | "metadata">[]): void {
  if (cards.length === 0) return;
  const meter = metrics.getMeter(SCOPE);
  const ended = meter.createCounter("tessera.tool_calls", { description: "tool calls by how they ended" });
  for (const { content, metadata } of cards) {
    const tool = { "gen_ai.tool.name": String(metadata.function_name) };
    const status = String(content.status);
    const code = isJsonObject(content.error) ? String(content.error.code) : null;
    ended.add(1, { ...tool, status, ...(code === null ? {} : { "error.type": code }) });
    if (status === "timeout") meter.createCounter("tessera.tool_timeouts").add(1, tool);
    if (code === "outcome_unknown") meter.createCounter("tessera.outcomes_unknown").add(1, tool);
  }
}

/** A turn goes on: its last step's results, and how long it waited for them by the database's clock. */
export function countResumed(cards: readonly CardDocument[]): void {
  const at = cards.findLastIndex((card) => card.type === "agent.thought");
  const results = cards.slice(at + 1).filter((card) => card.type === "tool.result");
  const asked = cards[at];
  if (asked === undefined || results.length === 0) return;
  countResults(results);
  const answered = Math.max(...results.map((card) => new Date(card.created_at).getTime()));
  const waitedMs = Math.max(0, answered - new Date(asked.created_at).getTime());
  metrics.getMeter(SCOPE).createHistogram("tessera.wait", { unit: "ms" }).record(waitedMs);
}

async function inSpan<T>(
  name: string,
  kind: SpanKind,
  attributes: Attributes,
  work: (span: Span) => Promise<T>,
  parent: Context = context.active(),
): Promise<T> {
  const span = trace.getTracer(SCOPE).startSpan(name, { kind, attributes }, parent);
  try {
    return await context.with(trace.setSpan(parent, span), () => work(span));
  } catch (error) {
    // The message may hold what a model or a tool said (T4): the code is enough.
    const code = TesseraError.is(error) ? error.code : "internal_error";
    span.setAttribute("error.type", code);
    span.setStatus({ code: SpanStatusCode.ERROR, message: code });
    throw error;
  } finally {
    span.end();
  }
}

function remote(traceId: string, spanId: string): Context {
  const parent: SpanContext = { traceId, spanId, traceFlags: TraceFlags.SAMPLED, isRemote: true };
  return trace.setSpanContext(context.active(), parent);
}

function idsOf(span: Span | undefined): { readonly trace_id?: string; readonly span_id?: string } {
  const ids = span?.spanContext();
  if (ids === undefined || ids.spanId === INVALID_SPAN_ID) return {};
  return { trace_id: ids.traceId, span_id: ids.spanId };
}
