// `params` and `options` of a Model, as the AI SDK wants them.
//
//   S1. `params` that the SDK knows are checked and named its way; snake_case is read as well, as CommonGround writes it.
//   S2. Other params, and all `options` but our own, are handed to the provider as its options.
//   S3. A setting that cannot be used is reported and left out: a turn is not lost for a misspelt temperature.

import type { LanguageModelV4CallOptions } from "@ai-sdk/provider";
import { isJsonObject, type JsonObject, type JsonValue } from "@tessera/protocol";
import type { ModelSpec } from "../profile.ts";

export interface Pricing {
  readonly input_per_million: number;
  readonly output_per_million: number;
}

export interface CallSettings {
  readonly sdk: Partial<LanguageModelV4CallOptions>;
  readonly providerOptions: JsonObject;
  readonly pricing?: Pricing | undefined;
  readonly warnings: readonly string[];
}

type Check = (value: JsonValue) => boolean;

const isNumber: Check = (value) => typeof value === "number" && Number.isFinite(value);
const isCount: Check = (value) => Number.isSafeInteger(value) && Number(value) > 0;
const isTexts: Check = (value) => Array.isArray(value) && value.every((item) => typeof item === "string");
const EFFORTS = ["provider-default", "none", "minimal", "low", "medium", "high", "xhigh", "max"];

/** Name in `params` (camelCase) → name in the SDK, what it must be, and the check. */
const PARAMS: Readonly<Record<string, readonly [keyof LanguageModelV4CallOptions, string, Check]>> = {
  temperature: ["temperature", "a number", isNumber],
  maxTokens: ["maxOutputTokens", "a whole number above 0", isCount],
  maxOutputTokens: ["maxOutputTokens", "a whole number above 0", isCount],
  topP: ["topP", "a number", isNumber],
  topK: ["topK", "a number", isNumber],
  presencePenalty: ["presencePenalty", "a number", isNumber],
  frequencyPenalty: ["frequencyPenalty", "a number", isNumber],
  seed: ["seed", "a whole number", (value) => Number.isSafeInteger(value)],
  stop: ["stopSequences", "a list of strings", isTexts],
  stopSequences: ["stopSequences", "a list of strings", isTexts],
  reasoning: ["reasoning", `one of ${EFFORTS.join(", ")}`, (value) => EFFORTS.includes(String(value))],
};

/** Read by us, not handed on. */
const OWN_OPTIONS = new Set(["pricing", "api"]);

export function readCallSettings(spec: ModelSpec): CallSettings {
  const sdk: Record<string, unknown> = {};
  const providerOptions: JsonObject = {};
  const warnings: string[] = [];
  for (const [name, value] of Object.entries(spec.options ?? {})) {
    if (!OWN_OPTIONS.has(name)) providerOptions[name] = value; // S2
  }
  for (const [name, value] of Object.entries(spec.params ?? {})) {
    const known = camelCase(name);
    const param = Object.hasOwn(PARAMS, known) ? PARAMS[known] : undefined; // S1
    if (param === undefined)
      providerOptions[name] = value; // S2
    else if (param[2](value)) sdk[param[0]] = value;
    else warnings.push(`params.${name} must be ${param[1]}; it is left out`); // S3
  }
  const pricing = readPricing(spec.options?.pricing, warnings);
  return { sdk, providerOptions, warnings, pricing };
}

function readPricing(given: JsonValue | undefined, warnings: string[]): Pricing | undefined {
  if (given === undefined || given === null) return undefined;
  const isPrice = (value: unknown): value is number =>
    typeof value === "number" && value >= 0 && Number.isFinite(value);
  if (isJsonObject(given) && isPrice(given.input_per_million) && isPrice(given.output_per_million)) {
    return { input_per_million: given.input_per_million, output_per_million: given.output_per_million };
  }
  warnings.push(
    "options.pricing must have the numbers input_per_million and output_per_million; costs are not counted",
  );
  return undefined;
}

function camelCase(name: string): string {
  return name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
}
