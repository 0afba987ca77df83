// A transcript of ModelMessages as the prompt that an AI SDK client takes.
//
//   P1. Nothing is fetched: the SDK's own conversion downloads files by URL, and a transcript holds untrusted text.
//   P2. Results of one step stand in one message, as providers demand that answer all calls of a message at once.
//   P3. A tool result may be any JSON; the input of a past call is always an object, because providers refuse others.
//   P4. What cannot be sent is refused, not dropped: the model would answer something else than it was asked.

import type {
  LanguageModelV4Message,
  LanguageModelV4Prompt,
  LanguageModelV4TextPart,
  LanguageModelV4ToolResultOutput,
  LanguageModelV4ToolResultPart,
} from "@ai-sdk/provider";
import { isJsonObject } from "@tessera/protocol";
import type { AssistantModelMessage, ModelMessage, ToolModelMessage } from "ai";
import { AttemptFailed } from "./model-failure.ts";

type AssistantMessage = Extract<LanguageModelV4Message, { role: "assistant" }>;

export function toPrompt(system: string, messages: readonly ModelMessage[]): LanguageModelV4Prompt {
  const prompt: LanguageModelV4Message[] = system === "" ? [] : [{ role: "system", content: system }];
  for (const message of messages) {
    switch (message.role) {
      case "system":
        prompt.push({ role: "system", content: message.content });
        break;
      case "user":
        pushFilled(prompt, { role: "user", content: texts(message.content) });
        break;
      case "assistant":
        pushFilled(prompt, { role: "assistant", content: assistantParts(message.content) });
        break;
      case "tool": {
        const results = message.content.map(toolResult);
        const last = prompt.at(-1);
        if (last?.role === "tool")
          last.content.push(...results); // P2
        else pushFilled(prompt, { role: "tool", content: results });
      }
    }
  }
  return prompt;
}

/** Providers refuse messages without content. */
function pushFilled(
  prompt: LanguageModelV4Message[],
  message: Exclude<LanguageModelV4Message, { role: "system" }>,
): void {
  if (message.content.length > 0) prompt.push(message);
}

function texts(content: string | readonly { readonly type: string }[]): LanguageModelV4TextPart[] {
  if (typeof content === "string") return content === "" ? [] : [{ type: "text", text: content }];
  return content.flatMap((part) => {
    if (part.type !== "text") throw unsent(part.type); // P4
    const { text } = part as LanguageModelV4TextPart;
    return text === "" ? [] : [{ type: "text" as const, text }];
  });
}

function assistantParts(content: AssistantModelMessage["content"]): AssistantMessage["content"] {
  if (typeof content === "string") return texts(content);
  return content.flatMap((part): AssistantMessage["content"] => {
    switch (part.type) {
      case "text":
        return texts([part]);
      case "reasoning":
        return [{ type: "reasoning", text: part.text, ...optionsOf(part) }];
      case "tool-call": {
        const input = isJsonObject(part.input) ? part.input : { _raw: part.input }; // P3
        return [{ type: "tool-call", toolCallId: part.toolCallId, toolName: part.toolName, input, ...optionsOf(part) }];
      }
      default:
        throw unsent(part.type); // P4
    }
  });
}

function toolResult(part: ToolModelMessage["content"][number]): LanguageModelV4ToolResultPart {
  if (part.type !== "tool-result") throw unsent(part.type); // P4
  const { toolCallId, toolName } = part;
  return { type: "tool-result", toolCallId, toolName, output: resultOutput(part.output), ...optionsOf(part) };
}

type GivenOutput = Extract<ToolModelMessage["content"][number], { type: "tool-result" }>["output"];

function resultOutput(output: GivenOutput): LanguageModelV4ToolResultOutput {
  if (output.type !== "content") return output;
  return {
    type: "content",
    value: output.value.map((item) => {
      if (item.type !== "text") throw unsent(item.type); // P4
      return { type: "text", text: item.text };
    }),
  };
}

function optionsOf(part: { providerOptions?: LanguageModelV4TextPart["providerOptions"] }) {
  return part.providerOptions === undefined ? {} : { providerOptions: part.providerOptions };
}

function unsent(type: string): AttemptFailed {
  return new AttemptFailed({
    text: `was not asked: a message holds a part of type ${type}, which is not sent to models`,
    retryable: false,
  });
}
