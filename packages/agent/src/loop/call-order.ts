// Calls of one message that are made one after the other (`toolCalls: sequential`, decision 48).
//
//   O1. The message's calls are a card of their own, `agent.calls`, before the first of them is committed: no crash forgets
//       one, and the model is not asked again.
//   O2. Each call is then committed alone, when the one before it has its result, as a thought that names that card. Which one
//       is next follows from the cards. So a call that has not started is nowhere but in that card: it has no deadline, no
//       stop has to find it, and to the kernel, to executors and to the transcript each call is one like any other.
//   O3. What the step offered is all that its message may call, also later: a call of another tool is refused in its turn.
//   O4. Arguments are kept as the text that the model wrote. They are read when the call's turn comes (planCalls, C3).
//   O5. Calls beyond what a step may make, or a card can hold, are counted and reported behind the last one.
//   O6. The message is one step of its turn, however many calls it has. A result that ends the turn ends it: the calls behind
//       it are not made.

import { type CardDocument, shownTime } from "@tessera/kernel";
import {
  ARGUMENTS_BYTES_MAX,
  CALLS_PER_STEP_MAX,
  CARD_CONTENT_BYTES_MAX,
  errorOf,
  isId,
  isJsonObject,
  type JsonObject,
  type ReadonlyJsonObject,
} from "@tessera/protocol";
import type { ModelAnswer, ModelToolCall } from "../model-port.ts";
import type { TurnSession } from "./turn-session.ts";

const CARD_TYPE = "agent.calls";
const NAME_CHARS_MAX = 256;
/** For what the gate and the envelope add. */
const BYTES_KEPT_FREE = 16 * 1_024;

/** One call of a message, to be committed alone. */
export interface OrderedCall {
  /** What the model said, with this call only; of a later call no text and no usage, which stand with the first. */
  readonly answer: ModelAnswer;
  /** Which card it is from, and at which place (O2). */
  readonly calls_card_id: string;
  readonly call_index: number;
  /** With this one. */
  readonly callsLeft: number;
  /** Calls that are not made at all; reported behind the last one (O5). */
  readonly dropped: number;
  readonly isOffered: boolean;
}

interface Order {
  readonly calls: readonly { readonly call: ModelToolCall; readonly isOffered: boolean }[];
  readonly dropped: number;
  readonly said: Pick<ModelAnswer, "text" | "finish_reason" | "provider" | "model" | "usage" | "response_cost">;
}

/** O1. The first call; null: the turn is no longer ours. */
export async function keepOrder(
  session: TurnSession,
  answer: ModelAnswer,
  step_id: string,
): Promise<OrderedCall | null> {
  const { worker, turn } = session;
  const offered = new Set(session.offered.map(({ definition }) => definition.tool_name));
  const card = {
    card_id: worker.ids.mint("card"),
    type: CARD_TYPE,
    content: { data: dataOf(answer, offered) },
    step_id,
  };
  const outcome = await worker.kernel.appendCards({ ...turn, cards: [card] });
  if (outcome.outcome === "rejected") {
    if (outcome.code === "stale_epoch") return null;
    throw errorOf(outcome.code, "the calls of a message could not be written");
  }
  const { project_id, agent_id: author_id, agent_turn_id } = turn;
  const created_at = shownTime(worker.clock).toISOString();
  const metadata = { step_id, agent_turn_id };
  session.append([{ ...card, project_id, author_id, metadata, tool_calls: null, tool_call_id: null, created_at }]);
  const first = callAt(card.card_id, readOrder(card.content), 0);
  // The card has no reasoning: it is for the record only, and may be as long as the calls.
  return first === null ? null : { ...first, answer: { ...answer, tool_calls: first.answer.tool_calls } };
}

/** O2. The call that is to be made next; null: all calls of the last message have been. */
export function nextCallOf(cards: readonly CardDocument[]): OrderedCall | null {
  const at = cards.findLastIndex((card) => card.type === CARD_TYPE);
  const card = cards[at];
  if (card === undefined) return null;
  const made = cards.slice(at + 1).filter((each) => each.metadata.calls_card_id === card.card_id).length;
  return callAt(card.card_id, readOrder(card.content), made);
}

/** O6. Whether a thought begins a step, or goes on with the calls of one. */
export function beginsStep(thought: Pick<CardDocument, "metadata">): boolean {
  const { call_index } = thought.metadata;
  return typeof call_index !== "number" || call_index === 0;
}

function callAt(calls_card_id: string, { calls, dropped, said }: Order, call_index: number): OrderedCall | null {
  const found = calls[call_index];
  if (found === undefined) return null;
  const callsLeft = calls.length - call_index;
  const { provider, model, finish_reason } = said;
  const about = call_index === 0 ? said : { text: "", provider, model, finish_reason };
  return {
    answer: { ...about, tool_calls: [found.call] },
    ...{ calls_card_id, call_index, callsLeft, isOffered: found.isOffered },
    dropped: callsLeft === 1 ? dropped : 0,
  };
}

/** O3, O4, O5 */
function dataOf(answer: ModelAnswer, offered: ReadonlySet<string>): JsonObject {
  const { text, finish_reason, provider, model, usage, response_cost } = answer;
  const said: JsonObject = {
    ...{ text, finish_reason, provider, model },
    ...(usage === undefined ? {} : { usage: { ...usage } }),
    ...(response_cost === undefined ? {} : { response_cost }),
  };
  const calls: JsonObject[] = [];
  let bytesLeft = CARD_CONTENT_BYTES_MAX - BYTES_KEPT_FREE - bytesOf(said);
  for (const call of answer.tool_calls.slice(0, CALLS_PER_STEP_MAX)) {
    const kept = {
      ...(isId(call.id) ? { id: call.id } : {}),
      name: storable(String(call.name)).slice(0, NAME_CHARS_MAX),
      arguments: storable(textOf(call.arguments)).slice(0, ARGUMENTS_BYTES_MAX + 1), // more is refused, so the rest says nothing
      ...(offered.has(call.name) ? {} : { is_offered: false }),
    };
    bytesLeft -= bytesOf(kept);
    if (bytesLeft < 0 && calls.length === 0)
      throw errorOf("payload_too_large", "the calls of a message fit in no card");
    if (bytesLeft < 0) break;
    calls.push(kept);
  }
  return { ...said, calls, dropped: answer.tool_calls.length - calls.length };
}

function readOrder(content: ReadonlyJsonObject): Order {
  const data = isJsonObject(content.data) ? content.data : {};
  const { calls, dropped, ...said } = data;
  return {
    calls: (Array.isArray(calls) ? calls : []).filter(isJsonObject).map(({ is_offered, ...call }) => ({
      call: call as ModelToolCall,
      isOffered: is_offered !== false,
    })),
    dropped: typeof dropped === "number" ? dropped : 0,
    said: said as Order["said"],
  };
}

/** No text at all is an empty object to planCalls, as no arguments are. */
function textOf(given: unknown): string {
  return typeof given === "string" ? given : (JSON.stringify(given) ?? "");
}

function storable(text: string): string {
  return text.toWellFormed().replaceAll("\0", "\ufffd");
}

function bytesOf(value: JsonObject): number {
  return Buffer.byteLength(JSON.stringify(value));
}
