// How a model's answer ends a turn, or why it does not yet.
//
//   E1. A message without calls is the deliverable, unless the profile names tools that must come last or must have
//       succeeded: then a reminder card is added and the model thinks again, within its steps.
//   E2. submit_result ends the turn with fields; what is wrong with them goes back to the model as the call's result.

import { shownTime } from "@tessera/kernel";
import {
  BadRequest,
  buildErrorResultFromException,
  errorOf,
  TesseraError,
  type ToolResultContent,
} from "@tessera/protocol";
import type { ModelAnswer, ModelToolCall } from "../model-port.ts";
import { deliverableSchema, requiredFields } from "../transcript/index.ts";
import { type Ending, NO_CONTENT } from "./finish-turn.ts";
import { calledTools } from "./last-step.ts";
import { readSubmission } from "./submit-result.ts";
import type { StepEnd } from "./take-step.ts";
import type { TurnSession } from "./turn-session.ts";

interface Answered {
  readonly answer: ModelAnswer;
  readonly step_id: string;
}

export async function endByAnswer(session: TurnSession, { answer, step_id }: Answered): Promise<StepEnd> {
  const reminder = reminderOf(session);
  if (reminder !== null) return await remind(session, { answer, step_id }, reminder);
  const text = answer.text === "" ? NO_CONTENT : answer.text;
  return { status: "success", step_id, thought: answer, content: { text } };
}

/** The refusal of a submission that cannot be taken, or how the step ended. */
export function endBySubmission(
  session: TurnSession,
  {
    answer,
    step_id,
    submission,
    callsLeft,
  }: Answered & {
    readonly submission: ModelToolCall;
    /** Of its message, with this one. */
    readonly callsLeft: number;
  },
): { readonly end: Ending } | { readonly refusal: ToolResultContent } {
  try {
    const required = requiredFields(session.context).map((field) => field.name);
    const schema = deliverableSchema(session.context);
    const fields = readSubmission(submission.arguments, { required, schema }, callsLeft);
    const reminder = requiredToolsReminder(session);
    if (reminder !== null) throw new BadRequest(reminder);
    return { end: { status: "success", step_id, thought: answer, content: { data: { fields } } } };
  } catch (error) {
    if (!TesseraError.is(error) || error.http !== 400) throw error;
    return { refusal: { ...buildErrorResultFromException(error), after_execution: "suspend" } }; // E2
  }
}

function reminderOf(session: TurnSession): string | null {
  const { must_end_with } = session.profile;
  const { called } = calledTools(session.cards);
  if (deliverableSchema(session.context) !== null) {
    return "This task must end with a call of submit_result, whose result fits the schema. Call it now.";
  }
  if (must_end_with.length > 0 && !must_end_with.some((name) => called.has(name))) {
    return `This task must end with a call of ${must_end_with.join(" or ")}. Call it now.`;
  }
  return requiredToolsReminder(session);
}

function requiredToolsReminder({ profile, cards }: TurnSession): string | null {
  const { required_tools } = profile;
  const { succeeded } = calledTools(cards);
  const isMet = (name: string) => [...succeeded].some((tool) => tool === name || tool.startsWith(`${name}__`));
  if (required_tools.length === 0 || required_tools.some(isMet)) return null;
  return `Before this task may end, one of ${required_tools.join(", ")} must have succeeded. Call it.`;
}

/** E1. The thought is kept, so that the model sees what it said and why that was not enough. */
async function remind(session: TurnSession, { answer, step_id }: Answered, text: string): Promise<StepEnd> {
  const { worker, turn } = session;
  const cards = [
    { card_id: worker.ids.mint("card"), type: "agent.thought", content: { text: answer.text }, step_id },
    { card_id: worker.ids.mint("card"), type: "sys.must_end_with_required", content: { text }, step_id },
  ];
  const outcome = await worker.kernel.appendCards({ ...turn, cards });
  if (outcome.outcome === "rejected") {
    if (outcome.code === "stale_epoch") return "ended";
    throw errorOf(outcome.code, "the reminder could not be written");
  }
  const created_at = shownTime(worker.clock).toISOString();
  session.append(
    cards.map((card) => ({
      ...card,
      project_id: turn.project_id,
      author_id: turn.agent_id,
      metadata: { step_id, agent_turn_id: turn.agent_turn_id },
      tool_calls: null,
      tool_call_id: null,
      created_at,
    })),
  );
  return "next";
}
