// The key of a provider, read when the model is called.
//
//   K1. Messages name the variable, never a value.

import type { ModelSpec } from "../profile.ts";
import { AttemptFailed } from "./model-failure.ts";

/** The variable of a provider's key, where a Model names none. */
const KEY_VARIABLES: Readonly<Record<string, string>> = {
  openai: "OPENAI_API_KEY",
  anthropic: "ANTHROPIC_API_KEY",
  google: "GOOGLE_GENERATIVE_AI_API_KEY",
};

export function keyVariableOf(provider: string): string | undefined {
  return Object.hasOwn(KEY_VARIABLES, provider) ? KEY_VARIABLES[provider] : undefined;
}

/** The key, or undefined where none is named and none is needed. */
export function readApiKey(spec: ModelSpec, env: Readonly<Record<string, string | undefined>>): string | undefined {
  if (spec.apiKey !== undefined && "value" in spec.apiKey) return needed(spec.apiKey.value, "`apiKey.value` is empty");
  const variable = spec.apiKey?.valueFrom.env ?? keyVariableOf(spec.provider);
  if (variable === undefined) return undefined;
  return needed(env[variable], `has no key: set the environment variable ${variable}`); // K1
}

function needed(value: string | undefined, complaint: string): string {
  // Keys come from files and secrets that end in a line break, which no header may hold.
  const key = value?.trim() ?? "";
  if (key === "") throw new AttemptFailed({ text: complaint, retryable: false });
  return key;
}
