// json-query: looks into JSON text. The text passes the JSON gate, so that depth, size and keys are bounded before anything
// looks at it.

import { ARGUMENTS_BYTES_MAX, BadRequest, type JsonValue, parseJson } from "@tessera/protocol";
import { defineTool, type RegisteredTool } from "@tessera/tool";
import { parseJsonPath, valueAt } from "./json-path.ts";

const FLATTEN_DEPTH_MAX = 64;

const data = { type: "string", description: "JSON text" } as const;
const path = { type: "string", description: "For example a[0].b; . for the whole", default: "." } as const;
const common = { errorMessageLimit: 1_000, timeoutMs: 30_000, placement: "inline", effect: "read" } as const;

const query = defineTool({
  ...common,
  name: "json-query__query",
  description: "The value at a path of a JSON text; null where there is none.",
  parameters: { type: "object", additionalProperties: false, required: ["data"], properties: { data, path } },
  handler: (_ctx, input) => {
    const value = valueAt(read(input.data), parseJsonPath(input.path));
    return { path: input.path, found: value !== undefined, value: value ?? null };
  },
});

const pick = defineTool({
  ...common,
  name: "json-query__pick",
  description: "Some keys of a JSON object; keys that it does not have are left out.",
  parameters: {
    type: "object",
    additionalProperties: false,
    required: ["data", "keys"],
    properties: { data, keys: { type: "array", items: { type: "string" }, maxItems: 1_000 } },
  },
  handler: (_ctx, input) => {
    const value = read(input.data);
    if (typeOf(value) !== "object")
      throw new BadRequest(`data is ${typeOf(value)}, and keys are picked from an object`);
    const picked = input.keys.flatMap((key): [string, JsonValue][] => {
      const found = valueAt(value, [key]);
      return found === undefined ? [] : [[key, found]];
    });
    return { keys: input.keys, result: Object.fromEntries(picked) };
  },
});

const count = defineTool({
  ...common,
  name: "json-query__count",
  description: "How many elements an array, keys an object or characters a string at a path of a JSON text has.",
  parameters: { type: "object", additionalProperties: false, required: ["data"], properties: { data, path } },
  handler: (_ctx, input) => {
    const value = valueAt(read(input.data), parseJsonPath(input.path)) ?? null;
    return { path: input.path, count: sizeOf(value), type: typeOf(value) };
  },
});

const flatten = defineTool({
  ...common,
  name: "json-query__flatten",
  description: "A JSON array with the elements of nested arrays in their place.",
  parameters: {
    type: "object",
    additionalProperties: false,
    required: ["data"],
    properties: { data, depth: { type: "integer", minimum: 0, maximum: FLATTEN_DEPTH_MAX, default: 1 } },
  },
  handler: (_ctx, input) => {
    const value = read(input.data);
    if (!Array.isArray(value)) throw new BadRequest(`data is ${typeOf(value)}, and only an array can be flattened`);
    // Typed as one level: the compiler unrolls JSON types for ever.
    const result: JsonValue[] = value.flat(input.depth as 1);
    return { depth: input.depth, count: result.length, result };
  },
});

export const jsonQueryTools: readonly RegisteredTool[] = [query, pick, count, flatten];

function read(text: string): JsonValue {
  return parseJson(text, { bytesMax: ARGUMENTS_BYTES_MAX });
}

function typeOf(value: JsonValue): "array" | "object" | "string" | "null" | "number" | "boolean" {
  if (value === null) return "null";
  if (Array.isArray(value)) return "array";
  return typeof value as "object" | "string" | "number" | "boolean";
}

/** A number or boolean is one thing, null none. */
function sizeOf(value: JsonValue): number {
  if (value === null) return 0;
  if (Array.isArray(value) || typeof value === "string") return value.length;
  return typeof value === "object" ? Object.keys(value).length : 1;
}
