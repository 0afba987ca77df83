// `llm_config` of a CommonGround profile → ModelSpec (docs/protocol/documents.md#commonground).
//
//   L1. An uploaded profile must not send a key of this process to an address of its own choice: an address and the
//       variable of a key are taken only where the operator allows them, and a key itself never.
//   L2. What is not about which model answers is a param of the call. Settings of upstream's client mean nothing here.

import type { JsonObject } from "@tessera/protocol";
import type { ModelSpec } from "../profile.ts";
import { jsonAt, mappingAt, textAt } from "./fields.ts";
import { checkProvider, checkRules, PROVIDERS, readEndpoint, refuseKeys, SCRIPTED } from "./model-resource.ts";
import { given, type Mapping, type ResourceReading, segment } from "./resource-reading.ts";
import { readSecret } from "./value-source.ts";

export interface UploadLimits {
  /** Addresses that an upload may name (L1); by default none. */
  readonly isEndpointAllowed?: (endpoint: string) => boolean;
  /** Variables that an upload may name as a model's key; by default none. */
  readonly isKeyVariableAllowed?: (name: string) => boolean;
}

const MODEL_DEFAULT = "gpt-3.5-turbo";
/** Read below, or meant for a client that is not ours (L2). */
const SPEC_KEYS: ReadonlySet<string> = new Set([
  "provider",
  "model",
  "endpoint",
  "api_base",
  "base_url",
  "apiKey",
  "options",
]);
const PASSED_OVER: ReadonlySet<string> = new Set(["stream", "save_reasoning_content"]);
/** As model names of other gateways begin: `gemini/gemini-2.5-pro`. */
const PREFIXES: ReadonlyMap<string, string> = new Map([
  ["gemini", "google"],
  ["vertex_ai", "google"],
]);

export function readLlmConfig(reading: ResourceReading, profile: Mapping, limits: UploadLimits): ModelSpec {
  const config = mappingAt(reading, profile, "llm_config");
  if (config === undefined) return { provider: "openai", model: MODEL_DEFAULT };
  refuseKeys(reading, { ...config, value: withoutApiKey(config.value) });
  const written = textAt(reading, config, "model", { charsMax: 256 });
  const provider = textAt(reading, config, "provider", { charsMax: 64 });
  const named = nameModel(written, provider);
  const endpoint = readUploadEndpoint(reading, config, limits);
  checkProvider(reading, named.provider, endpointKey(config) !== undefined, `${config.pointer}/provider`);
  const apiKey = readSecret(reading, config, "apiKey");
  if (apiKey !== undefined && limits.isKeyVariableAllowed?.(apiKey.valueFrom.env) !== true) {
    const message = `the variable ${apiKey.valueFrom.env} may not be used by uploaded profiles`;
    reading.mistake("env_not_allowed", `${config.pointer}/apiKey`, message); // L1
  }
  const options = jsonAt(reading, config, "options");
  if (options !== undefined) refuseKeys(reading, { value: options, pointer: `${config.pointer}/options` });
  if (named.provider === SCRIPTED) checkRules(reading, options, `${config.pointer}/options`);
  const params = readParams(reading, config);
  return {
    ...named,
    // People print what a profile says: what it does not say is not there.
    ...(apiKey === undefined ? {} : { apiKey }),
    ...(endpoint === undefined ? {} : { endpoint }),
    ...(options === undefined ? {} : { options }),
    ...(params === null ? {} : { params }),
  };
}

/** `anthropic/claude-x`, `claude-x` or a provider beside the model. */
function nameModel(written: string | undefined, provider: string | undefined): Pick<ModelSpec, "provider" | "model"> {
  if (provider !== undefined) return { provider, model: written ?? (provider === SCRIPTED ? SCRIPTED : MODEL_DEFAULT) };
  const model = written ?? MODEL_DEFAULT;
  const slash = model.indexOf("/");
  const prefix = slash === -1 ? "" : model.slice(0, slash).toLowerCase();
  const known = PREFIXES.get(prefix) ?? PROVIDERS.find((name) => name === prefix);
  if (known !== undefined) return { provider: known, model: model.slice(slash + 1) };
  if (/^claude/i.test(model)) return { provider: "anthropic", model };
  return { provider: /^gemini/i.test(model) ? "google" : "openai", model };
}

function readUploadEndpoint(reading: ResourceReading, config: Mapping, limits: UploadLimits): string | undefined {
  const key = endpointKey(config);
  const endpoint = key === undefined ? undefined : readEndpoint(reading, config, key);
  if (endpoint === undefined || limits.isEndpointAllowed?.(endpoint) === true) return endpoint;
  const message =
    "uploaded profiles may not choose an address; the operator allows addresses, or define a Model in a bundle";
  reading.misfit(`${config.pointer}/${key}`, message); // L1
  return undefined;
}

function endpointKey({ value }: Mapping): string | undefined {
  return ["endpoint", "api_base", "base_url"].find((name) => given(value, name) !== undefined);
}

/** L2. */
function readParams(reading: ResourceReading, config: Mapping): JsonObject | null {
  const params: JsonObject = {};
  for (const [key, value] of Object.entries(config.value)) {
    if (SPEC_KEYS.has(key) || value === null) continue;
    if (PASSED_OVER.has(key))
      reading.warn(`${config.pointer}/${segment(key)}`, `${key} is not known here and does nothing`);
    else params[key] = value;
  }
  return Object.keys(params).length === 0 ? null : params;
}

/** `apiKey` has a reader of its own. */
function withoutApiKey({ apiKey: _, ...rest }: JsonObject): JsonObject {
  return rest;
}
