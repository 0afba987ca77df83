// A provider's stream, read to its end: chunks on the way, the answer at the end.
//
//   R1. Arguments are handed on as the text that the model wrote, JSON or not: planCalls reads them.
//   R2. A `tool_call` chunk is one whole call, `name arguments`: fragments of parallel calls come interleaved, and a
//       reader of chunks could not sort them.
//   R3. Only a stream that says why it ends has ended. Everything else broke off.

import type { LanguageModelV4FinishReason, LanguageModelV4StreamPart, LanguageModelV4Usage } from "@ai-sdk/provider";
import type { ModelChunk, ModelToolCall, ModelUsage } from "../model-port.ts";
import type { Pricing } from "./call-settings.ts";
import { AttemptFailed } from "./model-failure.ts";
import { orAborted } from "./pause.ts";

export interface ReadAnswer {
  readonly text: string;
  readonly reasoning: string;
  readonly toolCalls: readonly ModelToolCall[];
  readonly finishReason: LanguageModelV4FinishReason["unified"];
  readonly usage: LanguageModelV4Usage;
}

export interface ReadAnswerOptions {
  readonly signal: AbortSignal;
  readonly answerBytesMax: number;
  readonly onChunk: (chunk: ModelChunk) => void;
  readonly onWarning: (warning: string) => void;
}

export async function readAnswer(
  stream: ReadableStream<LanguageModelV4StreamPart>,
  options: ReadAnswerOptions,
): Promise<ReadAnswer> {
  const { signal, onChunk } = options;
  const reader = stream.getReader();
  const text: string[] = [];
  const reasoning: string[] = [];
  const toolCalls: ModelToolCall[] = [];
  let bytes = 0;

  function keep(piece: string): void {
    bytes += Buffer.byteLength(piece);
    if (bytes > options.answerBytesMax) {
      throw new AttemptFailed({ text: `answered with more than ${options.answerBytesMax} bytes`, retryable: false });
    }
  }

  try {
    for (;;) {
      const { done, value: part } = await orAborted(reader.read(), signal);
      // The stop may have come between the part and now.
      signal.throwIfAborted();
      if (done) throw brokeOff(); // R3
      switch (part.type) {
        case "stream-start":
          for (const warning of part.warnings) options.onWarning(describeWarning(warning));
          break;
        case "text-delta":
          keep(part.delta);
          text.push(part.delta);
          if (part.delta !== "") onChunk({ type: "content", text: part.delta });
          break;
        case "reasoning-delta":
          keep(part.delta);
          reasoning.push(part.delta);
          if (part.delta !== "") onChunk({ type: "reasoning", text: part.delta });
          break;
        case "tool-input-delta":
          keep(part.delta); // counted while it comes; used when the call is whole (R2)
          break;
        case "tool-call":
          if (part.providerExecuted === true) break;
          keep(part.toolName);
          toolCalls.push({ id: part.toolCallId, name: part.toolName, arguments: part.input }); // R1
          onChunk({ type: "tool_call", text: `${part.toolName} ${part.input}` });
          break;
        case "error":
          throw part.error;
        case "finish": {
          const { unified } = part.finishReason;
          if (unified === "error" || unified === "interrupted") throw brokeOff(); // R3
          return {
            text: text.join(""),
            reasoning: reasoning.join(""),
            toolCalls,
            finishReason: unified,
            usage: part.usage,
          };
        }
      }
    }
  } finally {
    // The rest is not read, and a fetch that was given may not listen to the signal.
    reader.cancel().catch(() => undefined);
  }
}

export function usageOf(usage: LanguageModelV4Usage): ModelUsage | undefined {
  const input = usage.inputTokens.total;
  const output = usage.outputTokens.total;
  if (input === undefined && output === undefined) return undefined;
  return {
    ...(input === undefined ? {} : { input_tokens: input }),
    ...(output === undefined ? {} : { output_tokens: output }),
    ...(input === undefined || output === undefined ? {} : { total_tokens: input + output }),
  };
}

/** By the Model's own prices, else what the provider says it charged, as some gateways do. */
export function costOf(usage: ModelUsage | undefined, pricing: Pricing | undefined, raw: unknown): number | undefined {
  if (pricing !== undefined && usage !== undefined) {
    const input = (usage.input_tokens ?? 0) * pricing.input_per_million;
    const output = (usage.output_tokens ?? 0) * pricing.output_per_million;
    return (input + output) / 1_000_000;
  }
  const charged = (raw as { cost?: unknown } | undefined)?.cost;
  return typeof charged === "number" && Number.isFinite(charged) && charged >= 0 ? charged : undefined;
}

type StreamStart = Extract<LanguageModelV4StreamPart, { type: "stream-start" }>;

function describeWarning(warning: StreamStart["warnings"][number]): string {
  switch (warning.type) {
    case "unsupported":
    case "compatibility":
      return `${warning.feature} is not supported as given${warning.details === undefined ? "" : `: ${warning.details}`}`;
    case "deprecated":
      return `${warning.setting} is deprecated: ${warning.message}`;
    default:
      return warning.message;
  }
}

function brokeOff(): AttemptFailed {
  return new AttemptFailed({ text: "broke off in the middle of its answer", retryable: true });
}
