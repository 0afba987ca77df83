// The code of Tool/shelf. It runs in a process of its own.

import type { JsonObject, ToolContext } from "@tessera/tessera/tool";

export const handlers = {
  find: (_ctx: ToolContext, input: JsonObject) => ({ book: `"A short ${String(input.topic)}"` }),
};
