// One step: the model thinks, and what it wants becomes durable before anything of it happens.
//
//   P1. The order: step started, state running, stream, commit, then what the commit made true
//       (docs/protocol/turns.md#one-step-in-order).
//   P2. A call is committed before it is run or sent, also one that is refused: every call of a message has a result.
//   P3. A model that names a call id already taken gets ours instead, and the step is committed with those.
//   P4. What a model wrote becomes text that the store takes (no NUL, no half of a pair, not longer than a card) before it is
//       used: a thought that cannot be stored would stop its turn.
//   P5. An agent that asked for it has the calls of a message made one after the other (call-order.ts): the model is asked
//       again only when all of them have been made.

import type { CallDraft } from "@tessera/kernel";
import { CALLS_PER_STEP_MAX, errorOf, TesseraError, type ToolResultContent } from "@tessera/protocol";
import { modelTool, type PlannedCall, planCalls } from "@tessera/tool/catalog";
import type { ModelAnswer, ModelCall, ModelToolCall } from "../model-port.ts";
import { activeSpanId, activeTraceparent, traceChat } from "../telemetry/telemetry.ts";
import { deliverableSchema, offeredForBudget, renderSystemPrompt, requiredFields } from "../transcript/index.ts";
import { keepOrder, nextCallOf, type OrderedCall } from "./call-order.ts";
import { endByAnswer, endBySubmission } from "./end-turn.ts";
import type { Ending } from "./finish-turn.ts";
import { type CommittedStep, runStepLocals, sendReportsOfLocals } from "./local-calls.ts";
import { cardsOfStep } from "./step-cards.ts";
import { SUBMIT_RESULT } from "./submit-result.ts";
import { chunkStream, stateMessage, stepMessage, tell } from "./turn-events.ts";
import type { TurnSession } from "./turn-session.ts";

const TEXT_CHARS_MAX = 256 * 1_024;

/** `next`: all results are in, think again. `waits`: others have the calls. `ended`: the turn is not ours any more. An Ending:
 *  the turn is to end so. */
export type StepEnd = "next" | "waits" | "ended" | Ending;

export async function takeStep(session: TurnSession, step: number): Promise<StepEnd> {
  const { worker, turn } = session;
  const step_id = worker.ids.mint("step");
  const next = nextCallOf(session.cards);
  tell(worker, [
    stepMessage(turn, worker.ids, step_id, "started"),
    stateMessage(turn, worker, "running", { activity: next === null ? "thinking" : "executing_tool" }),
  ]); // P1
  const stepsLeft = session.profile.max_steps - step;
  // What is offered is also all that may be called: a last step can only end the turn.
  const run = (tools = session.offered) => {
    // A driver knows its own steps: its only one may be a call.
    const offered =
      worker.driver === undefined ? offeredForBudget(tools, stepsLeft, session.profile.must_end_with) : tools;
    return thinkAndAct({ ...session, offered }, step, step_id);
  };
  try {
    if (next !== null) return await actOn(session, next.answer, step_id, next); // P5
    return await (worker.extensions === undefined ? run() : worker.extensions.aroundStep(session, step, run));
  } catch (error) {
    tell(worker, [
      stepMessage(turn, worker.ids, step_id, "failed", {
        error: TesseraError.is(error) ? error.code : "internal_error",
      }),
    ]);
    throw error;
  }
}

async function thinkAndAct(session: TurnSession, step: number, step_id: string): Promise<StepEnd> {
  const answer = await think(session, step, step_id);
  if (session.signal.aborted) return "ended";
  const isOrdered = session.profile.tool_calls === "sequential" && answer.tool_calls.length > 1;
  if (!isOrdered) return await actOn(session, answer, step_id);
  const first = await keepOrder(session, answer, step_id); // P5
  return first === null ? "ended" : await actOn(session, first.answer, step_id, first);
}

async function actOn(
  given: TurnSession,
  answer: ModelAnswer,
  step_id: string,
  ordered: OrderedCall | null = null,
): Promise<StepEnd> {
  const name = answer.tool_calls[0]?.name;
  const session =
    ordered === null || ordered.isOffered
      ? given
      : { ...given, offered: given.offered.filter(({ definition }) => definition.tool_name !== name) };
  const submission = answer.tool_calls.find((call) => call.name === SUBMIT_RESULT.tool_name);
  const isOffered = session.offered.some(({ definition }) => definition === SUBMIT_RESULT);
  if (answer.tool_calls.length === 0) return await endByAnswer(session, { answer, step_id });
  let refused: ToolResultContent | null = null;
  if (submission !== undefined && isOffered) {
    const callsLeft = ordered?.callsLeft ?? answer.tool_calls.length;
    const taken = endBySubmission(session, { answer, submission, step_id, callsLeft });
    if ("end" in taken) return taken.end;
    refused = taken.refusal;
  }
  const committed = await commitCalls(session, { answer, ordered }, step_id, refused);
  if (committed === null) return "ended";
  return await act(session, committed);
}

async function think(session: TurnSession, step: number, step_id: string): Promise<ModelAnswer> {
  const { worker, turn, profile } = session;
  if (worker.driver !== undefined) return worker.driver.decide(turn);
  const stepsLeft = profile.max_steps - step;
  const tools = session.offered.map(({ definition }) => modelTool(definition));
  const stream = chunkStream(worker, turn, step_id);
  const call: ModelCall = {
    model: profile.model,
    agentName: session.agentName,
    step,
    system: renderSystemPrompt(profile, {
      display_name: turn.display_name ?? session.agentName,
      required_fields: requiredFields(session.context),
      deliverable_schema: deliverableSchema(session.context),
      steps_left: stepsLeft,
    }),
    messages: session.transcript.messages(),
    tools,
    signal: session.signal,
  };
  const answer = await traceChat(call, () => {
    const traceparent = activeTraceparent();
    const traced = traceparent === undefined ? call : { ...call, headers: { traceparent } };
    return worker.models.call(traced, (chunk) => stream.push(chunk));
  });
  stream.end({
    ...(answer.usage === undefined ? {} : { usage: { ...answer.usage } }),
    ...(answer.response_cost === undefined ? {} : { response_cost: answer.response_cost }),
  });
  return storable(answer);
}

/** Commit point A. Null: the turn is no longer ours. */
async function commitCalls(
  session: TurnSession,
  { answer, ordered }: { readonly answer: ModelAnswer; readonly ordered: OrderedCall | null },
  step_id: string,
  refusedSubmission: ToolResultContent | null,
): Promise<CommittedStep | null> {
  const { worker, turn } = session;
  const replan = (call: ModelToolCall) =>
    plan(session, { ...answer, tool_calls: [call] }, step_id, false)[0] as PlannedCall;
  for (const mintsAll of [false, true]) {
    const own = plan(session, answer, step_id, mintsAll);
    // Extensions see calls that run elsewhere before they are committed; later nothing could keep them back.
    const seen = (await worker.extensions?.beforeSending(session, own, replan)) ?? own;
    const planned = seen.map((call) => {
      const isSubmission = call.draft.tool_name === SUBMIT_RESULT.tool_name && refusedSubmission !== null;
      return isSubmission ? { ...call, refusal: refusedSubmission } : call;
    });
    const kept = planned.slice(0, CALLS_PER_STEP_MAX);
    const thought = {
      card_id: worker.ids.mint("card"),
      content: { text: answer.text },
      metadata: {
        ...thoughtMetadata(answer, ordered?.dropped ?? planned.length - kept.length),
        ...(ordered === null ? {} : { calls_card_id: ordered.calls_card_id, call_index: ordered.call_index }),
      },
    };
    const calls = kept.map(({ draft }) => ({ ...draft, card_id: worker.ids.mint("card") }));
    const outcome = await worker.kernel.suspendOnCalls({ ...turn, step_id, thought, calls: calls as CallDraft[] });
    if (outcome.outcome === "rejected") {
      if (outcome.code === "conflict" && !mintsAll) {
        await worker.driver?.checkTakenCallId?.(turn);
        continue; // P3
      }
      if (outcome.code === "stale_epoch") return null;
      throw errorOf(outcome.code, "the step could not be committed");
    }
    const committed_at = outcome.committed_at ?? new Date(0).toISOString();
    session.append(cardsOfStep(turn, step_id, thought, calls, committed_at));
    return {
      step_id,
      thought,
      calls: kept.map((call, n) => ({ ...call, capability: outcome.calls[n]?.capability ?? null })),
      committed_at,
    };
  }
  return null;
}

function plan(session: TurnSession, answer: ModelAnswer, step_id: string, mintsAll: boolean): readonly PlannedCall[] {
  const { worker, turn, offered } = session;
  const byName = new Map(offered.map((tool) => [tool.definition.tool_name, tool]));
  const planned = planCalls(answer.tool_calls, {
    catalog: { get: (name) => byName.get(name), list: () => offered },
    vars: { ...turn, step_id },
    mintCallId: () => worker.ids.mint("tc"),
    isCallIdUsed: () => mintsAll,
    isHosted: ({ definition, code }) =>
      code !== null || definition === SUBMIT_RESULT || worker.isHosted(definition.tool_name),
    digestOf: (definition) => worker.tools.digestOf(definition),
  });
  const workdir = session.workdir === null ? {} : { workdir: { ...session.workdir } };
  const who = { agent_name: session.agentName, instance_key: session.instanceKey, ...workdir };
  const span_id = activeSpanId();
  const span = span_id === undefined ? {} : { span_id };
  return planned.map((call) => {
    const driven = worker.driver?.callMetadata?.(call.refusal);
    return { ...call, draft: { ...call.draft, ...span, metadata: { ...call.draft.metadata, ...who, ...driven } } };
  });
}

async function act(session: TurnSession, step: CommittedStep): Promise<StepEnd> {
  const { worker, turn } = session;
  const isAllLocal = step.calls.every(({ draft }) => draft.local);
  if (isAllLocal) {
    tell(worker, [stateMessage(turn, worker, "running", { activity: "executing_tool" })]);
    return (await runStepLocals(session, step)) ? "next" : "ended";
  }
  const waiting = step.calls.map(({ draft }) => draft.tool_call_id);
  tell(worker, [
    stateMessage(turn, worker, "suspended", {
      activity: "awaiting_tool_result",
      waiting_tool_count: waiting.length,
      waiting_tool_call_ids: waiting,
    }),
  ]);
  await sendReportsOfLocals(session, step);
  return "waits";
}

function thoughtMetadata(answer: ModelAnswer, dropped: number) {
  return {
    provider: answer.provider,
    model: answer.model,
    finish_reason: answer.finish_reason,
    ...(answer.usage === undefined ? {} : { usage: { ...answer.usage } }),
    ...(answer.response_cost === undefined ? {} : { response_cost: answer.response_cost }),
    reasoning_content: answer.reasoning,
    ...(dropped > 0 ? { too_many_calls: dropped } : {}),
  };
}

/** P4 */
function storable(answer: ModelAnswer): ModelAnswer {
  const clean = (text: string) => text.slice(0, TEXT_CHARS_MAX).toWellFormed().replaceAll("\0", "\ufffd");
  const { reasoning } = answer;
  return { ...answer, text: clean(answer.text), ...(reasoning === undefined ? {} : { reasoning: clean(reasoning) }) };
}
