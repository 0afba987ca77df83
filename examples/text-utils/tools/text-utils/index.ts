import type { ToolHandler, ToolContext, JsonObject, JsonValue } from '@goondan/types';
// Note: ctx.runtime (AgentToolRuntime) is injected by the Runtime, not imported from @goondan/types.

export const handlers: Record<string, ToolHandler> = {
  uppercase: async (ctx: ToolContext, input: JsonObject): Promise<JsonValue> => {
    const text = String(input.text);
    ctx.logger.info(`Converting "${text}" to uppercase`);
    return { result: text.toUpperCase() };
  },
};
