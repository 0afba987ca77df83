// kind: Model (docs/protocol/documents.md#goondan).
//
//   M1. No secret comes out of it: a key is named by its variable (value-source.ts), and options that look like a key are
//       refused.
//   M2. Who can answer is decided here as far as it can be: a provider that is not known needs an endpoint.
//   M3. Every rule of a scripted model is checked where it stands.

import type { JsonObject } from "@tessera/protocol";
import { keyVariableOf } from "../models/api-key.ts";
import { readScriptedRules } from "../models/scripted-rules.ts";
import type { ModelSpec } from "../profile.ts";
import { jsonAt, mappingAt, textAt } from "./fields.ts";
import { checkAt, given, type Mapping, type ResourceReading, segment, shown } from "./resource-reading.ts";
import { type Resource, readSpec } from "./resource-spec.ts";
import { type IsEnvSet, readSecret } from "./value-source.ts";

export interface ModelResource extends Resource {
  readonly spec: ModelSpec;
  readonly capabilities: Readonly<Record<string, boolean>>;
}

export const SCRIPTED = "scripted";
export const PROVIDERS: readonly string[] = ["openai", "anthropic", "google", SCRIPTED];

const SPEC_KEYS: ReadonlySet<string> = new Set(["provider", "model", "apiKey", "endpoint", "options", "capabilities"]);
const LOOKS_LIKE_KEY = /^(?:api[-_]?key|authorization|access[-_]?token|secret[-_]?key)$/i;

export function readModel(reading: ResourceReading, resource: Resource, isEnvSet?: IsEnvSet): ModelResource {
  const mapping = readSpec(reading, SPEC_KEYS);
  if (mapping === undefined) return { ...resource, spec: { provider: "", model: "" }, capabilities: {} };
  const provider = textAt(reading, mapping, "provider", { required: true, charsMax: 64 }) ?? "";
  const model = textAt(reading, mapping, "model", { required: provider !== SCRIPTED, charsMax: 256 }) ?? resource.name;
  const apiKey = readSecret(reading, mapping, "apiKey", isEnvSet);
  if (given(mapping.value, "apiKey") === undefined) warnOfKey(reading, provider, isEnvSet);
  const endpoint = readEndpoint(reading, mapping, "endpoint");
  const options = jsonAt(reading, mapping, "options");
  if (options !== undefined) refuseKeys(reading, { value: options, pointer: "/spec/options" });
  checkProvider(reading, provider, given(mapping.value, "endpoint") !== undefined, "/spec/provider");
  if (provider === SCRIPTED) checkRules(reading, options, "/spec/options");
  const spec: ModelSpec = {
    provider,
    model,
    // People print what a profile says: what it does not say is not there.
    ...(apiKey === undefined ? {} : { apiKey }),
    ...(endpoint === undefined ? {} : { endpoint }),
    ...(options === undefined ? {} : { options }),
  };
  return { ...resource, spec, capabilities: readCapabilities(reading, mapping) };
}

/** A key that is not named is read from the provider's own variable. */
function warnOfKey(reading: ResourceReading, provider: string, isEnvSet: IsEnvSet = () => true): void {
  const variable = keyVariableOf(provider);
  if (variable === undefined || isEnvSet(variable)) return;
  reading.warn("/spec/provider", `the environment variable ${variable} is not set`);
}

/** M2. */
export function checkProvider(reading: ResourceReading, provider: string, hasEndpoint: boolean, pointer: string): void {
  if (provider === "" || PROVIDERS.includes(provider) || hasEndpoint) return;
  const known = PROVIDERS.join(", ");
  const message = `provider must be one of ${known}, or come with the endpoint of an OpenAI-compatible server`;
  reading.misfit(pointer, `${message}; found ${shown(provider)}`);
}

export function readEndpoint(reading: ResourceReading, mapping: Mapping, key: string): string | undefined {
  const endpoint = textAt(reading, mapping, key, { charsMax: 2_000 });
  if (endpoint === undefined) return undefined;
  const url = URL.parse(endpoint);
  if (url !== null && /^https?:$/.test(url.protocol) && url.username === "" && url.password === "") return endpoint;
  // A user and a password may stand in it: it is not repeated (M1).
  reading.misfit(`${mapping.pointer}/${key}`, `${key} must be an http or https address without user and password`);
  return undefined;
}

/** M1. */
export function refuseKeys(reading: ResourceReading, options: Mapping): void {
  for (const key of Object.keys(options.value)) {
    if (!LOOKS_LIKE_KEY.test(key)) continue;
    const message = `${key} does not belong here; use apiKey: {valueFrom: {env: NAME_OF_A_VARIABLE}}`;
    reading.misfit(`${options.pointer}/${segment(key)}`, message, "key");
  }
}

/** M3. One rule at a time: the reader of rules stops at its first mistake. */
export function checkRules(reading: ResourceReading, options: JsonObject | undefined, pointer: string): void {
  const rules = options === undefined ? undefined : given(options, "rules");
  const isList = Array.isArray(rules);
  if (!isList || rules.length === 0 || rules.length > RULES_CHECKED_MAX) {
    checkAt(reading, pointer, () => void readScriptedRules(options));
    return;
  }
  for (const [index, rule] of rules.entries()) {
    const place = (at: string): string => at.replace(/^\/rules\/0/, `/rules/${index}`);
    checkAt(movedTo(reading, pointer, place), "", () => void readScriptedRules({ rules: [rule] }));
  }
}

const RULES_CHECKED_MAX = 1_000;

/** A reading whose pointers are those of a list with one rule. */
function movedTo(reading: ResourceReading, origin: string, place: (pointer: string) => string): ResourceReading {
  return { ...reading, mistake: (code, at, message) => reading.mistake(code, origin + place(at), message) };
}

function readCapabilities(reading: ResourceReading, mapping: Mapping): Readonly<Record<string, boolean>> {
  const capabilities = mappingAt(reading, mapping, "capabilities");
  const known: Record<string, boolean> = {};
  for (const [name, value] of Object.entries(capabilities?.value ?? {})) {
    if (typeof value === "boolean") known[name] = value;
    else reading.misfit(`/spec/capabilities/${segment(name)}`, `${name} must be true or false, found ${shown(value)}`);
  }
  return known;
}
