// required-tools-guard: an answer counts only when one of the required tools has succeeded in the turn.
//
//   R1. The results of the whole turn decide, so it is all the same which process ran the tools, and how often the turn was parked.

import type { ExtensionApi } from "../api.ts";
import { names, text } from "./config.ts";

interface GuardConfig extends Readonly<Record<string, string[] | string>> {
  readonly requiredTools: string[];
  readonly errorMessage: string;
}

export const requiredToolsGuard = {
  name: "required-tools-guard",
  fields: { requiredTools: names(), errorMessage: text("") },
  register(api: ExtensionApi, { requiredTools, errorMessage }: GuardConfig): void {
    if (requiredTools.length === 0) return;
    const content =
      errorMessage || `Before this task may end, one of ${requiredTools.join(", ")} must have succeeded. Call it.`;
    const isRequired = (tool: string) => requiredTools.some((name) => tool === name || tool.startsWith(`${name}__`));
    api.pipeline.register("step", async (ctx) => {
      const result = await ctx.next();
      if (result.shouldContinue) return result;
      if (result.toolResults.some(({ status, toolName }) => status === "ok" && isRequired(toolName))) return result; // R1
      await ctx.emitMessageEvent({ type: "append", message: { data: { role: "user", content } } });
      return { ...result, shouldContinue: true };
    });
  },
};
