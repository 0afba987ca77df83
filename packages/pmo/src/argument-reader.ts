// Reading the arguments of an internal tool.
//
//   R1. Closed: a field that is not listed is refused, at every level.
//   R2. A mistake is a `bad_request` that names the tool and the path of the field.

import { BadRequest, isId, isJsonObject, type JsonObject, type JsonValue } from "@tessera/protocol";

export interface ArgumentReader {
  text(field: string, charsMax?: number): string;
  optionalText(field: string, charsMax?: number): string | undefined;
  optionalId(field: string): string | undefined;
  choice<C extends string>(field: string, choices: readonly C[]): C;
  /** A boolean, or the words `true` and `false`. Absent: false. */
  flag(field: string): boolean;
  value(field: string): JsonValue | undefined;
  refuse(field: string, what: string): never;
}

const NAME_CHARS_MAX = 128;

export { NAME_CHARS_MAX };

export function readArguments(tool: string, given: unknown, fields: readonly string[], path = "args"): ArgumentReader {
  const refuse = (field: string, what: string): never => {
    const place = field === "" ? path : `${path}.${field}`;
    throw new BadRequest(`${tool}: invalid ${place}: ${what}`, { details: { field: place } }); // R2
  };
  if (!isJsonObject(given)) return refuse("", "must be an object");
  const args: JsonObject = given;
  for (const field of Object.keys(args)) {
    if (!fields.includes(field)) refuse(field.slice(0, NAME_CHARS_MAX), "there is no such field"); // R1
  }

  function optionalText(field: string, charsMax = Number.POSITIVE_INFINITY): string | undefined {
    const value = args[field];
    if (value === undefined) return undefined;
    if (typeof value !== "string") return refuse(field, "must be a string");
    if (value.trim() === "") return refuse(field, "must not be empty");
    if (value.length > charsMax) return refuse(field, `must be at most ${charsMax} characters`);
    return value;
  }
  const text = (field: string, charsMax?: number) => optionalText(field, charsMax) ?? refuse(field, "is missing");
  return {
    text,
    optionalText,
    refuse,
    value: (field) => args[field],
    optionalId(field) {
      const value = optionalText(field);
      return value === undefined || isId(value) ? value : refuse(field, "is not a legal id");
    },
    choice(field, choices) {
      const value = text(field);
      return choices.find((choice) => choice === value) ?? refuse(field, `must be one of ${choices.join(", ")}`);
    },
    flag(field) {
      const value = args[field];
      if (value === undefined || value === false || value === "false") return false;
      return value === true || value === "true" ? true : refuse(field, "must be true or false");
    },
  };
}
