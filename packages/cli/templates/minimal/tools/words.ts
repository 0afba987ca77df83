// The code of Tool/words. Each export of the resource has a handler of the same name. It runs in a process of its own.

import { type JsonObject, type ToolContext, ToolError } from "@tessera/tessera/tool";

export const handlers = {
  count(ctx: ToolContext, input: JsonObject) {
    const text = String(input.text);
    if (text.trim() === "") throw new ToolError("the text is empty", { code: "bad_request" });
    const words = text.trim().split(/\s+/).length;
    ctx.logger.info(`words counted: ${words}`);
    return { words };
  },
};
