// The ModelPort of a process: the profile's ModelSpec says who answers.
//
//   C1. A provider's client is loaded when it is first asked, so that a process with scripted models loads none.
//   C2. A warning is given once per model and text: a setting that a provider does not take would else be reported every step.
//   C3. Whatever goes wrong is a TesseraError: `canceled` when the signal ended it, else as M2 of model-port.ts says.

import type { Clock } from "@tessera/kernel/ports";
import type { ModelPort } from "../model-port.ts";
import type { ModelSpec } from "../profile.ts";
import { askProvider } from "./ask-provider.ts";
import { askScripted } from "./scripted-model.ts";

export const SCRIPTED_PROVIDER = "scripted";

export interface ModelLimits {
  /** Without a byte for so long, an attempt is given up. Models that reason may be quiet for minutes. */
  readonly silenceMs: number;
  /** A stream that still goes on then is ended. */
  readonly totalMs: number;
  /** Text, reasoning and arguments of one answer. A card holds 1 MiB, and JSON escapes what it holds. */
  readonly answerBytesMax: number;
  /** What one attempt may send over the wire, framing included. */
  readonly wireBytesMax: number;
}

export const MODEL_LIMITS: ModelLimits = {
  silenceMs: 180_000,
  totalMs: 900_000,
  answerBytesMax: 768 * 1024,
  wireBytesMax: 64 * 1024 * 1024,
};

export interface CreateModelsOptions {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly clock: Clock;
  /** By default the process's own. */
  readonly fetch?: typeof globalThis.fetch;
  readonly onWarning: (warning: string) => void;
  readonly limits?: Partial<ModelLimits>;
}

/** Warnings remembered as given (C2). */
const WARNINGS_REMEMBERED_MAX = 1_000;

export function createModels(options: CreateModelsOptions): ModelPort {
  const limits = { ...MODEL_LIMITS, ...options.limits };
  const told = new Set<string>();

  function warnOnce(spec: ModelSpec, warning: string): void {
    const text = `model ${spec.model} of ${spec.provider}: ${warning}`;
    if (told.has(text)) return;
    if (told.size >= WARNINGS_REMEMBERED_MAX) told.clear();
    told.add(text);
    options.onWarning(text);
  }

  return {
    call(call, onChunk) {
      if (call.model.provider === SCRIPTED_PROVIDER) return askScripted(call, onChunk, options.clock);
      return askProvider(call, onChunk, {
        env: options.env,
        clock: options.clock,
        fetch: options.fetch ?? globalThis.fetch,
        limits,
        warnOnce: (warning) => warnOnce(call.model, warning),
        warn: (warning) => options.onWarning(`model ${call.model.model} of ${call.model.provider}: ${warning}`),
      });
    },
  };
}
