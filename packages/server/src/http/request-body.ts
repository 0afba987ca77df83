// Bodies: JSON through the gate, then a schema that names the field it does not know.

import { BadRequest, ENVELOPE_DEPTH_EXTRA, gateJson, JSON_DEPTH_MAX } from "@tessera/protocol";
import type { Static, TSchema } from "typebox";
import type { Validator } from "typebox/schema"; // "typebox/compile" would load all of typebox/value, too

/** For bodies that wrap an author's value; the value itself is held to the common limit by `checkResultDepth`. */
export const ENVELOPE_DEPTH_MAX = JSON_DEPTH_MAX + ENVELOPE_DEPTH_EXTRA;

const SHOWN_CHARS_MAX = 64;

/** Answers the body as its type, or refuses it by the first field that does not fit. Compiled once, for the first body: a start
 *  waits neither for schemas that are never asked nor for their compiler. */
export function bodyReader<Schema extends TSchema>(schema: Schema): (body: unknown) => Promise<Static<Schema>> {
  let validator: Validator<Schema> | null = null;
  return async (body) => {
    validator ??= (await import("typebox/schema")).Compile(schema);
    if (validator.Check(body)) return body as Static<Schema>;
    if (typeof body !== "object" || body === null || Array.isArray(body)) {
      throw new BadRequest("the body must be a JSON object", { code: "invalid_payload" });
    }
    const [, errors] = validator.Errors(body);
    throw refusal(errors[0]);
  };
}

/** A tool's result counts its own levels, whatever stands around it. */
export function checkResultDepth(result: unknown, bytesMax: number): void {
  if (result !== undefined) gateJson(result, { bytesMax, depthMax: JSON_DEPTH_MAX });
}

interface SchemaError {
  readonly keyword: string;
  readonly schemaPath: string;
  readonly instancePath: string;
  readonly params: object;
  readonly message: string;
}

function refusal(error: SchemaError | undefined): BadRequest {
  const path = error?.instancePath.replace(/^\//, "") ?? "";
  const missing = error !== undefined && "requiredProperties" in error.params ? error.params.requiredProperties : null;
  const field = shown(Array.isArray(missing) ? String(missing[0]) : path);
  const why =
    missing !== null
      ? "is required"
      : error?.schemaPath.endsWith("/additionalProperties")
        ? "is not known here"
        : (error?.message ?? "does not fit");
  const what = field === "" ? "the body" : field;
  return new BadRequest(`${what} ${why}`, { details: { field } });
}

function shown(field: string): string {
  return field.length <= SHOWN_CHARS_MAX ? field : `${field.slice(0, SHOWN_CHARS_MAX - 1).toWellFormed()}…`;
}
