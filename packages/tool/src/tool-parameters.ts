// A tool's parameters in the three forms an author may write them, as one JSON Schema and one check.
//
//   P1. What is stored is plain JSON Schema 2020-12 for an object; nothing of the author's library is needed to read it.
//   P2. A Standard Schema's own check runs after the argument gate's and may transform; what it refuses is reported to the
//       model as arguments it can correct, never as a failure of the tool.
//   P3. A JSON Schema that names an older draft is stored as 2020-12, or refused (schema/dialect.ts).

import type { StandardJSONSchemaV1, StandardSchemaV1 } from "@standard-schema/spec";
import {
  BadRequest,
  type ErrorDetails,
  gateJson,
  isJsonObject,
  jsonPointer,
  TesseraError,
  TOOL_SCHEMA_BYTES_MAX,
  TOOL_SCHEMA_DEPTH_MAX,
} from "@tessera/protocol";
import type { JsonObject, JsonValue } from "./api.ts";
import type { ToolParameters } from "./infer-input.ts";
import { toCurrentDialect } from "./schema/dialect.ts";
import { ToolError } from "./tool-error.ts";

export type ToolInputParser = (input: JsonObject) => Promise<JsonValue>;

const DIALECT = "https://json-schema.org/draft/2020-12/schema";
const TARGET = "draft-2020-12";

/** At most this many problems are listed; the rest is counted. */
const ISSUES_SHOWN_MAX = 5;

/** Whose schema it is, for messages. */
export interface SchemaOwner {
  /** `the parameters of tool x` */
  readonly says: string;
  /** Where it stands in what was given. */
  readonly pointer: string;
  readonly details: ErrorDetails;
}

export function parametersOf(toolName: string): SchemaOwner {
  return { says: `the parameters of tool ${toolName}`, pointer: "/parameters", details: { tool_name: toolName } };
}

/** The JSON Schema of `parameters` (P1), or `schema_invalid` with what was found. */
export function jsonSchemaOf(parameters: ToolParameters, owner: SchemaOwner): JsonObject {
  const given = toPlainSchema(isStandard(parameters) ? convert(parameters, owner) : parameters, owner);
  const schema = inCurrentDialect(given, owner);
  if (schema.$schema === DIALECT) delete schema.$schema; // the contract says so already
  if (Object.keys(schema).length === 0) return schema;
  // Arguments are always an object, so a schema that leaves this open (a union of objects, say) does not change by it.
  if (schema.type === undefined) return { type: "object", ...schema };
  if (schema.type === "object") return schema;
  throw invalid(owner, `must describe an object, but have type ${JSON.stringify(schema.type)}`);
}

/** The schema's own check, where it has one (P2). */
export function parserOf(parameters: ToolParameters): ToolInputParser | undefined {
  const validate = validatorOf(parameters);
  if (validate === undefined) return undefined;
  return async (input) => {
    const answer = await validate(input);
    if (answer.issues !== undefined && answer.issues !== null) throw invalidArguments(answer.issues);
    return answer.value as JsonValue;
  };
}

/** What the schema's own check makes of a value, or what it finds wrong; null: it has none. */
export async function problemsOf(
  schema: ToolParameters,
  value: unknown,
): Promise<{ readonly value: unknown } | { readonly problems: readonly string[] } | null> {
  const answer = await validatorOf(schema)?.(value);
  if (answer === undefined) return null;
  if (answer.issues === undefined || answer.issues === null) return { value: answer.value };
  return { problems: shownIssues(answer.issues) };
}

function validatorOf(parameters: ToolParameters): StandardSchemaV1["~standard"]["validate"] | undefined {
  if (!isStandard(parameters)) return undefined;
  const { validate } = parameters["~standard"] as Partial<StandardSchemaV1["~standard"]>;
  return typeof validate === "function" ? validate : undefined;
}

function isStandard(parameters: ToolParameters): parameters is StandardJSONSchemaV1 {
  // Some libraries make their schemas functions.
  return ["object", "function"].includes(typeof parameters) && parameters !== null && "~standard" in parameters;
}

function convert(schema: StandardJSONSchemaV1, owner: SchemaOwner): unknown {
  const { jsonSchema, vendor } = schema["~standard"];
  if (typeof jsonSchema?.input !== "function") {
    throw invalid(
      owner,
      `are a schema of ${String(vendor)} that cannot describe itself as JSON Schema; ` +
        "pass one that implements Standard JSON Schema, or a JSON Schema",
    );
  }
  try {
    return jsonSchema.input({ target: TARGET });
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw invalid(owner, `cannot be written as JSON Schema: ${why}`, { cause });
  }
}

function toPlainSchema(schema: unknown, owner: SchemaOwner): JsonObject {
  if (!isJsonObject(schema)) throw invalid(owner, "must be a schema");
  try {
    return gateJson(schema, { bytesMax: TOOL_SCHEMA_BYTES_MAX, depthMax: TOOL_SCHEMA_DEPTH_MAX }) as JsonObject;
  } catch (cause) {
    const pointer = TesseraError.is(cause) ? cause.details.pointer : undefined;
    throw invalid(owner, `are not plain JSON: ${(cause as Error).message}`, { cause, pointer });
  }
}

/** P3 */
function inCurrentDialect(schema: JsonObject, owner: SchemaOwner): JsonObject {
  try {
    return toCurrentDialect(schema);
  } catch (cause) {
    const pointer = TesseraError.is(cause) ? cause.details.pointer : undefined;
    throw invalid(owner, `cannot be read in the draft that they name: ${(cause as Error).message}`, {
      cause,
      pointer,
    });
  }
}

function invalidArguments(issues: readonly StandardSchemaV1.Issue[]): ToolError {
  return new ToolError(`the arguments are not valid: ${shownIssues(issues).join("; ")}`, {
    code: "E_TOOL_INVALID_ARGS",
    suggestion: "Correct the arguments that are named and call the tool again.",
  });
}

function shownIssues(issues: readonly StandardSchemaV1.Issue[]): string[] {
  const shown = issues.slice(0, ISSUES_SHOWN_MAX).map((issue) => `${pointerOf(issue)}: ${issue.message}`);
  const left = issues.length - shown.length;
  return left === 0 ? shown : [...shown.slice(0, -1), `${shown.at(-1)} (+${left} more issues)`];
}

function pointerOf(issue: StandardSchemaV1.Issue): string {
  const path = (issue.path ?? []).map((part) => {
    const key = typeof part === "object" ? part.key : part;
    return typeof key === "number" ? key : String(key);
  });
  return path.length === 0 ? "/" : jsonPointer(path);
}

function invalid(
  owner: SchemaOwner,
  why: string,
  more: { readonly cause?: unknown; readonly pointer?: unknown } = {},
): BadRequest {
  const pointer = typeof more.pointer === "string" ? `${owner.pointer}${more.pointer}` : owner.pointer;
  return new BadRequest(`${owner.says} ${why}`, {
    code: "schema_invalid",
    details: { ...owner.details, pointer },
    ...(more.cause === undefined ? {} : { cause: more.cause }),
  });
}
