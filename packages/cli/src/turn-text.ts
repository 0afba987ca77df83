// Turns as people read them: a list, and one with all that is known about it.

import type { Call, Turn, TurnSummary } from "@tessera/client";
import { visibleLine } from "@tessera/protocol";
import type { Text } from "./printing-gate.ts";
import { seconds } from "./progress-text.ts";
import { shortTime } from "./short-time.ts";
import { cutText } from "./text-width.ts";
import { answerOf, deliverableText } from "./turn-answer.ts";
import { agentOf, isEnded, reasonOf, waitsOf } from "./turn-document.ts";

/** The list of the API has no names. */
export type ListedTurn = TurnSummary & { readonly agent_name: string | null };

const LABEL_WIDTH = 12;
/** Of a column: enough to tell one turn from another. */
const ASKED_WIDTH = 32;
const ID_COLUMNS = ["turn", "card", "call"];

/** Ids last: where the terminal is too narrow for them, their ends will do for `turns show`. */
export function turnsTable(turns: readonly ListedTurn[]): Text {
  const rows = turns.map((turn) => ({
    agent: agentOf(turn),
    status: turn.status,
    created: shortTime(turn.created_at),
    took: turn.ended_at === null ? null : seconds(Date.parse(turn.ended_at) - Date.parse(turn.created_at)),
    error: turn.error_code ?? null,
    asked: briefly(turn.input ?? null),
    turn: turn.agent_turn_id,
  }));
  return [{ rows, ids: ["turn"] }];
}

export function turnText(turn: Turn): Text {
  const { error_code, error_message, parent_agent_turn_id, instance_key } = turn;
  const facts: [string, string | null | undefined][] = [
    ["turn", turn.agent_turn_id],
    ["agent", agentOf(turn)],
    ["instance", instance_key],
    ["status", turn.status],
    ["started by", parent_agent_turn_id],
    ["created", turn.created_at],
    ["ended", turn.ended_at],
    ["error", typeof error_code === "string" ? `${error_code}: ${error_message ?? "no reason was given"}` : null],
    ["card", turn.deliverable_card_id],
    ["trace", turn.trace_id],
  ];
  const head = facts.flatMap(([name, value]) =>
    value === null || value === undefined
      ? []
      : [{ line: [`${name.padEnd(LABEL_WIDTH)}${visibleLine(value)}`], hang: LABEL_WIDTH }],
  );
  return [
    ...(typeof turn.input === "string" ? [`asked\n${indented(turn.input)}\n\n`] : []),
    ...head,
    ...section("waits for", waitsOf(turn), (wait) => {
      const reason = reasonOf(wait) + (wait.bounded_by === undefined ? "" : `; bounded by ${wait.bounded_by}`);
      return { tool: wait.tool_name ?? null, until: wait.deadline_at ?? null, reason };
    }),
    ...section("calls", turn.calls, callRow),
    ...section("turns it started", turn.children, (child) => {
      return { agent: agentOf(child), status: child.status, turn: child.agent_turn_id };
    }),
    ...section("what happened", turn.timeline, ({ at, kind, name, status, agent_turn_id }) => {
      const child = turn.children.find((each) => each.agent_turn_id === agent_turn_id);
      const after = seconds(Math.max(0, Date.parse(at) - Date.parse(turn.created_at)));
      return { after, what: kind, name: child === undefined ? name : agentOf(child), status };
    }),
    isEnded(turn) ? `\ndeliverable\n${indented(deliverableText(answerOf(turn).deliverable))}` : "",
  ];
}

function callRow(call: Call) {
  const { tool_name, tool_call_id, wait_status, result_status, attempt, created_at, received_at, result_card_id } =
    call;
  return {
    tool: tool_name,
    status: result_status ?? wait_status,
    attempt,
    took: received_at === null ? null : seconds(Math.max(0, Date.parse(received_at) - Date.parse(created_at))),
    card: result_card_id,
    call: tool_call_id,
  };
}

function section<T>(title: string, items: readonly T[], row: (item: T) => Record<string, unknown>) {
  return items.length === 0 ? [] : [`\n${title}\n`, { rows: items.map(row), indent: "  ", ids: ID_COLUMNS }];
}

/** One line of it. A server of an earlier release does not say. */
function briefly(input: string | null): string | null {
  return input === null ? null : cutText(visibleLine(input.replace(/\s+/g, " ").trim()), ASKED_WIDTH);
}

function indented(text: string): string {
  return text.replace(/^(?=.)/gm, "  ");
}
