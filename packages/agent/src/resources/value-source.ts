// ValueSource: where a secret is found (docs/protocol/documents.md#goondan). What comes out names an environment variable and
// nothing else.
//
//   V1. A literal is refused, and never repeated in a message: it would lie in a card for ever.
//   V2. A secretRef is read from the first of its variables that is set, else from the first of them.

import { isJsonObject, nearName } from "@tessera/protocol";
import type { ValueSource } from "../profile.ts";
import { given, type Mapping, type ResourceReading } from "./resource-reading.ts";

export type EnvSource = Extract<ValueSource, { readonly valueFrom: unknown }>;
/** Whether a variable is set where the models are called. Absent: unknown. */
export type IsEnvSet = (name: string) => boolean;

const ENV_NAME = /^[A-Za-z_][A-Za-z0-9_]{0,127}$/;
// Two parts and what stands around them still are a legal name of a variable.
const SECRET_REF = /^Secret\/([A-Za-z0-9_.-]{1,56})$/;
const SECRET_KEY = /^[A-Za-z0-9_.-]{1,56}$/;

export function readSecret(
  reading: ResourceReading,
  mapping: Mapping,
  key: string,
  isEnvSet?: IsEnvSet,
): EnvSource | undefined {
  const pointer = `${mapping.pointer}/${key}`;
  if (given(mapping.value, key) === undefined) return undefined;
  const source = secretMapping(reading, mapping, key, ["valueFrom"]);
  const from = source === undefined ? undefined : secretMapping(reading, source, "valueFrom", ["env", "secretRef"]);
  if (from === undefined) return undefined;
  const [env, secretRef] = [given(from.value, "env"), given(from.value, "secretRef")];
  if ((env === undefined) === (secretRef === undefined)) {
    reading.misfit(from.pointer, "valueFrom has either env or secretRef");
    return undefined;
  }
  const names = env === undefined ? secretNames(reading, from) : envNames(reading, from);
  const [first] = names;
  if (first === undefined) return undefined;
  const set = isEnvSet === undefined ? first : names.find(isEnvSet); // V2
  if (set === undefined) reading.warn(pointer, `the environment variable ${first} is not set`);
  return { valueFrom: { env: set ?? first } };
}

/** A mapping on the way to a secret. What stands there instead may be the secret, so it is not shown (V1). */
function secretMapping(
  reading: ResourceReading,
  parent: Mapping,
  key: string,
  known: readonly string[],
): Mapping | undefined {
  const value = given(parent.value, key);
  const pointer = `${parent.pointer}/${key}`;
  if (isJsonObject(value) && given(value, "value") === undefined) {
    const mapping = { value, pointer };
    return refuseOthers(reading, mapping, known) ? undefined : mapping;
  }
  reading.misfit(pointer, "a key is never written out; use apiKey: {valueFrom: {env: NAME_OF_A_VARIABLE}}");
  return undefined;
}

/** A field that resembles none may be the secret itself (V1): `apiKey: {sk-…}`. */
function refuseOthers(reading: ResourceReading, mapping: Mapping, known: readonly string[]): boolean {
  const others = Object.keys(mapping.value).filter((key) => !known.includes(key) && key !== "value");
  if (others.length === 0) return false;
  if (others.every((key) => nearName(key, known) !== undefined)) {
    reading.refuseOthers(mapping, new Set(["value", ...known]));
  } else {
    reading.misfit(mapping.pointer, `only ${known.join(" or ")} may stand here`);
  }
  return true;
}

function envNames(reading: ResourceReading, from: Mapping): readonly string[] {
  const env = given(from.value, "env");
  if (typeof env === "string" && ENV_NAME.test(env)) return [env];
  reading.misfit(`${from.pointer}/env`, "env must be the name of an environment variable: letters, digits and _");
  return [];
}

function secretNames(reading: ResourceReading, from: Mapping): readonly string[] {
  const secret = secretMapping(reading, from, "secretRef", ["ref", "key"]);
  if (secret === undefined) return [];
  const [ref, key] = [given(secret.value, "ref"), given(secret.value, "key")];
  const name = typeof ref === "string" ? SECRET_REF.exec(ref)?.[1] : undefined;
  if (name === undefined) {
    reading.mistake("E_CONFIG_INVALID_REF", `${secret.pointer}/ref`, 'ref of a secretRef is written "Secret/<name>"');
  }
  if (typeof key !== "string" || !SECRET_KEY.test(key)) {
    reading.misfit(`${secret.pointer}/key`, "key of a secretRef must be 1 to 56 letters, digits, _ . and -");
    return [];
  }
  return name === undefined ? [] : secretVariables(name, key);
}

/** `GOONDAN_SECRET_<NAME>_<KEY>`, with the key as it is, then the same behind `SECRET_`. */
function secretVariables(name: string, key: string): readonly string[] {
  const plain = (text: string): string => text.replaceAll(/[^A-Za-z0-9_]/g, "_");
  const upper = `${plain(name)}_${plain(key)}`.toUpperCase();
  const asWritten = `${plain(name)}_${plain(key)}`;
  const variables = ["GOONDAN_SECRET_", "SECRET_"].flatMap((prefix) => [prefix + upper, prefix + asWritten]);
  return [...new Set(variables)];
}
