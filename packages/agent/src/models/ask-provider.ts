// One question to a provider, asked up to three times.
//
//   A1. The clients' own retries are not used: waiting happens on the Clock, and a stop ends it.
//   A2. Tools are declared and never executed (M1 of model-port.ts).
//   A3. An attempt that fails after it streamed is asked again like any other. Its chunks were progress; the answer is
//       what counts. A warning goes to the operator.
//   A4. What is thrown is `canceled`, or `model_failed` with {provider, model, status?, retryable, attempts}.
//   A5. The client is foreign code (tool's foreign-code.ts): what it leaves behind is reported, without keys and prompts.

import type { LanguageModelV4CallOptions, LanguageModelV4FunctionTool } from "@ai-sdk/provider";
import type { Clock } from "@tessera/kernel/ports";
import { errorOf, type TesseraError } from "@tessera/protocol";
import { type ForeignCode, runForeign } from "@tessera/tool/run";
import type { ModelAnswer, ModelCall, ModelChunk } from "../model-port.ts";
import { readApiKey } from "./api-key.ts";
import { watchAttempt } from "./attempt-watch.ts";
import { type CallSettings, readCallSettings } from "./call-settings.ts";
import type { ModelLimits } from "./create-models.ts";
import { type ModelFailure, readFailure } from "./model-failure.ts";
import { openProvider } from "./open-provider.ts";
import { canceled, orAborted, pause } from "./pause.ts";
import { toPrompt } from "./prompt.ts";
import { costOf, type ReadAnswer, readAnswer, usageOf } from "./read-answer.ts";

export interface AskProviderOptions {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly clock: Clock;
  readonly fetch: typeof globalThis.fetch;
  readonly limits: ModelLimits;
  readonly warn: (warning: string) => void;
  readonly warnOnce: (warning: string) => void;
}

const ATTEMPTS_MAX = 3;
const BACKOFF_MS = { min: 2_000, max: 10_000 };
/** A server that says when to come back is believed within these bounds. */
const RETRY_AFTER_MS = { min: 1_000, max: 60_000 };

export async function askProvider(
  call: ModelCall,
  onChunk: (chunk: ModelChunk) => void,
  options: AskProviderOptions,
): Promise<ModelAnswer> {
  const settings = readCallSettings(call.model);
  for (const warning of settings.warnings) options.warnOnce(warning);
  for (let attempt = 1; ; attempt++) {
    if (call.signal.aborted) throw canceled();
    const outcome = await attemptOnce(call, settings, onChunk, options);
    if (outcome.kind === "answered") return answerOf(call, settings, outcome.answer);
    if (call.signal.aborted) throw canceled(); // A4
    const { failure, streamed } = outcome;
    if (failure.said !== undefined) options.warn(`it said: ${failure.said}`);
    if (!failure.retryable || attempt >= ATTEMPTS_MAX) throw modelFailed(call, failure, attempt);
    const waitMs = backoffMs(attempt, failure.retryAfterMs);
    const again = streamed ? "; what it had streamed comes again" : ""; // A3
    options.warn(`it ${failure.text}; attempt ${attempt + 1} of ${ATTEMPTS_MAX} in ${waitMs} ms${again}`);
    await pause(options.clock, waitMs, call.signal);
  }
}

type Outcome =
  | { readonly kind: "answered"; readonly answer: ReadAnswer }
  | { readonly kind: "failed"; readonly failure: ModelFailure; readonly streamed: boolean };

async function attemptOnce(
  call: ModelCall,
  settings: CallSettings,
  onChunk: (chunk: ModelChunk) => void,
  options: AskProviderOptions,
): Promise<Outcome> {
  const watch = watchAttempt({ ...options, signal: call.signal });
  let key: string | undefined;
  let phase: "request" | "stream" = "request";
  let streamed = false;
  let consumerFault: { readonly error: unknown } | null = null;
  const onWarning = (warning: string) =>
    options.warnOnce(key === undefined ? warning : warning.replaceAll(key, "[key]"));
  const client: ForeignCode = {
    name: `the client of model ${call.model.model}`,
    onStray: (error) =>
      options.warn(`its client left an unhandled failure behind: it ${readFailure(error, phase, key).text}`), // A5
  };
  try {
    key = readApiKey(call.model, options.env);
    const { model, optionsName } = await runForeign(client, () => openProvider(call.model, key, watch.fetch));
    const request = requestOf(call, settings, optionsName, watch.signal);
    const { stream } = await orAborted(
      runForeign(client, () => model.doStream(request)),
      watch.signal,
    );
    phase = "stream";
    const answer = await readAnswer(stream, {
      signal: watch.signal,
      answerBytesMax: options.limits.answerBytesMax,
      onWarning,
      onChunk(chunk) {
        streamed = true;
        try {
          onChunk(chunk);
        } catch (error) {
          consumerFault = { error };
          throw error;
        }
      },
    });
    return { kind: "answered", answer };
  } catch (error) {
    // The listener of chunks failed, not the model: its error is its own.
    if (consumerFault !== null) throw (consumerFault as { readonly error: unknown }).error;
    // What ended the attempt is known from the signal; the client may have thrown something of its own about it.
    const cause = watch.signal.aborted ? watch.signal.reason : error;
    return { kind: "failed", failure: readFailure(cause, phase, key), streamed };
  } finally {
    watch.close();
  }
}

function requestOf(
  call: ModelCall,
  settings: CallSettings,
  optionsName: string,
  abortSignal: AbortSignal,
): LanguageModelV4CallOptions {
  const tools = call.tools.map(
    (tool): LanguageModelV4FunctionTool => ({
      type: "function",
      name: tool.name,
      description: tool.description,
      inputSchema: tool.parameters as LanguageModelV4FunctionTool["inputSchema"],
    }),
  );
  return {
    ...settings.sdk,
    prompt: toPrompt(call.system, call.messages),
    abortSignal,
    ...(tools.length === 0 ? {} : { tools, toolChoice: { type: "auto" } }), // A2
    ...(call.headers === undefined ? {} : { headers: { ...call.headers } }),
    ...(Object.keys(settings.providerOptions).length === 0
      ? {}
      : { providerOptions: { [optionsName]: settings.providerOptions } }),
  };
}

function answerOf(call: ModelCall, settings: CallSettings, answer: ReadAnswer): ModelAnswer {
  const usage = usageOf(answer.usage);
  const cost = costOf(usage, settings.pricing, answer.usage.raw);
  return {
    text: answer.text,
    ...(answer.reasoning === "" ? {} : { reasoning: answer.reasoning }),
    tool_calls: answer.toolCalls,
    finish_reason: answer.finishReason,
    usage,
    response_cost: cost,
    provider: call.model.provider,
    model: call.model.model,
  };
}

/** 2 s, 4 s, … 10 s, unless the server says when to come back. */
function backoffMs(attempt: number, retryAfterMs: number | undefined): number {
  if (retryAfterMs !== undefined) return Math.min(Math.max(retryAfterMs, RETRY_AFTER_MS.min), RETRY_AFTER_MS.max);
  return Math.min(BACKOFF_MS.min * 2 ** (attempt - 1), BACKOFF_MS.max);
}

function modelFailed(call: ModelCall, failure: ModelFailure, attempts: number): TesseraError {
  const { provider, model } = call.model;
  const tries = attempts === 1 ? "" : ` (${attempts} attempts)`;
  return errorOf("model_failed", `model ${model} of ${provider} ${failure.text}${tries}`, {
    details: {
      provider,
      model,
      retryable: failure.retryable,
      attempts,
      status: failure.status,
    },
  });
}
