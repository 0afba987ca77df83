// message-window: the newest messages of the conversation, and no others.
//
//   W1. It cuts where a stretch of a turn begins, so that all steps of it are sent the same beginning.
//   W2. What belongs to a message that goes (the results of its calls) goes with it: the transcript pairs them.

import type { ExtensionApi } from "../api.ts";
import { count } from "./config.ts";

export const messageWindow = {
  name: "message-window",
  fields: { maxMessages: count(80, 1, 10_000) },
  register(api: ExtensionApi, { maxMessages }: { readonly maxMessages: number }): void {
    api.pipeline.register("turn", async (ctx) => {
      const messages = ctx.conversationState.nextMessages;
      const surplus = messages.slice(0, Math.max(0, messages.length - maxMessages));
      await Promise.all(surplus.map(({ id }) => ctx.emitMessageEvent({ type: "remove", targetId: id })));
      return await ctx.next(); // W1
    });
  },
};
