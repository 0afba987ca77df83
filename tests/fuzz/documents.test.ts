// What people and models write, and what a client reads: uploads, profiles, bundles, schemas, planned calls, cursors, event
// streams, addresses. Whatever comes in, the answer is a value or a refusal of the documented kind, and soon.

import { readProfileYaml, readSwarmBundle } from "@tessera/agent";
import {
  isErrorCode,
  isId,
  isToolName,
  type JsonObject,
  parseSubject,
  validateToolResultContent,
} from "@tessera/protocol";
import type { ToolDefinition } from "@tessera/tool";
import { checkParameters, planCalls, ToolRegistry } from "@tessera/tool/catalog";
import { parseToolUpload, readToolBundle } from "@tessera/tool/resources";
import fc from "fast-check";
import { expect } from "vitest";
import { ApiError } from "../../packages/client/src/api-error.ts";
import { readApiKey, readBaseUrl } from "../../packages/client/src/base-url.ts";
import { createSseParser } from "../../packages/client/src/sse-parser.ts";
import { createPageCursors } from "../../packages/server/src/routing/page-cursor.ts";
import { damagedBytes, damagedText } from "./damaged-text.ts";
import { damagedJsonText, damagedValue } from "./damaged-values.ts";
import { ANSWER_MS_MAX, ask, fuzzSuite, workedMs } from "./fuzz-run.ts";
import { hostileText, hostileValue } from "./hostile-values.ts";

const fuzz = fuzzSuite("documents");

const PARAMETERS = {
  type: "object",
  properties: {
    q: { type: "string", minLength: 1, pattern: "^[a-z]+$", default: "x" },
    n: { type: "integer", minimum: 0, enum: [1, 2] },
    list: { type: "array", items: { $ref: "#/$defs/item" }, maxItems: 3 },
  },
  required: ["q"],
  additionalProperties: false,
  $defs: { item: { anyOf: [{ type: "string" }, { type: "object", properties: { a: { type: "null" } } }] } },
};
const TOOL = {
  tool_name: "search",
  description: "Finds.",
  target_subject: "cg.v1r4.{project_id}.{channel_id}.cmd.tool.a.b",
  after_execution: "suspend",
  parameters: PARAMETERS,
  options: {
    args: { defaults: { q: "{step_id}" }, fixed: { n: 1 } },
    envs: { key: "A_KEY" },
    retry: { max_attempts: 2 },
  },
};
const GOONDAN_TOOL = {
  apiVersion: "goondan.ai/v1",
  kind: "Tool",
  metadata: { name: "files" },
  spec: {
    entry: "./files.ts",
    exports: [{ name: "read", description: "Reads.", parameters: { type: "object" } }, { name: "write" }],
    errorMessageLimit: 100,
  },
};
const PROFILE = {
  ...{ name: "planner", worker_target: "workers", tags: ["a", "b"], description: "Plans.", type: "principal" },
  ...{
    delegation_policy: { target_tags: ["a"], target_profiles: ["b"] },
    allowed_tools: ["search"],
    must_end_with: ["search"],
  },
  llm_config: { model: "openai/x", temperature: 1, options: { a: 1 }, apiKey: { valueFrom: { env: "A" } } },
};
const resource = (kind: string, name: string, spec: object) => ({
  apiVersion: "goondan.ai/v1",
  kind,
  metadata: { name },
  spec,
});
const SWARM = [
  resource("Model", "fast", { provider: "openai", model: "x" }),
  resource("Agent", "a", {
    ...{
      modelConfig: { modelRef: { kind: "Model", name: "fast" }, params: { temperature: 1 } },
      prompt: { system: "x" },
    },
    ...{ tools: ["Tool/files"], tags: ["a"], delegationPolicy: { targetTags: ["a"] } },
  }),
  resource("Swarm", "w", { entryAgent: "Agent/a", agents: ["Agent/a"], policy: { maxStepsPerTurn: 3 } }),
  GOONDAN_TOOL,
];
const asYaml = (documents: readonly unknown[]) => documents.map((each) => JSON.stringify(each)).join("\n---\n");

/** JSON is YAML, so a damaged value is a document that is damaged where it matters. */
const documents = (example: object): fc.Arbitrary<string | Uint8Array> =>
  fc.oneof(
    { weight: 3, arbitrary: damagedJsonText(example) },
    { weight: 2, arbitrary: damagedText(JSON.stringify(example, null, 1)) },
    { weight: 1, arbitrary: damagedBytes(JSON.stringify(example)) },
    { weight: 1, arbitrary: hostileText },
  );

for (const [what, example] of [
  ["CommonGround tool", TOOL],
  ["Goondan tool", GOONDAN_TOOL],
] as const) {
  const title = `uploads of a ${what}`;
  fuzz.target(title, 130, documents(example), (text) => {
    const read = ask(() => parseToolUpload(text, { projectId: "p1" }));
    fuzz.note(title, read.error?.code ?? "accepted");
    if (read.error === undefined)
      for (const { tool_name } of read.value.definitions) expect(isToolName(tool_name)).toBe(true);
    expect(ask(() => readToolBundle([{ path: "a.yaml", text }])).error).toBeUndefined();
  });
}

fuzz.target("uploads of a profile", 200, documents(PROFILE), (text) => {
  const read = ask(() => readProfileYaml(text, { isKeyVariableAllowed: () => true }));
  fuzz.note("uploads of a profile", read.error?.code ?? "accepted");
  if (read.error === undefined) expect(read.value.profile.name).not.toBe("");
});

const swarms = fc.oneof(
  damagedValue(SWARM).map((value) => (Array.isArray(value) ? asYaml(value) : JSON.stringify(value)) ?? ""),
  damagedText(asYaml(SWARM)),
);
fuzz.target("bundles of a swarm", 150, swarms, async (text) => {
  const spent = workedMs();
  const { mistakes } = await readSwarmBundle([{ path: "a.yaml", text }], { builtins: ["bash__exec"] });
  expect(spent()).toBeLessThan(ANSWER_MS_MAX);
  for (const { message } of mistakes) expect(message).toMatch(/^a\.yaml:\d+:\d+: /);
  fuzz.note("bundles of a swarm", mistakes.length === 0 ? "accepted" : "mistakes");
});

const BOMBS = [
  "^(a+)+$",
  "(a|a)*b",
  "(x+x+)+y",
  "[",
  "(?<=a)b",
  "\\p{L}{1,1000}{1,1000}",
  "(".repeat(5_000),
  "a{1,99999}",
];
const schemas = fc.oneof(
  damagedValue(PARAMETERS, { values: hostileValue }),
  fc.constantFrom(...BOMBS).map((pattern) => ({ type: "object", properties: { q: { type: "string", pattern } } })),
  fc.constantFrom("#", "#/$defs/a", "https://evil.example/x", "file:///etc/passwd", "#/%zz").map(($ref) => ({
    ...{ type: "object", properties: { q: { $ref } }, $defs: { a: { $ref: "#/$defs/a" } } },
  })),
);
fuzz.target("schemas of parameters", 700, schemas, (schema) => {
  const read = ask(() => checkParameters(schema));
  fuzz.note("schemas of parameters", read.error?.code ?? "accepted");
});

const registry = new ToolRegistry();
for (const tool_name of ["search", "plain"]) {
  const definition =
    tool_name === "search" ? TOOL : { ...TOOL, tool_name, parameters: { type: "object" }, options: {} };
  registry.register({ definition: definition as unknown as ToolDefinition, code: null });
}
const catalog = registry.catalog(null);
const vars = { project_id: "p1", channel_id: "c1", agent_id: "a1", context_box_id: "box_1", step_id: "step_1" };
const ARGUMENTS = { q: "abc", list: ["a", { a: null }] };
const requests = fc.array(
  fc.record({
    id: fc.oneof(fc.constantFrom("call_1", "call_2"), hostileValue),
    name: fc.oneof(
      { weight: 4, arbitrary: fc.constantFrom("search", "plain") },
      { weight: 1, arbitrary: hostileValue },
    ),
    arguments: fc.oneof(damagedValue(ARGUMENTS, { values: hostileValue }), damagedJsonText(ARGUMENTS), hostileValue),
  }),
  { maxLength: 4 },
);
fuzz.target("calls that a model asks for", 500, requests, (asked) => {
  let minted = 0;
  const planned = ask(() => planCalls(asked as never, { catalog, vars, mintCallId: () => `minted_${minted++}` }));
  expect(planned.error).toBeUndefined();
  if (planned.error !== undefined) return;
  expect(planned.value).toHaveLength(asked.length);
  expect(new Set(planned.value.map(({ draft }) => draft.tool_call_id)).size).toBe(asked.length);
  for (const { draft, refusal } of planned.value) {
    fuzz.note("calls that a model asks for", refusal?.error?.code ?? "accepted");
    expect([isId(draft.tool_call_id), isToolName(draft.tool_name)]).toEqual([true, true]);
    expect(parseSubject(draft.target_subject)?.project_id).toBe("p1");
    if (refusal !== undefined) validateToolResultContent(refusal as unknown as JsonObject);
  }
});

const cursors = createPageCursors(new Uint8Array(32));
const CURSOR = cursors.write("tools/p1", "echo__run");
fuzz.target(
  "cursors of pages",
  2_000,
  fc.tuple(hostileText, fc.oneof(hostileText, damagedText(CURSOR))),
  ([after, cursor]) => {
    const whole = after.toWellFormed().slice(0, 120);
    expect(cursors.read("tools/p1", cursors.write("tools/p1", whole))).toBe(whole);
    const read = ask(() => cursors.read("tools/p1", cursor));
    if (read.error === undefined) expect(cursor).toBe(CURSOR);
  },
);

const STREAM = 'id: 1\nevent: state\ndata: {"a":1}\n\n: beat\nretry: 500\n\r\nid: 2\r\ndata: x\r\ndata: y\r\n\r\n';
const pieces = fc.tuple(damagedBytes(STREAM), fc.array(fc.nat(60), { maxLength: 8 }));
fuzz.target("streams of events, cut anywhere", 2_000, pieces, ([bytes, cuts]) => {
  const whole = createSseParser();
  const expected = ask(() => whole.push(bytes));
  const cut = createSseParser();
  const places = [...new Set(cuts.map((at) => at % (bytes.length + 1)))].sort((a, b) => a - b);
  const parts = [...places, bytes.length].map((end, n) => bytes.subarray(places[n - 1] ?? 0, end));
  const read = ask(() => parts.flatMap((part) => cut.push(part)));
  expect(read).toEqual(expected);
  expect([cut.lastId, cut.retryMs]).toEqual([whole.lastId, whole.retryMs]);
});

const addresses = fc.oneof(hostileText, damagedText("https://user:pw@example.org:8080/a/b?c=d#e"), fc.webUrl());
fuzz.target("addresses and keys of the API", 2_000, addresses, (text) => {
  const read = documented(() => readBaseUrl(text));
  if (read !== null) {
    expect(read).toMatch(/^https?:\/\/[^/?#@]+(\/[^?#]*)?$/);
    expect(readBaseUrl(read)).toBe(read);
  }
  documented(() => readApiKey(text));
});

/** The client's own error, with a code of the catalogue; null where there was one. */
function documented<T>(run: () => T): T | null {
  try {
    return run();
  } catch (error) {
    if (!(error instanceof ApiError) || !isErrorCode(error.code)) throw error;
    return null;
  }
}
