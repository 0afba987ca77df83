// Checks of what an author gave `defineTool`. Each returns the value or throws with the field, what is expected and what
// was found.

import {
  ARGUMENTS_BYTES_MAX,
  BadRequest,
  gateJson,
  isJsonObject,
  type JsonValue,
  TesseraError,
  unknownField,
} from "@tessera/protocol";
import { isEnvName } from "./env-name.ts";

/** A field that there is not: `efect` would leave a tool that may be repeated one that may not. */
export function checkFields(
  name: string,
  within: string,
  value: unknown,
  fields: Readonly<Record<string, true>>,
): void {
  if (typeof value !== "object" || value === null) return;
  const other = Object.keys(value).find((key) => !Object.hasOwn(fields, key));
  if (other === undefined) return;
  const field = within === "" ? other : `${within}.${other}`;
  const where = within === "" ? `tool ${name}` : `${within} of tool ${name}`;
  throw new BadRequest(`${where}: ${unknownField(other, Object.keys(fields))}`, {
    details: { field, tool_name: name },
  });
}

export function checkNumber(name: string, field: string, value: unknown, min: number, max: number): number | undefined {
  if (value === undefined) return undefined;
  if (typeof value === "number" && Number.isInteger(value) && value >= min && value <= max) return value;
  throw wrong(name, field, `must be a whole number from ${min} to ${max}`, value);
}

export function checkChoice<T extends string>(
  name: string,
  field: string,
  choices: readonly T[],
  value: unknown,
): T | undefined {
  if (value === undefined) return undefined;
  const found = choices.find((choice) => choice === value);
  if (found === undefined) throw wrong(name, field, `must be one of ${choices.join(", ")}`, value);
  return found;
}

/** Each argument has one source at most: otherwise which one wins would depend on who reads the definition. */
export function checkArguments(
  name: string,
  sources: { readonly defaults?: unknown; readonly fixed?: unknown; readonly envs?: unknown },
): void {
  const owner = new Map<string, string>();
  for (const [source, values] of Object.entries(sources)) {
    if (values === undefined) continue;
    if (!isJsonObject(values)) throw wrong(name, source, "must be an object", values);
    for (const argument of Object.keys(values)) {
      const other = owner.get(argument);
      if (other !== undefined) {
        throw new BadRequest(`argument ${argument} of tool ${name} is in both ${other} and ${source}; keep it in one`, {
          code: "conflicting_arg",
          details: { tool_name: name, argument },
        });
      }
      owner.set(argument, source);
    }
  }
  checkVariables(name, sources.envs);
}

export function plainJson(name: string, field: string, value: unknown): JsonValue {
  try {
    return gateJson(value, { bytesMax: ARGUMENTS_BYTES_MAX });
  } catch (cause) {
    const code = TesseraError.is(cause) ? cause.code : "schema_invalid";
    throw new BadRequest(`${field} of tool ${name} must be plain JSON: ${(cause as Error).message}`, {
      code,
      cause,
      details: { field, tool_name: name },
    });
  }
}

function checkVariables(name: string, envs: unknown): void {
  for (const [argument, variable] of Object.entries(envs ?? {})) {
    if (typeof variable === "string" && isEnvName(variable)) continue;
    // The value may be a secret that was put here by mistake, so it is not repeated.
    throw new BadRequest(`envs.${argument} of tool ${name} must be the name of an environment variable`, {
      details: { field: `envs.${argument}`, tool_name: name },
    });
  }
}

function wrong(name: string, field: string, expected: string, found: unknown): BadRequest {
  const shown =
    typeof found === "object" ? (Array.isArray(found) ? "a list" : "an object") : String(found).slice(0, 100);
  return new BadRequest(`${field} of tool ${name} ${expected}, but is ${found === null ? "null" : shown}`, {
    details: { field, tool_name: name },
  });
}
