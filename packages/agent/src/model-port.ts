// What the loop asks of a model: one streamed answer to one transcript. Which provider answers is the profile's business.
//
//   M1. A model never runs a tool here: its calls come back as data, and the kernel owns them.
//   M2. A failure is a TesseraError `model_failed`, or that of a configuration with which no answer can come; `details.retryable` says whether asking again may help.

import type { JsonObject } from "@tessera/protocol";
import type { ModelMessage } from "ai";
import type { ModelSpec } from "./profile.ts";

export interface OfferedTool {
  readonly name: string;
  readonly description: string;
  /** JSON Schema as the model sees it. */
  readonly parameters: JsonObject;
}

export interface ModelCall {
  readonly model: ModelSpec;
  /** The Agent's name; scripted rules match on it. */
  readonly agentName: string;
  /** Counts from 0 within the turn. */
  readonly step: number;
  readonly system: string;
  readonly messages: readonly ModelMessage[];
  readonly tools: readonly OfferedTool[];
  readonly signal: AbortSignal;
  /** W3C trace context for the provider's request. */
  readonly headers?: Readonly<Record<string, string>>;
}

export type ModelToolCall = {
  readonly id?: string;
  readonly name: string;
  /** JSON text as the model wrote it, or the value its client read. Not checked here: planCalls does. */
  readonly arguments: unknown;
};

export type ModelUsage = {
  readonly input_tokens?: number;
  readonly output_tokens?: number;
  readonly total_tokens?: number;
};

export type ModelAnswer = {
  readonly text: string;
  readonly reasoning?: string;
  readonly tool_calls: readonly ModelToolCall[];
  readonly finish_reason: string;
  readonly usage?: ModelUsage | undefined;
  /** In US dollars, where the provider or the Model's options say what a token costs. */
  readonly response_cost?: number | undefined;
  readonly provider: string;
  readonly model: string;
};

export type ModelChunk =
  | { readonly type: "content"; readonly text: string }
  | { readonly type: "reasoning"; readonly text: string }
  | { readonly type: "tool_call"; readonly text: string };

export interface ModelPort {
  call(call: ModelCall, onChunk: (chunk: ModelChunk) => void): Promise<ModelAnswer>;
}
