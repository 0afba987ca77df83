// Bodies: JSON through the gate, then a schema that names the field it does not know.

import { BadRequest, ENVELOPE_DEPTH_EXTRA, gateJson, JSON_DEPTH_MAX } from "@tessera/protocol";
import type { Static, TSchema } from "typebox";
import type { Validator } from "typebox/schema"; // "typebox/compile" would load all of typebox/value, too

/** For bodies that wrap an author's value; the value itself is held to the common limit by `checkResultDepth`. */
export const ENVELOPE_DEPTH_MAX = JSON_DEPTH_MAX + ENVELOPE_DEPTH_EXTRA;

const SHOWN_CHARS_MAX = 64;
/** Items and fields of one value, and levels. */
const EXCERPT_MAX = 1_000;
const EXCERPT_DEPTH_MAX = 8;

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
    if (Object.keys(body).length > EXCERPT_MAX) {
      throw new BadRequest(`the body has more than ${EXCERPT_MAX} fields, which no route takes`);
    }
    const [, errors] = validator.Errors(excerpt(body, EXCERPT_DEPTH_MAX));
    throw refusal(errors[0]);
  };
}

/** What is looked through for the first field that does not fit. The validator would list all of them: a tenth of a second and
 *  more for a body of a hundred thousand, all to be refused. No schema here allows as many as are left. */
function excerpt(value: unknown, depth: number): unknown {
  if (depth === 0 || typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.slice(0, EXCERPT_MAX).map((item) => excerpt(item, depth - 1));
  const part: Record<string, unknown> = Object.create(null);
  let count = 0;
  for (const name in value) {
    if (count++ === EXCERPT_MAX) break;
    part[name] = excerpt((value as Record<string, unknown>)[name], depth - 1);
  }
  return part;
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
