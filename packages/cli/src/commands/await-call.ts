// Waits for the turn of one tool call, and says what it waits for meanwhile.
//
//   W1. Waiting is only looking: giving up changes nothing, the turn goes on, and asking again with its id finds it.
//   W2. The reason is said once it has taken a moment, and again only when it changes.

import type { Client, Turn } from "@tessera/client";
import { isJsonObject } from "@tessera/protocol";
import type { Clock } from "../connect/connection.ts";
import type { ToolCallAnswer } from "../output/tool-call-answer.ts";
import { createWakeSignal } from "../progress/wake-signal.ts";
import { isEnded, reasonOf } from "../turns/turn-document.ts";
import { mostTelling } from "../turns/turn-why.ts";

interface AwaitedCall {
  readonly tool: string | null;
  readonly answer: ToolCallAnswer;
  /** What it waits for; null once it has ended. */
  readonly reason: string | null;
}

const LOOK_FIRST_MS = 10;
const LOOK_MAX_MS = 250;

export async function awaitCall(
  { client, clock }: { readonly client: Pick<Client, "getTurn">; readonly clock: Clock },
  wait: {
    readonly project: string;
    readonly turn: string;
    readonly waitMs: number;
    /** When the reason is worth a line (W2). */
    readonly tellAfterMs: number;
    readonly tell: (reason: string) => void;
    readonly signal: AbortSignal;
  },
): Promise<AwaitedCall> {
  const { project, turn, signal } = wait;
  const startMs = clock.monotonicMs();
  const looks = createWakeSignal(clock);
  let told = "";
  for (let pauseMs = LOOK_FIRST_MS; ; pauseMs = Math.min(pauseMs * 2, LOOK_MAX_MS)) {
    const document = await client.getTurn({ project, turn });
    const tool = document.calls[0]?.toolName ?? null;
    if (isEnded(document)) return { tool, answer: answerOf(document), reason: null };
    const reason = whyOf(document);
    const waitedMs = clock.monotonicMs() - startMs;
    if (waitedMs >= wait.waitMs || signal.aborted) {
      return { tool, answer: { agent_turn_id: turn, status: "waiting" }, reason }; // W1
    }
    if (waitedMs >= wait.tellAfterMs && reason !== told) {
      told = reason;
      wait.tell(reason); // W2
    }
    await looks.pause(pauseMs, signal);
  }
}

function whyOf(document: Turn): string {
  const wait = mostTelling(document);
  return wait === null ? (document.why ?? `it is ${document.status}`) : reasonOf(wait);
}

function answerOf({ agentTurnId, status, deliverable, errorCode, errorMessage }: Turn): ToolCallAnswer {
  const data = isJsonObject(deliverable) ? deliverable.data : null;
  const said = isJsonObject(data) ? data : {};
  const own = typeof errorCode === "string" ? { code: errorCode, message: errorMessage ?? errorCode } : null;
  const error = (said.error ?? (status === "success" ? null : own)) as ToolCallAnswer["error"];
  return { agent_turn_id: agentTurnId, status: status as ToolCallAnswer["status"], result: said.result, error };
}
