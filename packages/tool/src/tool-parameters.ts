// A tool's parameters in the three forms an author may write them, as one JSON Schema and one check.
//
//   P1. What is stored is plain JSON Schema 2020-12 for an object; nothing of the author's library is needed to read it.
//   P2. A Standard Schema's own check runs after the argument gate's and may transform; what it refuses is told to the
//       model as arguments it can correct, never as a failure of the tool.
//   P3. A JSON Schema that names an older draft is stored as 2020-12, or refused (schema/dialect.ts).

import type { StandardJSONSchemaV1, StandardSchemaV1 } from "@standard-schema/spec";
import {
  BadRequest,
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

/** More than this many problems at once help nobody; the rest is counted. */
const ISSUES_SHOWN_MAX = 5;

/** The JSON Schema of `parameters` (P1), or `schema_invalid` with what was found. */
export function jsonSchemaOf(parameters: ToolParameters, toolName: string): JsonObject {
  const given = toPlainSchema(isStandard(parameters) ? convert(parameters, toolName) : parameters, toolName);
  const schema = inCurrentDialect(given, toolName);
  if (schema.$schema === DIALECT) delete schema.$schema; // the contract says so already
  if (Object.keys(schema).length === 0) return schema;
  // Arguments are always an object, so a schema that leaves this open (a union of objects, say) does not change by it.
  if (schema.type === undefined) return { type: "object", ...schema };
  if (schema.type === "object") return schema;
  throw invalid(toolName, `must describe an object, but have type ${JSON.stringify(schema.type)}`);
}

/** The schema's own check, where it has one (P2). */
export function parserOf(parameters: ToolParameters): ToolInputParser | undefined {
  if (!isStandard(parameters)) return undefined;
  const { validate } = parameters["~standard"] as Partial<StandardSchemaV1["~standard"]>;
  if (typeof validate !== "function") return undefined;
  return async (input) => {
    const answer = await validate(input);
    if (answer.issues !== undefined && answer.issues !== null) throw invalidArguments(answer.issues);
    return answer.value as JsonValue;
  };
}

function isStandard(parameters: ToolParameters): parameters is StandardJSONSchemaV1 {
  // Some libraries make their schemas functions.
  return ["object", "function"].includes(typeof parameters) && parameters !== null && "~standard" in parameters;
}

function convert(schema: StandardJSONSchemaV1, toolName: string): unknown {
  const { jsonSchema, vendor } = schema["~standard"];
  if (typeof jsonSchema?.input !== "function") {
    throw invalid(
      toolName,
      `are a schema of ${String(vendor)} that cannot describe itself as JSON Schema; ` +
        "pass one that implements Standard JSON Schema, or a JSON Schema",
    );
  }
  try {
    return jsonSchema.input({ target: TARGET });
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw invalid(toolName, `cannot be written as JSON Schema: ${why}`, { cause });
  }
}

function toPlainSchema(schema: unknown, toolName: string): JsonObject {
  if (!isJsonObject(schema)) throw invalid(toolName, "must be a schema");
  try {
    return gateJson(schema, { bytesMax: TOOL_SCHEMA_BYTES_MAX, depthMax: TOOL_SCHEMA_DEPTH_MAX }) as JsonObject;
  } catch (cause) {
    const pointer = TesseraError.is(cause) ? cause.details.pointer : undefined;
    throw invalid(toolName, `are not plain JSON: ${(cause as Error).message}`, { cause, pointer });
  }
}

/** P3 */
function inCurrentDialect(schema: JsonObject, toolName: string): JsonObject {
  try {
    return toCurrentDialect(schema);
  } catch (cause) {
    const pointer = TesseraError.is(cause) ? cause.details.pointer : undefined;
    throw invalid(toolName, `cannot be read in the draft that they name: ${(cause as Error).message}`, {
      cause,
      pointer,
    });
  }
}

function invalidArguments(issues: readonly StandardSchemaV1.Issue[]): ToolError {
  const shown = issues.slice(0, ISSUES_SHOWN_MAX).map((issue) => `${pointerOf(issue)}: ${issue.message}`);
  const more = issues.length > ISSUES_SHOWN_MAX ? ` (+${issues.length - ISSUES_SHOWN_MAX} more issues)` : "";
  return new ToolError(`the arguments are not valid: ${shown.join("; ")}${more}`, {
    code: "E_TOOL_INVALID_ARGS",
    suggestion: "Correct the arguments that are named and call the tool again.",
  });
}

function pointerOf(issue: StandardSchemaV1.Issue): string {
  const path = (issue.path ?? []).map((part) => {
    const key = typeof part === "object" ? part.key : part;
    return typeof key === "number" ? key : String(key);
  });
  return path.length === 0 ? "/" : jsonPointer(path);
}

function invalid(
  toolName: string,
  why: string,
  more: { readonly cause?: unknown; readonly pointer?: unknown } = {},
): BadRequest {
  const pointer = typeof more.pointer === "string" ? `/parameters${more.pointer}` : "/parameters";
  return new BadRequest(`the parameters of tool ${toolName} ${why}`, {
    code: "schema_invalid",
    details: { tool_name: toolName, pointer },
    ...(more.cause === undefined ? {} : { cause: more.cause }),
  });
}
