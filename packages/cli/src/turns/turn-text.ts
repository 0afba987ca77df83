// Turns as people read them: a list, and one with all that is known about it.

import type { Call, Turn, TurnFailure, TurnSummary } from "@tessera/client";
import { visibleLine } from "@tessera/protocol";
import type { Text } from "../output/printing-gate.ts";
import { shortTime } from "../output/short-time.ts";
import { cutText } from "../output/text-width.ts";
import { seconds } from "../progress/progress-text.ts";
import { answerOf, deliverableText } from "./turn-answer.ts";
import { agentOf, isEnded, reasonOf, waitsOf } from "./turn-document.ts";

/** The list of the API has no names. */
export type ListedTurn = TurnSummary & { readonly agentName: string | null };

const LABEL_WIDTH = 12;
/** Of a column: enough to tell one turn from another. */
const ASKED_WIDTH = 32;
const ID_COLUMNS = ["turn", "card", "call"];

/** Ids last: where the terminal is too narrow for them, their ends will do for `turns show`. */
export function turnsTable(turns: readonly ListedTurn[]): Text {
  const rows = turns.map((turn) => ({
    agent: agentOf(turn),
    status: turn.status,
    created: shortTime(turn.createdAt),
    took: turn.endedAt === null ? null : seconds(Date.parse(turn.endedAt) - Date.parse(turn.createdAt)),
    error: turn.errorCode ?? null,
    asked: briefly(turn.input ?? null),
    turn: turn.agentTurnId,
  }));
  return [{ rows, ids: ["turn"] }];
}

export function turnText(turn: Turn): Text {
  const { errorCode, errorMessage, parentAgentTurnId, instanceKey } = turn;
  const facts: [string, string | null | undefined][] = [
    ["turn", turn.agentTurnId],
    ["agent", agentOf(turn)],
    ["instance", instanceKey],
    ["status", turn.status],
    ["started by", parentAgentTurnId],
    ["created", turn.createdAt],
    ["ended", turn.endedAt],
    ["error", typeof errorCode === "string" ? `${errorCode}: ${errorMessage ?? "no reason was given"}` : null],
    ["card", turn.deliverableCardId],
    ["trace", turn.traceId],
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
      const reason = reasonOf(wait) + (wait.boundedBy === undefined ? "" : `; bounded by ${wait.boundedBy}`);
      return { tool: wait.toolName ?? null, until: wait.deadlineAt ?? null, reason };
    }),
    ...section("calls", turn.calls, callRow),
    ...section("turns it started", turn.children, (child) => {
      return { agent: agentOf(child), status: child.status, turn: child.agentTurnId };
    }),
    ...section("what happened", turn.timeline, ({ at, kind, name, status, agentTurnId }) => {
      const child = turn.children.find((each) => each.agentTurnId === agentTurnId);
      const after = seconds(Math.max(0, Date.parse(at) - Date.parse(turn.createdAt)));
      return { after, what: kind, name: child === undefined ? name : agentOf(child), status };
    }),
    isEnded(turn) ? `\ndeliverable\n${indented(deliverableText(answerOf(turn).deliverable))}` : "",
  ];
}

/** Below the turn: a stack is as it was written, whatever the terminal's width, so that its places can be followed. */
export function failuresText(failures: readonly TurnFailure[]): string {
  if (failures.length === 0) return "\nstacks\n  none: nothing that failed here left one\n";
  const shown = failures.map(({ toolName, toolCallId, attempt, stack }) => {
    const of = toolCallId === null ? "the turn" : `${toolName ?? "call"}, attempt ${attempt}, ${toolCallId}`;
    return `\n  ${of}\n${indented(indented(stack))}\n`;
  });
  return `\nstacks${shown.join("")}`;
}

function callRow(call: Call) {
  const { toolName, toolCallId, waitStatus, resultStatus, attempt, createdAt, receivedAt, resultCardId } = call;
  return {
    tool: toolName,
    status: resultStatus ?? waitStatus,
    attempt,
    took: receivedAt === null ? null : seconds(Math.max(0, Date.parse(receivedAt) - Date.parse(createdAt))),
    card: resultCardId,
    call: toolCallId,
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
