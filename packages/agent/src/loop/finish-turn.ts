// Commit point E: a turn ends with a deliverable and one terminal event, whatever ended it.
//
//   F1. Order of what observers hear: state idle, step completed or failed, task, the next wakeup
//       (docs/protocol/turns.md#one-step-in-order).
//   F2. A turn that no answer of its agent ended gets a fallback deliverable that says why
//       (docs/protocol/cards.md#fallback-deliverable).
//   F3. A deliverable that the store refuses is replaced by one that says so: no turn stays open because of what was said in it.

import type { CardDraft } from "@tessera/kernel";
import {
  type ErrorCode,
  errorOf,
  gateJson,
  type ReadonlyJson,
  type ReadonlyJsonObject,
  type ResultStatus,
  type TesseraError,
  type ToolResultContent,
} from "@tessera/protocol";
import type { ModelAnswer } from "../model-port.ts";
import { isWithheld } from "../transcript/index.ts";
import type { DrivenEnd } from "./turn-driver.ts";
import { stateMessage, stepMessage } from "./turn-events.ts";
import type { TurnSession } from "./turn-session.ts";
import type { Turn, WorkerContext } from "./worker-context.ts";

/** Where a turn ends without a word. */
export const NO_CONTENT = "(no content)";
const OUTPUT_BYTES_MAX = 512 * 1_024;
const EXCERPT_CHARS_MAX = 4_000;

/** How a turn is to end. It is committed when the layers around the turn have returned. */
export interface Ending {
  readonly status: ResultStatus;
  readonly step_id: string;
  /** The last message of the model, kept as a card before the deliverable. */
  readonly thought?: ModelAnswer;
  /** The card of the thought is written already. */
  isThoughtKept?: boolean;
  readonly content: ReadonlyJsonObject;
  readonly error_code?: string;
  readonly error_message?: string;
}

export async function finishWith(session: TurnSession, ending: Ending): Promise<void> {
  await finish(session.worker, session.turn, ending);
}

/** All results are in and one of them ends the turn: the first failing one decides how. */
export function endingByResults(
  session: TurnSession,
  results: readonly { readonly tool_name: string; readonly content: ToolResultContent }[],
): Ending {
  const failing = results.find(({ content }) => content.status !== "success");
  const status = failing?.content.status ?? "success";
  const error = failing?.content.error ?? null;
  const output = results.map(({ tool_name, content }) => ({
    tool_name,
    status: content.status,
    result: isWithheld({ ...content }) ? null : content.result,
  }));
  return {
    status,
    step_id: session.turn.step_id ?? session.worker.ids.mint("step"),
    content: fallback({
      status,
      message: "a tool ended the turn",
      output: output.length === 1 ? (output[0]?.result ?? null) : output,
      reason: "terminated_by_tool",
      results: results.length,
      session,
    }),
    ...(error === null ? {} : { error_code: error.code, error_message: error.message }),
  };
}

/** A driver also says what the result is. */
export function endingByDriver({ worker, turn }: TurnSession, { status, content, error }: DrivenEnd): Ending {
  return {
    status,
    step_id: turn.step_id ?? worker.ids.mint("step"),
    content,
    ...(error === null ? {} : { error_code: error.code, error_message: error.message }),
  };
}

/** An extension lets the turn go no further: what its last step said is handed over. */
export function endingByText({ cards, turn, worker }: TurnSession): Ending {
  const { text } = cards.findLast((card) => card.type === "agent.thought")?.content ?? {};
  const content = { text: typeof text === "string" && text !== "" ? text : NO_CONTENT };
  return { status: "success", step_id: turn.step_id ?? worker.ids.mint("step"), content };
}

export function endingBySteps(session: TurnSession): Ending {
  const { worker, profile } = session;
  return {
    status: "partial",
    step_id: worker.ids.mint("step"),
    content: fallback({
      status: "partial",
      message: `the turn used up its ${profile.max_steps} steps`,
      output: null,
      reason: "max_steps_reached",
      results: 0,
      session,
    }),
    error_code: "max_steps_reached",
    error_message: `the turn used up its ${profile.max_steps} steps before it finished`,
  };
}

export async function failTurn(worker: WorkerContext, turn: Turn, error: TesseraError, stack?: string): Promise<void> {
  const ending: Ending = {
    status: "failed",
    step_id: turn.step_id ?? worker.ids.mint("step"),
    content:
      worker.driver?.failureContent?.(error) ??
      fallback({ status: "failed", message: error.message, output: null, reason: error.code, results: 0 }),
    error_code: error.code,
    error_message: error.message,
  };
  await finish(worker, turn, ending, stack);
}

async function finish(worker: WorkerContext, turn: Turn, ending: Ending, stack?: string): Promise<void> {
  const { kernel, ids } = worker;
  const { status, step_id, thought, isThoughtKept, content, error_code, error_message } = ending;
  const cards = thought === undefined || isThoughtKept === true ? [] : [thoughtCard(worker, thought, step_id)];
  const phase = status === "failed" || status === "canceled" ? "failed" : "completed";
  const outcome = await kernel.finishTurn(
    {
      ...turn,
      status,
      cards,
      deliverable: { card_id: ids.mint("card"), content },
      error_code,
      ...(error_message === undefined ? {} : { error_message: clean(error_message) }),
      stack,
    },
    [
      stateMessage(turn, worker, "idle", {}),
      stepMessage(turn, ids, step_id, phase),
      ...(worker.driver?.endMessages?.(turn, content) ?? []),
    ], // F1
  );
  if (outcome.outcome !== "rejected" || outcome.code === "stale_epoch") return;
  worker.onWarning(`turn ${turn.agent_turn_id} could not be finished as it should: ${outcome.code}`);
  await finishAnyhow(worker, turn, outcome.code);
}

/** F3. The deliverable was refused, and a turn that is not ended would be held for ever: it ends with what can be stored. */
async function finishAnyhow(worker: WorkerContext, turn: Turn, code: ErrorCode): Promise<void> {
  const message = "the turn's own deliverable could not be stored";
  const outcome = await worker.kernel.finishTurn({
    ...turn,
    status: "failed",
    deliverable: {
      card_id: worker.ids.mint("card"),
      content: fallback({ status: "failed", message, output: null, reason: code, results: 0 }),
    },
    error_code: code,
    error_message: message,
  });
  if (outcome.outcome === "rejected" && outcome.code !== "stale_epoch") throw errorOf(outcome.code, message);
}

/** Of an answer without calls. */
export function thoughtCard({ ids }: Pick<WorkerContext, "ids">, thought: ModelAnswer, step_id: string): CardDraft {
  const card_id = ids.mint("card");
  return { card_id, type: "agent.thought", content: { text: thought.text }, step_id, metadata: usageOf(thought) };
}

function usageOf({ provider, model, finish_reason, usage, response_cost }: ModelAnswer): ReadonlyJsonObject {
  return {
    provider,
    model,
    finish_reason,
    ...(usage === undefined ? {} : { usage: { ...usage } }),
    response_cost,
  };
}

/** F2 */
function fallback(facts: {
  readonly status: ResultStatus;
  readonly message: string;
  readonly output: unknown;
  readonly reason: string;
  readonly results: number;
  readonly session?: TurnSession;
}): ReadonlyJsonObject {
  const thoughts = facts.session?.cards.filter((card) => card.type === "agent.thought") ?? [];
  const last = thoughts.at(-1)?.content.text;
  const isPartial = facts.status !== "success";
  return {
    data: {
      schema_version: 1,
      kind: "fallback_deliverable",
      status: isPartial ? "partial" : "success",
      partial: isPartial,
      message: clean(facts.message),
      fields: [
        { name: "summary", value: clean(facts.message) },
        { name: "output", value: fitting(facts.output) },
        { name: "reason", value: facts.reason },
      ],
      diagnostics: {
        source: "agent_worker",
        tool_result_count: facts.results,
        last_agent_thought: typeof last === "string" ? last.slice(0, EXCERPT_CHARS_MAX).toWellFormed() : null,
        partial: isPartial,
        terminal_status: facts.status,
      },
    },
  };
}

/** What a card can hold: results of a step may be large together, though each fits alone. */
function fitting(output: unknown): ReadonlyJson {
  try {
    return gateJson(output ?? null, { bytesMax: OUTPUT_BYTES_MAX });
  } catch {
    return "too large for a deliverable; see the tool.result cards of this turn";
  }
}

/** Text that the store takes: a model or a third party's error may hold anything. */
function clean(text: string): string {
  return text.slice(0, EXCERPT_CHARS_MAX).toWellFormed().replaceAll("\0", "\ufffd");
}
