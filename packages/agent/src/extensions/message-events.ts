// Messages that a step layer adds to the conversation before the model thinks.
//
//   E1. A message becomes a card of the turn's output, so it is durable and in every later transcript.
//   E2. Its id comes from turn, step, extension and order: a step that is taken again after a crash finds it there.
//   E3. Cards do not change (design promise 6), so of Goondan's events only `append` exists; and only before `next()`, when
//       every call has its result.

import { createHash } from "node:crypto";
import { errorOf, isJsonObject } from "@tessera/protocol";
import type { TurnSession } from "../loop/turn-session.ts";
import type { MessageAppended } from "./api.ts";

export function messageEmitter(session: TurnSession, step: number) {
  const counts = new Map<string, number>();
  let isOpen = true;
  return {
    close: () => {
      isOpen = false;
    },
    async emit(extension: string, event: MessageAppended): Promise<void> {
      if (!isOpen) throw errorOf("conflict", "messages are added before next(), not after it"); // E3
      const text = textOf(event);
      const count = counts.get(extension) ?? 0;
      counts.set(extension, count + 1);
      const { world, turn } = session;
      const card_id = cardIdOf(turn.agent_turn_id, step, extension, count);
      if (session.cards.some((card) => card.card_id === card_id)) return; // E2
      const { project_id, agent_id: author_id, agent_turn_id, trace_id } = turn;
      const metadata = { role: "user", extension };
      const card = { card_id, type: "task.instruction", content: { text }, metadata };
      const outcome = await world.kernel.appendCards({ ...turn, cards: [card] });
      if (outcome.outcome === "rejected") throw errorOf(outcome.code, "the message was not added");
      const created_at = (world.clock.databaseTime() ?? new Date()).toISOString();
      session.append([
        {
          ...card,
          project_id,
          author_id,
          metadata: { ...metadata, agent_turn_id, trace_id },
          tool_calls: null,
          tool_call_id: null,
          created_at,
        },
      ]);
    },
  };
}

function textOf(event: unknown): string {
  const { type, message } = isJsonObject(event) ? event : {};
  if (type !== "append") throw errorOf("not_implemented", `a message event ${JSON.stringify(type)} is not supported`); // E3
  const data = isJsonObject(message) ? message.data : null;
  const { role, content } = isJsonObject(data) ? data : {};
  if (role !== "user" || typeof content !== "string" || content.trim() === "") {
    throw errorOf("bad_request", "a message that is added is the user's, with text: {data: {role: user, content}}");
  }
  return content;
}

/** E2 */
function cardIdOf(...parts: readonly (string | number)[]): string {
  return `card_${createHash("sha256").update(JSON.stringify(parts)).digest("hex").slice(0, 32)}`;
}
