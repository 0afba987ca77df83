import { TesseraError } from "@tessera/protocol";
import { describe, expect, it } from "vitest";
import type { Mistake } from "./place.ts";
import { parseToolUpload, type ToolUploadOptions } from "./tool-upload.ts";

const OPTIONS: ToolUploadOptions = { projectId: "p1", file: "t.yaml" };
const SUBJECT = "cg.v1r4.{project_id}.{channel_id}.cmd.tool.search.query";

const mistakesIn = (text: string, options: ToolUploadOptions = OPTIONS): readonly Mistake[] => {
  try {
    parseToolUpload(text, options);
  } catch (error) {
    if (!TesseraError.is(error)) throw error;
    const mistakes = error.details.mistakes as readonly Mistake[];
    expect(error.code).toBe(mistakes[0]?.code);
    expect(error.message).toBe(mistakes[0]?.message);
    expect(error.http).toBe(400);
    for (const { file, line, column, message } of mistakes) {
      expect(message.startsWith(`${file}:${line}:${column}: `)).toBe(true);
    }
    return mistakes;
  }
  throw new Error("the upload was accepted");
};
const shortOf = ({ code, line, column, pointer }: Mistake): string => `${code} ${line}:${column} ${pointer}`;
const firstIn = (text: string): string => shortOf(mistakesIn(text)[0] as Mistake);

/** A valid tool on lines 1 to 3, then what is tried. */
const tool = (rest: string): string =>
  `tool_name: search\ntarget_subject: ${SUBJECT}\nafter_execution: suspend\n${rest}`;

describe("a CommonGround tool", () => {
  it("becomes a definition, field for field", () => {
    const { definitions, ignored } = parseToolUpload(
      Buffer.from(
        tool(
          "description: |\n  Finds things.\n  Fast.\nparameters:\n  type: object\n  properties: {q: {type: string}}\n" +
            "options:\n  args: {defaults: {session_id: '{agent_turn_id}'}, fixed: {project_id: '{project_id}'}}\n" +
            "  envs: {api_key: SEARCH_API_KEY}\n  jina: {mode: search, timeout_s: 5}\n  retry: {maxAttempts: 2, backoffMs: 50}\n",
        ),
      ),
      OPTIONS,
    );
    expect(definitions).toEqual([
      {
        tool_name: "search",
        description: "Finds things.\nFast.\n",
        parameters: { type: "object", properties: { q: { type: "string" } } },
        target_subject: SUBJECT,
        after_execution: "suspend",
        options: {
          args: { defaults: { session_id: "{agent_turn_id}" }, fixed: { project_id: "{project_id}" } },
          envs: { api_key: "SEARCH_API_KEY" },
          jina: { mode: "search", timeout_s: 5 },
          retry: { max_attempts: 2, backoff: 50 },
        },
      },
    ]);
    expect(ignored).toEqual([]);
  });

  it("may be called by name, without description, parameters and options", () => {
    const text = `name: a__b\ntarget_subject: ${SUBJECT}\nafter_execution: terminate\nparameters:\noptions:\n`;
    expect(parseToolUpload(text, OPTIONS).definitions).toEqual([
      {
        tool_name: "a__b",
        description: "",
        parameters: { type: "object" },
        target_subject: SUBJECT,
        after_execution: "terminate",
        options: {},
      },
    ]);
  });

  it("keeps unknown keys out of the definition and names them", () => {
    const { ignored } = parseToolUpload(tool("version: 3\nafter_executon: terminate\n"), OPTIONS);
    expect(ignored).toEqual([
      { file: "t.yaml", pointer: "/version", line: 4, column: 1 },
      { file: "t.yaml", pointer: "/after_executon", line: 5, column: 1 },
    ]);
  });

  it("reports everything that is wrong at once, each with its place", () => {
    const text =
      "tool_name: fork_join\nafter_execution: yes\nparameters: {type: string}\noptions: {effect: often, timeoutMs: 10s}\n";
    expect(mistakesIn(text).map(shortOf)).toEqual([
      "reserved_name 1:12 /tool_name",
      "schema_invalid 1:1 /target_subject",
      "invalid_after_execution 2:18 /after_execution",
      "schema_invalid 3:20 /parameters/type",
      "schema_invalid 4:37 /options/timeoutMs",
      "schema_invalid 4:19 /options/effect",
    ]);
  });

  it("says what it found and what it expected", () => {
    expect(mistakesIn(tool("options: {effect: often}"))[0]?.message).toBe(
      't.yaml:4:19: effect must be one of read, idempotent, once, found "often"',
    );
  });
});

const ZERO_WIDTH = "\\u200b";
const parameters = (yaml: string): string => tool(`parameters:\n  type: object\n  properties:\n    a: ${yaml}\n`);

describe("an upload is refused when", () => {
  it.each([
    [
      "Y9 after_execution: yes",
      `tool_name: a\ntarget_subject: ${SUBJECT}\nafter_execution: yes\n`,
      "invalid_after_execution 3:18 /after_execution",
    ],
    [
      "Y9 after_execution: true",
      `tool_name: a\ntarget_subject: ${SUBJECT}\nafter_execution: true\n`,
      "invalid_after_execution 3:18 /after_execution",
    ],
    ["Y9 no after_execution", `tool_name: a\ntarget_subject: ${SUBJECT}\n`, "schema_invalid 1:1 /after_execution"],
    ["Y9 timeout: 1e999", tool("timeout: 1e999"), "schema_invalid 4:10 /timeout"],
    ["Y9 timeout: .inf", tool("options: {timeout_seconds: .inf}"), "schema_invalid 4:28 /options/timeout_seconds"],
    ["Y9 timeout: -5", tool("timeout: -5"), "schema_invalid 4:10 /timeout"],
    ["Y9 timeout: 10s", tool("options:\n  timeout_seconds: 10s"), "schema_invalid 5:20 /options/timeout_seconds"],
    ["Y9 timeout of an executor", tool("options: {jina: {timeout: -5}}"), "schema_invalid 4:27 /options/jina/timeout"],
    ["Y9 retries: -1", tool("options: {retry: {max_attempts: -1}}"), "schema_invalid 4:33 /options/retry/max_attempts"],
    ["Y9 options is a list", tool("options: [1]"), "schema_invalid 4:10 /options"],
    ["Y9 placement that needs code", tool("options: {placement: isolated}"), "schema_invalid 4:22 /options/placement"],
    [
      "Y10 another project",
      "tool_name: a\ntarget_subject: cg.v1r4.OTHER.public.cmd.tool.x.y\nafter_execution: suspend",
      "invalid_target_subject 2:17 /target_subject",
    ],
    [
      "Y10 another version",
      "tool_name: a\ntarget_subject: cg.v1.OTHER.public.cmd.tool.x\nafter_execution: suspend",
      "invalid_target_subject 2:17 /target_subject",
    ],
    [
      "Y10 a wildcard",
      "tool_name: a\ntarget_subject: 'cg.v1r4.{project_id}.{channel_id}.cmd.tool.x.>'\nafter_execution: suspend",
      "invalid_target_subject 2:17 /target_subject",
    ],
    [
      "Y10 words in wrong places",
      "tool_name: a\ntarget_subject: x.cmd.sys.tool.y\nafter_execution: suspend",
      "invalid_target_subject 2:17 /target_subject",
    ],
    ["Y11 Fork_Join", "after_execution: suspend\ntool_name: Fork_Join", "reserved_name 2:12 /tool_name"],
    ["Y11 a reserved name with a space", "tool_name: 'fork_join '", "reserved_name 1:12 /tool_name"],
    ["Y11 a name with a foreign letter", "tool_name: f\u043erk_join", "invalid_name 1:12 /tool_name"],
    ["Y11 three parts", "name: a__b__c", "invalid_name 1:7 /name"],
    ["Y11 a name that is no text", "tool_name: 12", "schema_invalid 1:12 /tool_name"],
    ["Y12 no object schema", tool("parameters: {type: array, items: {}}"), "schema_invalid 4:20 /parameters/type"],
    ["Y12 a cyclic $ref", parameters("{$ref: '#/properties/a'}"), "schema_invalid 7:8 /parameters/properties/a"],
    [
      "Y12 a pattern that explodes",
      parameters("{type: string, pattern: '^(a+)+$'}"),
      "schema_invalid 7:32 /parameters/properties/a/pattern",
    ],
    ["Y12 parameters are a list", tool("parameters: []"), "schema_invalid 4:13 /parameters"],
    [
      "Y12 a remote $ref",
      parameters("{$ref: 'https://example.com/x'}"),
      "schema_invalid 7:15 /parameters/properties/a/$ref",
    ],
    [
      "Y12 an unknown keyword",
      parameters("{type: string, lenght: 3}"),
      "schema_invalid 7:31 /parameters/properties/a/lenght",
    ],
    ["Y12 an unknown type", parameters("{type: text}"), "schema_invalid 7:15 /parameters/properties/a/type"],
    [
      "Y12 a default of the wrong type",
      parameters("{type: integer, default: x}"),
      "schema_invalid 7:33 /parameters/properties/a/default",
    ],
    ["Y12 an array without items", parameters("{type: array}"), "schema_invalid 7:8 /parameters/properties/a"],
    ["Y12 5,000 nested", tool(`parameters: ${"{not: ".repeat(5_000)}`), "too_deep 4:397 "],
    ["Y13 PATH", tool("options: {envs: {k: PATH}}"), "env_not_allowed 4:21 /options/envs/k"],
    ["Y13 LD_PRELOAD", tool("options: {envs: {k: LD_PRELOAD}}"), "env_not_allowed 4:21 /options/envs/k"],
    ["Y13 NODE_OPTIONS", tool("options: {envs: {k: NODE_OPTIONS}}"), "env_not_allowed 4:21 /options/envs/k"],
    [
      "Y14 two sources of one argument",
      tool("options: {args: {fixed: {k: 1}}, envs: {k: A_KEY}}"),
      "conflicting_arg 4:44 /options/envs/k",
    ],
    [
      "Y15 an unknown template variable",
      tool("options: {args: {fixed: {k: '{project_id}{evil}'}}}"),
      "unknown_template_var 4:29 /options/args/fixed/k",
    ],
    [
      "Y15 empty braces",
      tool("options: {args: {fixed: {k: '{{}}'}}}"),
      "unknown_template_var 4:29 /options/args/fixed/k",
    ],
    [
      "Y15 __proto__",
      tool("options: {args: {defaults: {k: '{__proto__}'}}}"),
      "unknown_template_var 4:32 /options/args/defaults/k",
    ],
    ["Y16 bidi", tool('description: "a\\u202eb"'), "schema_invalid 4:14 /description"],
    ["Y16 zero width", tool(`description: "a${ZERO_WIDTH}b"`), "schema_invalid 4:14 /description"],
    ["Y16 tag characters", tool('description: "a\\U000E0041"'), "schema_invalid 4:14 /description"],
    ["Y16 an escape character", tool('description: "a\\e[31m"'), "schema_invalid 4:14 /description"],
    ["Y16 10 KB", tool(`description: ${"x".repeat(10_000)}`), "schema_invalid 4:14 /description"],
    [
      "Y16 in the parameters",
      parameters(`{type: string, description: "a${ZERO_WIDTH}"}`),
      "schema_invalid 7:36 /parameters/properties/a/description",
    ],
  ])("%s", (_, text, expected) => {
    expect(firstIn(text)).toBe(expected);
  });

  it("Y13 a variable is not on the allow-list", () => {
    const text = tool("options: {envs: {k: A_KEY}}");
    expect(parseToolUpload(text, { ...OPTIONS, envAllowList: ["A_KEY"] }).definitions).toHaveLength(1);
    expect(mistakesIn(text, { ...OPTIONS, envAllowList: ["B_KEY"] }).map(shortOf)).toEqual([
      "env_not_allowed 4:21 /options/envs/k",
    ]);
  });
});

it("a subject with the literal project of the upload is accepted", () => {
  const text = "tool_name: a\ntarget_subject: cg.v1r4.p1.public.cmd.tool.x.y\nafter_execution: suspend";
  expect(parseToolUpload(text, OPTIONS).definitions).toHaveLength(1);
});

it("newlines, tabs and scripts that read from right to left are fine in a description", () => {
  const text = tool('description: "a\\n\\tb שלום مرحبا 👍 é"');
  expect(parseToolUpload(text, OPTIONS).definitions[0]?.description).toBe("a\n\tb שלום مرحبا 👍 é");
});

it("tens of thousands of unknown keys are each named, and soon", () => {
  const keys = Array.from({ length: 20_000 }, (_, n) => `${n.toString(36)}_: 0`).join("\n");
  const text = `tool_name: t\ntarget_subject: cg.v1r4.{project_id}.{channel_id}.cmd.tool.a.b\nafter_execution: suspend\n${keys}\n`;
  const startedAt = performance.now();
  const { ignored } = parseToolUpload(text, { projectId: "p1" });
  expect(performance.now() - startedAt).toBeLessThan(8_000); // below a second; looking through all keys for each took 10
  expect(ignored).toHaveLength(20_000);
  expect(ignored.at(-1)).toMatchObject({ line: 20_003, column: 1 });
});
