// Turns as the API shows them, and what several commands read from them. Everything in them that people wrote (names,
// reasons, results) is text of others: it passes the printing gate before a terminal sees it.

import type { Turn, TurnSummary, Wait } from "@tessera/client";

/** In the order in which a turn goes through them. */
export const OPEN_STATUSES = ["queued", "active", "dispatched", "running", "suspended"] as const;
export const END_STATUSES = ["success", "failed", "canceled", "timeout", "partial"] as const;

export function isEnded({ endedAt }: Pick<TurnSummary, "endedAt">): boolean {
  return endedAt !== null;
}

export function agentOf({ agentName, agentId }: { agentName: string | null; agentId: string }): string {
  return agentName ?? agentId;
}

/** What a turn waits for. Of one that is being worked on, the calls that its worker runs say more than that. */
export function waitsOf({ waitingFor, calls }: Pick<Turn, "waitingFor" | "calls">): readonly Wait[] {
  const running = calls.flatMap(({ toolCallId, toolName, deadlineAt, waitStatus, why }): Wait[] => {
    if (waitStatus !== "waiting" || why === undefined) return [];
    return [{ code: "local_tool", says: why, toolCallId, toolName, deadlineAt }];
  });
  const isWorking = waitingFor.length > 0 && waitingFor.every(({ code }) => code === "working");
  return isWorking && running.length > 0 ? running : waitingFor;
}

/** What a wait says to a person who watches: one word, where the whole sentence has ids that `turns show` has, too. */
export function briefOf(wait: WaitFacts): string {
  const { code, children_ended: ended, children_total: total } = wait;
  if (code === "working") return "thinking";
  if (code === "executor" || code === "local_tool") return "running";
  if (code === "children" && ended !== undefined && total !== undefined) return `${ended} of ${total} ended`;
  return wait.reason;
}

export interface WaitFacts {
  readonly code: Wait["code"];
  readonly reason: string;
  /** Of a call that asked for turns. */
  readonly children_ended?: number;
  readonly children_total?: number;
}

export function factsOf(wait: Wait, { children }: Pick<Turn, "children">): WaitFacts {
  const { code, toolCallId } = wait;
  const asked = code === "children" ? children.filter((child) => child.toolCallId === toolCallId) : [];
  const counts = { children_ended: asked.filter(({ status }) => !isOpen(status)).length, children_total: asked.length };
  return { code, reason: reasonOf(wait), ...(asked.length === 0 ? {} : counts) };
}

/** By its status; a document says it better with `endedAt`. */
export function isOpen(status: string): boolean {
  return OPEN_STATUSES.some((open) => open === status);
}

/** What a wait says without its deadline, which is shown in a place of its own. */
export function reasonOf({ says, deadlineAt }: Wait): string {
  return deadlineAt === undefined ? says : says.replace(`, until ${deadlineAt} at the latest`, "");
}
