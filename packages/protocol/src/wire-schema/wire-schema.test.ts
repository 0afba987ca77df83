// The published schemas and the code that enforces the contract must say the same. A small evaluator of the keywords that
// the schemas use stands in for a library, so that this package needs none.

import { readFile } from "node:fs/promises";
import { describe, expect, test } from "vitest";
import { parseCallbackPayload } from "../cards/callback-payload.ts";
import { validateCard } from "../cards/card.ts";
import { validateToolCallContent, validateToolResultContent } from "../cards/card-content.ts";
import { ERROR_CATALOGUE, ERROR_CODES } from "../errors/error-catalogue.ts";
import { normalizeError } from "../errors/normalize-error.ts";
import type { JsonObject } from "../json/json-value.ts";
import { parseCommandPayload } from "../messages/command-payload.ts";
import { CGContext } from "../messages/context.ts";
import { commandHeaders } from "../messages/headers.ts";
import { traceparentOf } from "../messages/trace-context.ts";
import { WIRE_SCHEMAS, type WireSchemaName } from "./wire-schema.ts";

type Schema = boolean | Readonly<Record<string, unknown>>;

const KNOWN = new Set([
  "$schema",
  "$id",
  "title",
  "description",
  "type",
  "enum",
  "const",
  "properties",
  "required",
  "additionalProperties",
  "items",
  "pattern",
  "minLength",
  "maxLength",
  "minimum",
  "maximum",
  "anyOf",
  "oneOf",
  "format",
  "default",
]);

function fits(schema: Schema, value: unknown): boolean {
  if (typeof schema === "boolean") return schema;
  for (const keyword of Object.keys(schema)) expect(KNOWN).toContain(keyword);
  const types = schema.type === undefined ? null : [schema.type].flat();
  const type = value === null ? "null" : Array.isArray(value) ? "array" : typeof value;
  if (types && !types.includes(type) && !(types.includes("integer") && Number.isInteger(value))) return false;
  if ("const" in schema && schema.const !== value) return false;
  if (Array.isArray(schema.enum) && !schema.enum.includes(value)) return false;
  if (Array.isArray(schema.anyOf) && !schema.anyOf.some((option) => fits(option, value))) return false;
  if (Array.isArray(schema.oneOf) && schema.oneOf.filter((option) => fits(option, value)).length !== 1) return false;
  if (typeof value === "string") {
    if (typeof schema.pattern === "string" && !new RegExp(schema.pattern, "u").test(value)) return false;
    if (value.length < Number(schema.minLength ?? 0) || value.length > Number(schema.maxLength ?? 1e9)) return false;
  }
  if (typeof value === "number" && (value < Number(schema.minimum ?? -1e99) || value > Number(schema.maximum ?? 1e99)))
    return false;
  if (Array.isArray(value)) return value.every((item) => fits((schema.items as Schema) ?? true, item));
  if (typeof value !== "object" || value === null) return true;
  const properties = (schema.properties ?? {}) as Record<string, Schema>;
  if (!((schema.required ?? []) as string[]).every((key) => Object.hasOwn(value, key))) return false;
  return Object.entries(value).every(([key, item]) =>
    fits((Object.hasOwn(properties, key) ? properties[key] : (schema.additionalProperties as Schema)) ?? true, item),
  );
}

function accepts(run: () => unknown): boolean {
  try {
    run();
    return true;
  } catch {
    return false;
  }
}

const callback = { after_execution: "suspend", status: "success", tool_result_card_id: "card_2" };
const content = { tool_name: "search", arguments: {}, status: "called", target_subject: "cg.v1r4.p.c.cmd.tool.s.q" };
const result = { status: "success", after_execution: "suspend", result: { a: 1 }, error: null };
const error = normalizeError("x");
const card = {
  card_id: "c",
  project_id: "p",
  type: "tool.call",
  content,
  created_at: "2026-01-01T00:00:00Z",
  author_id: "a",
  tool_call_id: "tc",
};

const CASES: [WireSchemaName, (value: JsonObject) => unknown, unknown[]][] = [
  [
    "command-payload",
    parseCommandPayload,
    [
      { tool_call_card_id: "c" },
      { tool_call_card_id: "c", tool_name: null, after_execution: null, later: 1 },
      { tool_call_card_id: "c", after_execution: "terminate" },
      { tool_call_card_id: "c", after_execution: "maybe" },
      { tool_call_card_id: "c", agent_id: "a" },
      { tool_call_card_id: "c", result: null },
      { tool_call_card_id: "a b" },
      {},
    ],
  ],
  [
    "callback-payload",
    parseCallbackPayload,
    [callback, { ...callback, status: "ok" }, { ...callback, result: 1 }, { ...callback, tool_result_card_id: 1 }],
  ],
  [
    "tool-call-content",
    validateToolCallContent,
    [
      content,
      { ...content, arguments: "x" },
      { ...content, status: "done" },
      { ...content, extra: 1 },
      { ...content, target_subject: "" },
    ],
  ],
  [
    "tool-result-content",
    validateToolResultContent,
    [
      result,
      { ...result, result: null },
      { ...result, result: { __cg_control: { after_execution: "terminate" } } },
      { ...result, result: { __cg_control: { after_execution: "loop" } } },
      { ...result, result: { __cg_control: 1 } },
      { ...result, status: "failed" },
      { ...result, status: "failed", error },
      { ...result, error },
      { ...result, status: "SUCCESS" },
      { status: "success", after_execution: "suspend", result: 1 },
      { status: "failed", after_execution: "suspend", result: 1 },
    ],
  ],
  [
    "card",
    validateCard,
    [
      card,
      { ...card, metadata: {}, ttl_seconds: 5 },
      { ...card, tool_call_id: undefined },
      { ...card, type: "agent.thought" },
      { ...card, type: "agent.thought", content: { text: "" }, tool_calls: [{ id: "t", name: "n" }] },
      { ...card, type: "task.deliverable", content: { data: [] } },
      { ...card, type: "task.deliverable", content: { data: 5 } },
      { ...card, type: "nobody.knows" },
      { ...card, meta: {} },
      { ...card, ttl_seconds: 0 },
      { ...card, content: "x" },
    ],
  ],
];

describe.each(CASES)("the schema of %s agrees with the code", (name, parse, values) => {
  test.each(values.map((value) => JSON.parse(JSON.stringify(value)) as JsonObject))("on %j", (value) => {
    expect(fits(WIRE_SCHEMAS[name], value)).toBe(accepts(() => parse(value)));
  });
});

test("headers that we send fit the published schema", () => {
  const ctx = new CGContext({ project_id: "p", agent_id: "a", agent_turn_id: "t", step_id: "s", tool_call_id: "tc" });
  const traceparent = traceparentOf("a".repeat(32), "b".repeat(16));
  const headers = commandHeaders(ctx, { ticket: "secret", traceparent, msg_type: "ToolCommandPayload" });
  expect(fits(WIRE_SCHEMAS["tool-command-headers"], headers)).toBe(true);
  expect(fits(WIRE_SCHEMAS["tool-command-headers"], { ...headers, "CG-Turn-Epoch": "1e3" })).toBe(false);
});

test("errors that we make fit the published schema", () => {
  expect(fits(WIRE_SCHEMAS["error-object"], error)).toBe(true);
});

test("the catalogue, its page and its schema list the same codes with the same facts", async () => {
  const page = await readFile(new URL("../../../../docs/reference/errors.md", import.meta.url), "utf8");
  const rows = [...page.matchAll(/^\| `([^`]+)` \| (\w+) \| (\d+) \| ([\w-]+) \| /gm)].map((row) => row.slice(1));
  expect(rows).toEqual(
    Object.entries(ERROR_CATALOGUE).map(([code, entry]) => [code, entry.class, String(entry.http), entry.retry]),
  );
  const file = await readFile(new URL("../../schema/error-codes.json", import.meta.url), "utf8");
  expect(JSON.parse(file).enum).toEqual([...ERROR_CODES]);
});

test.each(Object.keys(WIRE_SCHEMAS) as WireSchemaName[])("the file of %s is what the code says", async (name) => {
  const file = await readFile(new URL(`../../schema/${name}.json`, import.meta.url), "utf8");
  expect(JSON.parse(file)).toEqual(JSON.parse(JSON.stringify(WIRE_SCHEMAS[name])));
});
