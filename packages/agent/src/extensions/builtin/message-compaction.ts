// message-compaction: takes old messages away when the conversation is too long, and says how many.
//
//   C1. What is pinned (`metadata.pinned: true`) and the newest `retainLastMessages` stay, whatever the limits.
//   C2. `remove` takes the oldest until both limits hold; `truncate` takes all that C1 does not keep. The request of the turn is
//       never taken: a model that is asked nothing has nothing to answer.
//   C3. The note about it takes the place of the notes before it, so that there is one. It counts for no limit.

import type { Message } from "@tessera/tool";
import type { ExtensionApi } from "../api.ts";
import { choice, count, text, yesOrNo } from "./config.ts";

interface CompactionConfig extends Readonly<Record<string, number | boolean | string>> {
  readonly maxMessages: number;
  readonly maxCharacters: number;
  readonly retainLastMessages: number;
  readonly mode: "remove" | "truncate";
  readonly appendSummary: boolean;
  readonly summaryPrefix: string;
}

const SUMMARY = "compaction.summary";

export const messageCompaction = {
  name: "message-compaction",
  fields: {
    maxMessages: count(40, 1, 10_000),
    maxCharacters: count(12_000, 1, 100_000_000),
    retainLastMessages: count(8, 0, 10_000),
    mode: choice<"remove" | "truncate">("remove", "truncate"),
    appendSummary: yesOrNo(true),
    summaryPrefix: text("[message-compaction]"),
  },
  register(api: ExtensionApi, config: CompactionConfig): void {
    api.pipeline.register("turn", async (ctx) => {
      const surplus = surplusOf(ctx.conversationState.nextMessages, config);
      if (surplus.length === 0) return await ctx.next();
      const events = surplus.map(({ id }) => ctx.emitMessageEvent({ type: "remove", targetId: id }));
      if (config.appendSummary) {
        const before = surplus.map(({ metadata }) => Number(metadata["compaction.removed"] ?? 0));
        const fresh = surplus.filter(({ metadata }) => metadata[SUMMARY] !== true).length;
        const removed = before.reduce((sum, each) => sum + each, fresh); // C3
        const content = `${config.summaryPrefix} ${removed} earlier messages were taken out of this conversation.`;
        const metadata = { [SUMMARY]: true, "compaction.removed": removed };
        events.push(ctx.emitMessageEvent({ type: "append", message: { data: { role: "system", content }, metadata } }));
      }
      await Promise.all(events);
      return await ctx.next();
    });
  },
};

function surplusOf(all: readonly Message[], config: CompactionConfig): readonly Message[] {
  const notes = all.filter(({ metadata }) => metadata[SUMMARY] === true);
  const messages = all.filter(({ metadata }) => metadata[SUMMARY] !== true);
  let left = messages.length;
  let characters = messages.reduce((sum, message) => sum + lengthOf(message), 0);
  const isTooLong = () => left > config.maxMessages || characters > config.maxCharacters;
  if (!isTooLong()) return [];
  const request = messages.findLast(({ source }) => source.type === "user");
  const retained = new Set<Message | undefined>([
    request, // C2
    ...messages.filter(({ metadata }) => metadata.pinned === true),
    ...messages.slice(Math.max(0, messages.length - config.retainLastMessages)), // C1
  ]);
  const surplus = messages.filter((message) => {
    if (retained.has(message) || (config.mode === "remove" && !isTooLong())) return false;
    left -= 1;
    characters -= lengthOf(message);
    return true;
  });
  return surplus.length === 0 ? [] : [...notes, ...surplus]; // C3
}

function lengthOf({ data: { content } }: Message): number {
  return typeof content === "string" ? content.length : JSON.stringify(content).length;
}
