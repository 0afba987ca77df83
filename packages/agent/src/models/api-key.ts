// The key of a provider, read when the model is called.
//
//   K1. Messages name the variable, never a value.

import type { ModelSpec } from "../profile.ts";
import { AttemptFailed } from "./model-failure.ts";

/** The key, or undefined where none is named and none is needed. */
export function readApiKey(
  spec: ModelSpec,
  env: Readonly<Record<string, string | undefined>>,
  defaultVariable: string | undefined,
): string | undefined {
  if (spec.apiKey !== undefined && "value" in spec.apiKey) return needed(spec.apiKey.value, "`apiKey.value` is empty");
  const variable = spec.apiKey?.valueFrom.env ?? defaultVariable;
  if (variable === undefined) return undefined;
  return needed(env[variable], `has no key: set the environment variable ${variable}`); // K1
}

function needed(value: string | undefined, complaint: string): string {
  // Keys come from files and secrets that end in a line break, which no header may hold.
  const key = value?.trim() ?? "";
  if (key === "") throw new AttemptFailed({ text: complaint, retryable: false });
  return key;
}
