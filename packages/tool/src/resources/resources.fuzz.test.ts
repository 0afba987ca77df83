// Random bytes and damaged tools: whatever comes in, the answer is a definition or a TesseraError, and soon.

import { TesseraError } from "@tessera/protocol";
import fc from "fast-check";
import { expect, it } from "vitest";
import { readToolBundle } from "./tool-bundle.ts";
import { parseToolUpload } from "./tool-upload.ts";

const ANSWER_MS_MAX = 1_000;

const TOOLS = [
  "tool_name: search\ndescription: |\n  Finds.\n  - more\ntarget_subject: cg.v1r4.{project_id}.{channel_id}.cmd.tool.a.b\n" +
    "after_execution: suspend\nparameters: {type: object, properties: {q: {type: string, default: x}}, required: [q]}\n" +
    "options:\n  args: {defaults: {k: '{step_id}'}, fixed: {l: [1, 2.5e3]}}\n  envs: {key: A_KEY}\n  retry: {max_attempts: 2}\n",
  "%YAML 1.2\n---\napiVersion: goondan.ai/v1 # comment\nkind: Tool\nmetadata: {name: \"t-1\"}\nspec:\n  entry: './a.ts'\n" +
    "  exports:\n    - name: run\n      description: >-\n        folded\n        text\n      parameters:\n        type: object\n    - &two\n      name: two\n",
  "apiVersion: goondan.ai/v1\nkind: Tool\nmetadata: {name: pets}\nspec:\n  openapi:\n    document: ./a.yaml\n    hosts: [a.b, 'c:1']\n" +
    "    operations: [a, {tag: b}, {method: get, path: '/{x}'}]\n    auth: {x-key: A_KEY}\n    baseUrl: https://a.b/v1\n  placement: edge\n",
];
const FRAGMENTS = [
  "\t",
  "\n",
  "  ",
  "- ",
  "? ",
  ": ",
  "[",
  "]",
  "{",
  "}",
  "&a ",
  "*a",
  "!t ",
  "<<: ",
  "|",
  ">",
  "'",
  '"',
  "---\n",
  "...\n",
  "%",
  "#",
  ",",
  "\u0000",
  "\ufeff",
  "\u202e",
  ".inf",
  "1e999",
  "null",
  "__proto__: 1",
  "\\",
  "é",
  "𝒳",
];

const mutated = fc
  .tuple(
    fc.constantFrom(...TOOLS),
    fc.array(fc.tuple(fc.nat(600), fc.nat(12), fc.constantFrom(...FRAGMENTS), fc.integer({ min: 1, max: 80 })), {
      maxLength: 6,
    }),
  )
  .map(([text, cuts]) =>
    cuts.reduce(
      (now, [at, length, fragment, times]) => now.slice(0, at) + fragment.repeat(times) + now.slice(at + length),
      text,
    ),
  );

const answersSoon = (input: string | Uint8Array): void => {
  const before = process.cpuUsage(); // of work: pauses of the machine do not count
  try {
    parseToolUpload(input, { projectId: "p1" });
  } catch (error) {
    if (!TesseraError.is(error)) throw error;
    expect(error.message).toMatch(/^upload\.yaml:\d+:\d+: /);
    expect(error.message.length).toBeLessThanOrEqual(1_000);
    expect(error.details).toMatchObject({ line: expect.any(Number), column: expect.any(Number) });
  }
  readToolBundle([{ path: "a.yaml", text: input }]);
  const { user, system } = process.cpuUsage(before);
  expect((user + system) / 1_000).toBeLessThan(ANSWER_MS_MAX);
};

it("random bytes are answered with a place", () => {
  fc.assert(fc.property(fc.uint8Array({ maxLength: 2_000 }), answersSoon), { numRuns: 300 });
});

it("random text is answered with a place", () => {
  const text = fc.array(fc.oneof(fc.constantFrom(...FRAGMENTS), fc.string({ unit: "binary", maxLength: 8 })), {
    maxLength: 60,
  });
  fc.assert(
    fc.property(
      text.map((parts) => parts.join("")),
      answersSoon,
    ),
    { numRuns: 500 },
  );
});

it("a damaged tool is answered with a place", () => {
  fc.assert(fc.property(mutated, answersSoon), { numRuns: 1_000 });
});
