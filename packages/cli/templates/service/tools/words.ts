// What this service can do: a handler for each export of Tool/words.

import type { JsonObject, ToolContext } from "@tessera/tessera/tool";

/** What executor.ts can give a handler. */
export type ServiceContext = Pick<ToolContext, "logger" | "attempt" | "idempotencyKey">;

export const handlers = {
  count(ctx: ServiceContext, input: JsonObject) {
    const words = String(input.text).split(/\s+/).filter(Boolean);
    const longest = words.reduce((longer, word) => (word.length > longer.length ? word : longer), "");
    ctx.logger.info(`words counted: ${words.length}`);
    return { words: words.length, longest };
  },
};
