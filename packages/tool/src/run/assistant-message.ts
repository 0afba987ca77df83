// `ctx.message`: the assistant's message that holds the call, rebuilt from its `agent.thought` card.
//
//   M1. It always holds the current call (Tool API, rule 4 of ToolContext), even if the card names it wrongly.
//   M2. Only the current call has its input: arguments live in `tool.call` cards, and a handler is not shown those of
//       its neighbours.
//   M3. Nothing in it is shared with the card or with the handler's input: metadata is the handler's to write on.

import { isJsonObject } from "@tessera/protocol";
import type { JsonObject, Message } from "../api.ts";
import type { ToolInvocation } from "../invocation.ts";

type MessagePart =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "tool-call"; readonly toolCallId: string; readonly toolName: string; readonly input?: JsonObject };

export function assistantMessage(invocation: ToolInvocation): Message {
  const { message, step_id } = invocation;
  const text = isJsonObject(message.content) ? message.content.text : message.content;
  const content: MessagePart[] = typeof text === "string" && text !== "" ? [{ type: "text", text }] : [];
  return {
    id: message.card_id,
    data: { role: "assistant", content: [...content, ...callsOf(invocation)] },
    metadata: {},
    createdAt: createdAtOf(message),
    source: { type: "assistant", stepId: step_id },
  };
}

function callsOf(invocation: ToolInvocation): MessagePart[] {
  const { tool_calls } = invocation.message;
  // The kernel stores `[{id, name}]`, in the order in which the model made the calls.
  const calls = (Array.isArray(tool_calls) ? tool_calls : []).flatMap((call: unknown) =>
    isJsonObject(call) && typeof call.id === "string" && typeof call.name === "string"
      ? [{ id: call.id, name: call.name }]
      : [],
  );
  const current = { id: invocation.tool_call_id, name: invocation.tool_name };
  const all = calls.some((call) => call.id === current.id) ? calls : [...calls, current]; // M1
  return all.map(({ id, name }) => ({
    type: "tool-call",
    toolCallId: id,
    toolName: name,
    ...(id === current.id ? { input: structuredClone(invocation.arguments) } : {}), // M2, M3
  }));
}

/** The card's own time where the host passes it on. Otherwise the epoch rather than now: a repeated attempt must see the
 *  same message, and a wrong time that looks right would be worse than one that is plainly wrong. */
function createdAtOf(message: ToolInvocation["message"]): Date {
  const given = typeof message.created_at === "string" ? new Date(message.created_at) : new Date(0);
  return Number.isNaN(given.getTime()) ? new Date(0) : given;
}
