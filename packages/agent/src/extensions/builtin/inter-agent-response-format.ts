// inter-agent-response-format: an answer of another agent that was not waited for, as text that says whose it is.

import { isJsonObject, type JsonObject, type JsonValue } from "@tessera/protocol";
import type { ExtensionApi } from "../api.ts";
import { INTER_AGENT_RESPONSE } from "../message-view.ts";
import { yesOrNo } from "./config.ts";

const FORMATTED = "inter-agent-response-format.done";

export const interAgentResponseFormat = {
  name: "inter-agent-response-format",
  fields: { includeRequestMetadata: yesOrNo(false) },
  register(api: ExtensionApi, { includeRequestMetadata }: { readonly includeRequestMetadata: boolean }): void {
    api.pipeline.register("step", async (ctx) => {
      for (const { id, data, metadata } of ctx.conversationState.nextMessages) {
        const answer = metadata[INTER_AGENT_RESPONSE];
        if (!isJsonObject(answer) || metadata[FORMATTED] === true) continue;
        const content = textOf(answer, data.content, includeRequestMetadata);
        const message = { id, data: { role: "user" as const, content }, metadata: { ...metadata, [FORMATTED]: true } };
        await ctx.emitMessageEvent({ type: "replace", targetId: id, message });
      }
      return await ctx.next();
    });
  },
};

function textOf(answer: JsonObject, content: unknown, includeRequestMetadata: boolean): string {
  const { fromAgentId, toAgentId, status, requestId, errorCode, errorMessage, requestMetadata } = answer;
  const said = isJsonObject(content) ? content.response : content;
  return [
    `[response of ${String(fromAgentId)} to ${String(toAgentId)}: ${String(status)}, request ${String(requestId)}]`,
    status === "ok"
      ? shown(said as JsonValue)
      : `${String(errorCode ?? status)}: ${String(errorMessage ?? "no reason was given")}`,
    ...(includeRequestMetadata && requestMetadata !== undefined ? [`request metadata: ${shown(requestMetadata)}`] : []),
  ].join("\n");
}

function shown(value: JsonValue | undefined): string {
  return typeof value === "string" ? value : JSON.stringify(value ?? null);
}
