// The configuration of a built-in extension: each field checked, the others at their defaults. `tessera validate` and `register`
// read it alike.

import { errorOf, isJsonObject, type JsonValue, unknownField } from "@tessera/protocol";

export interface Field<T extends JsonValue> {
  readonly byDefault: T;
  readonly expected: string;
  readonly isValid: (value: unknown) => boolean;
}

export type Fields<T extends Readonly<Record<string, JsonValue>>> = { readonly [K in keyof T]: Field<T[K]> };

export const yesOrNo = (byDefault: boolean): Field<boolean> => ({
  byDefault,
  expected: "true or false",
  isValid: (value) => typeof value === "boolean",
});

export const count = (byDefault: number, min: number, max: number): Field<number> => ({
  byDefault,
  expected: `a whole number from ${min} to ${max}`,
  isValid: (value) => Number.isInteger(value) && Number(value) >= min && Number(value) <= max,
});

export const text = (byDefault: string): Field<string> => ({
  byDefault,
  expected: "text",
  isValid: (value) => typeof value === "string",
});

export const choice = <T extends string>(byDefault: T, ...others: readonly T[]): Field<T> => ({
  byDefault,
  expected: `one of ${[byDefault, ...others].join(", ")}`,
  isValid: (value) => [byDefault, ...others].some((each) => each === value),
});

export const names = (): Field<string[]> => ({
  byDefault: [],
  expected: "a list of names",
  isValid: (value) => Array.isArray(value) && value.every((each) => typeof each === "string" && each !== ""),
});

const WRONG = "E_CONFIG_SCHEMA_INVALID";

/** Throws with the field, what is expected and what was found. */
export function readConfig<T extends Readonly<Record<string, JsonValue>>>(given: JsonValue, fields: Fields<T>): T {
  const config = given ?? {};
  if (!isJsonObject(config)) throw errorOf(WRONG, "the configuration must be a mapping");
  for (const [key, value] of Object.entries(config)) {
    const details = { pointer: `/${key}` };
    const field = Object.hasOwn(fields, key) ? fields[key as keyof T] : undefined;
    if (field === undefined) throw errorOf(WRONG, unknownField(key, Object.keys(fields)), { details });
    if (value !== null && !field.isValid(value)) {
      throw errorOf(WRONG, `${key} must be ${field.expected}, found ${JSON.stringify(value)}`, { details });
    }
  }
  const read = Object.entries(fields).map(([key, field]) => [
    key,
    config[key] ?? (field as Field<JsonValue>).byDefault,
  ]);
  return Object.fromEntries(read) as T;
}
