// submit_result: how an agent hands over its deliverable in fields. A tool of the loop itself, never a command.
//
//   R1. It must be the only call of its message; with required fields each name must be there exactly once. What is wrong
//       goes back to the model as the call's result.
//   R2. Where the deliverable has a schema, the fields as one object must fit it.
//   R3. Both `{fields: [{name, value}]}` and a plain name → value map are understood; the output is ordered, required first.

import {
  ARGUMENTS_BYTES_MAX,
  BadRequest,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  parseJson,
} from "@tessera/protocol";
import type { ToolDefinition } from "@tessera/tool";
import { compileParameters } from "@tessera/tool/catalog";

export type ResultField = { readonly name: string; readonly value: JsonValue };

export const SUBMIT_RESULT: ToolDefinition = {
  tool_name: "submit_result",
  description: "Hand over the result of this task and end it. Call nothing else in the same message.",
  parameters: {
    type: "object",
    properties: {
      result: {
        type: "object",
        description: "fields: a list of {name, value}",
        properties: {
          fields: {
            type: "array",
            items: {
              type: "object",
              properties: { name: { type: "string" }, value: {} },
              required: ["name", "value"],
            },
          },
        },
      },
    },
    required: ["result"],
  },
  target_subject: "cg.v1r4.{project_id}.{channel_id}.cmd.tool.agent.submit_result",
  // Only a refused submission becomes a call, and that goes on.
  after_execution: "suspend",
  options: { placement: "inline", effect: "read" },
};

export interface AskedResult {
  readonly required: readonly string[];
  /** Of the fields as one object. */
  readonly schema: JsonObject | null;
}

/** The fields in order, or a BadRequest that says to the model what to correct. */
export function readSubmission(
  given: unknown,
  { required, schema }: AskedResult,
  callsInMessage: number,
): ResultField[] {
  if (callsInMessage !== 1) throw new BadRequest("submit_result must be the only call of its message");
  const args = typeof given === "string" ? parseJson(given, { bytesMax: ARGUMENTS_BYTES_MAX }) : given;
  const result = isJsonObject(args) && "result" in args ? args.result : args;
  const fields = fieldsOf(result, schema);
  const names = fields.map((field) => field.name);
  const repeated = names.filter((name, n) => names.indexOf(name) !== n);
  const missing = required.filter((name) => !names.includes(name));
  if (repeated.length > 0) throw new BadRequest(`fields given more than once: ${[...new Set(repeated)].join(", ")}`);
  if (missing.length > 0)
    throw new BadRequest(`missing fields: ${missing.join(", ")}; required are ${required.join(", ")}`);
  if (schema !== null) requireFitting(fields, schema);
  const first = required.flatMap((name) => fields.find((field) => field.name === name) ?? []);
  return [...first, ...fields.filter((field) => !required.includes(field.name))]; // R3
}

/** R2 */
function requireFitting(fields: readonly ResultField[], schema: JsonObject): void {
  const issues = compileParameters(schema).issues(Object.fromEntries(fields.map(({ name, value }) => [name, value])));
  if (issues.length > 0) throw new BadRequest(`result does not fit its schema: ${issues.join("; ")}`);
}

function fieldsOf(result: unknown, schema: JsonObject | null): ResultField[] {
  if (!isJsonObject(result)) throw new BadRequest("result must be an object: {fields: [{name, value}]}");
  const { fields } = result as JsonObject;
  const isNamed = isJsonObject(schema?.properties) && Object.hasOwn(schema.properties, "fields");
  if (fields === undefined || isNamed) return Object.entries(result).map(([name, value]) => ({ name, value }));
  if (!Array.isArray(fields)) throw new BadRequest("result.fields must be a list of {name, value}");
  return fields.map((field, n) => {
    if (!isJsonObject(field) || typeof field.name !== "string" || field.value === undefined) {
      throw new BadRequest(`result.fields[${n}] must be {name, value}`);
    }
    return { name: field.name, value: field.value };
  });
}
