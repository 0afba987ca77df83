// Turns as the API shows them, and what several commands read from them. Everything in them that people wrote (names,
// reasons, results) is text of others: it passes through visible-text.ts before a terminal sees it.

import type { Turn, TurnSummary, Wait } from "@tessera/client";

export function isEnded({ ended_at }: Pick<TurnSummary, "ended_at">): boolean {
  return ended_at !== null;
}

export function agentOf({ agent_name, agent_id }: { agent_name: string | null; agent_id: string }): string {
  return agent_name ?? agent_id;
}

/** What a turn waits for. Of one that is being worked on, the calls that its worker runs say more than that. */
export function waitsOf({ waiting_for, calls }: Pick<Turn, "waiting_for" | "calls">): readonly Wait[] {
  const running = calls.flatMap(({ tool_call_id, tool_name, deadline_at, wait_status, why }): Wait[] => {
    if (wait_status !== "waiting" || why === undefined) return [];
    return [{ code: "local_tool", says: why, tool_call_id, tool_name, deadline_at }];
  });
  const isWorking = waiting_for.length > 0 && waiting_for.every(({ code }) => code === "working");
  return isWorking && running.length > 0 ? running : waiting_for;
}

/** What a wait says without its deadline, which is shown in a place of its own. */
export function reasonOf({ says, deadline_at }: Wait): string {
  return deadline_at === undefined ? says : says.replace(`, until ${deadline_at} at the latest`, "");
}
