// Reading the settings of a definition. They were uploaded and are untrusted: every value is checked where it is used, and a
// wrong one is a `bad_request` that names its field.

import { BadRequest, isJsonObject, type JsonObject } from "@tessera/protocol";
import { isEnvName } from "@tessera/tool/catalog";

const TIMEOUT_MS_DEFAULT = 30_000;
const TIMEOUT_S_MAX = 3_600;
/** A definition is stored and shown: what is a secret by its name comes from the environment or not at all. */
const SECRET_HEADERS: ReadonlySet<string> = new Set(["authorization", "proxy-authorization", "cookie"]);

export function objectSetting(value: unknown, field: string): JsonObject {
  if (value === undefined || value === null) return {};
  if (!isJsonObject(value)) throw wrong(field, "an object");
  return value;
}

export function textSetting(value: unknown, field: string): string | undefined {
  if (value === undefined || value === null || value === "") return undefined;
  if (typeof value !== "string") throw wrong(field, "a string");
  return value;
}

export function textListSetting(value: unknown, field: string): string[] | undefined {
  if (value === undefined || value === null) return undefined;
  if (!Array.isArray(value) || !value.every((item) => typeof item === "string"))
    throw wrong(field, "a list of strings");
  return value;
}

/** The name of an environment variable. */
export function variableSetting(value: unknown, field: string): string | undefined {
  const name = textSetting(value, field);
  if (name !== undefined && !isEnvName(name)) throw wrong(field, "the name of an environment variable");
  return name;
}

/** Headers that a definition sends with every request, names in lower case. */
export function headersSetting(value: unknown, field: string): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const [name, text] of Object.entries(objectSetting(value, field))) {
    if (typeof text !== "string") throw wrong(`${field}.${name}`, "a string");
    if (SECRET_HEADERS.has(name.toLowerCase())) {
      throw new BadRequest(`${field} must not set ${name}: credentials come from environment variables only`, {
        details: { field },
      });
    }
    headers[name.toLowerCase()] = text;
  }
  return headers;
}

/** The first positive number of seconds, else thirty. */
export function timeoutSetting(...candidates: readonly unknown[]): number {
  const seconds = candidates.find((value) => typeof value === "number" && value > 0) as number | undefined;
  return seconds === undefined ? TIMEOUT_MS_DEFAULT : Math.ceil(Math.min(seconds, TIMEOUT_S_MAX) * 1_000);
}

export function wrong(field: string, expected: string): BadRequest {
  return new BadRequest(`${field} of the definition must be ${expected}`, { details: { field } });
}
