// Every gate through which foreign JSON or YAML comes in, with what poisons prototypes and what explodes. The gates
// inside a store have the same inputs in packages/kernel/test/report-codes.test.ts and request-gate.test.ts, those of the API in
// packages/server/src/http/http-edge.test.ts and registry.test.ts.
//
//   P1. A poisoned input is refused by its code, and after each one a fresh object has nothing that it did not have before.
//   P2. `constructor` and `prototype` are ordinary keys: they may pass, as data of their own object.
//   P3. Cost is CPU time, not the clock's: the machine may be busy.

import {
  buildToolResultContent,
  CGContext,
  commandHeaders,
  decodeJsonMessage,
  gateJson,
  type JsonObject,
  parseJson,
  parseToolCommand,
  TesseraError,
  traceparentOf,
  validateCard,
} from "@tessera/protocol";
import { defineTool } from "@tessera/tool";
import { checkParameters, compileParameters, planCalls, ToolRegistry } from "@tessera/tool/catalog";
import { parseToolUpload, readYaml } from "@tessera/tool/resources";
import { afterEach, describe, expect, it } from "vitest";
import { createFrameReader } from "../../packages/executor/src/placements/isolated/frames.ts";

const CPU_MS_MAX = 1_000;
const bytes = (text: string) => new TextEncoder().encode(text);
const limits = { bytesMax: 4_000_000 };

const registry = new ToolRegistry();
registry.register(
  defineTool({
    name: "open__run",
    parameters: { type: "object", properties: { it: {} } },
    args: { defaults: { mood: { deep: "calm" } }, fixed: { place: "here" } },
    handler: () => ({}),
  }),
);
const planned = (args: unknown) => {
  const options = { catalog: registry.catalog(), vars: { project_id: "p", channel_id: "c", agent_id: "a" } };
  const [call] = planCalls([{ name: "open__run", arguments: args }], { ...options, mintCallId: () => "tc_1" });
  return call?.refusal?.error?.code ?? "accepted";
};

const context = new CGContext({
  ...{ project_id: "p1", agent_id: "a1", channel_id: "c1", agent_turn_id: "turn_1" },
  ...{ turn_epoch: 2, step_id: "step_1", tool_call_id: "tc_1", recursion_depth: 3 },
});
const ids = { traceId: () => "a".repeat(32), spanId: () => "b".repeat(16) };
const headers = commandHeaders(context, {
  ticket: "secret",
  traceparent: traceparentOf(ids.traceId(), ids.spanId()),
  msg_type: "ToolCommandPayload",
});

function frame(text: string): string {
  let answer = "nothing";
  const read = createFrameReader({ onFrame: () => (answer = "accepted"), onBroken: () => (answer = "broken") });
  read(Buffer.from(`${text}\n`));
  return answer;
}

type Gate = (json: string) => unknown;
const inYaml = (json: string) => `tool_name: bad\noptions: ${json}\n`;
const SUBJECT = "cg.v1r4.p1.c1.cmd.tool.search.query";

/** Gate, what it answers to a poisoned key, what it does with the text. */
const GATES: readonly (readonly [string, string, Gate])[] = [
  ["JSON text", "forbidden_key", (json) => parseJson(json, limits)],
  ["a value", "forbidden_key", (json) => gateJson(JSON.parse(json), limits)],
  ["a message", "forbidden_key", (json) => decodeJsonMessage(bytes(`{"it":${json}}`))],
  [
    "a command",
    "forbidden_key",
    (json) => parseToolCommand({ subject: SUBJECT, headers, data: bytes(`{"x":${json}}`) }, { ids }),
  ],
  [
    "a card",
    "forbidden_key",
    (json) =>
      validateCard({
        card_id: "c",
        project_id: "p",
        type: "task.deliverable",
        author_id: "a",
        content: { data: JSON.parse(json) },
      }),
  ],
  ["a model's arguments, as text", "bad_request", (json) => planned(`{"it":${json}}`)],
  ["a model's arguments, as a value", "bad_request", (json) => planned({ it: JSON.parse(json) })],
  ["a tool's result", "failed", (json) => buildToolResultContent({ result: JSON.parse(json) }).status],
  ["a frame of a child", "broken", frame],
  ["an uploaded document", "forbidden_key", (json) => parseToolUpload(inYaml(json), { projectId: "p" })],
  ["a document of a bundle", "forbidden_key", (json) => readYaml(`it: ${json}`, { kind: "bundle", file: "t.yaml" })],
  [
    "a schema",
    "schema_invalid",
    (json) => checkParameters({ type: "object", properties: { it: { default: JSON.parse(json) } } }),
  ],
];

function codeOf(gate: Gate, json: string): string {
  try {
    const answer = gate(json);
    return typeof answer === "string" && answer.length < 100 ? answer : "accepted";
  } catch (error) {
    if (TesseraError.is(error)) return error.code;
    throw error;
  }
}

const known = Object.getOwnPropertyNames(Object.prototype);
afterEach(() => {
  expect(Object.getOwnPropertyNames(Object.prototype)).toEqual(known); // P1
  expect(({} as { polluted?: unknown }).polluted).toBeUndefined();
  expect(([] as { polluted?: unknown }).polluted).toBeUndefined();
});

const POISON = [
  '{"__proto__":{"polluted":1}}',
  '{"__proto__":null}',
  '{"a":{"b":[{"__proto__":{"polluted":1}}]}}',
  '{"\\u005f\\u005fproto\\u005f\\u005f":{"polluted":1}}',
  '{"constructor":{"prototype":{"__proto__":{"polluted":1}}}}',
];
const HARMLESS = [
  '{"constructor":{"prototype":{"polluted":1}}}',
  '{"prototype":{"polluted":1}}',
  '{"toString":1,"valueOf":{}}',
];

describe("a key that poisons prototypes", () => {
  it.each(GATES)(
    "is refused at the gate of %s, as %s, however it is written and wherever it stands",
    (_, code, gate) => {
      expect(POISON.map((json) => codeOf(gate, json))).toEqual(POISON.map(() => code));
    },
  );

  it.each(GATES)("and its relatives poison nothing at the gate of %s", (_, __, gate) => {
    for (const json of HARMLESS) expect(() => codeOf(gate, json)).not.toThrow(); // P2
  });

  it("is no key of what a merge of defaults, fixed values and arguments makes", () => {
    const [call] = planCalls([{ name: "open__run", arguments: '{"constructor":{"polluted":1},"mood":{"deep":"x"}}' }], {
      catalog: registry.catalog(),
      vars: { project_id: "p", channel_id: "c", agent_id: "a" },
      mintCallId: () => "tc_1",
    });
    const made = call?.draft.arguments as JsonObject;
    expect(made).toMatchObject({ mood: { deep: "x" }, place: "here" });
    expect(Object.hasOwn(made, "__proto__")).toBe(false);
    expect(planned({ it: 1 })).toBe("accepted");
  });
});

const nested = (levels: number, open: string, close: string) => `${open.repeat(levels)}1${close.repeat(levels)}`;
const BOMBS: readonly (readonly [string, string])[] = [
  ["81 arrays", nested(81, "[", "]")],
  ["5,000 objects", nested(5_000, '{"a":', "}")],
  ["100,000 arrays", nested(100_000, "[", "]")],
  ["100,001 keys", `{${Array.from({ length: 100_001 }, (_, n) => `"k${n}":1`).join(",")}}`],
  ["3 MB of text", `"${"x".repeat(3_000_000)}"`],
  ["a number of a million digits", "9".repeat(1_000_000)],
];

describe("a value that explodes", () => {
  // What a program makes cannot be written as deep as text can: JSON.parse is not the gate.
  it.each(GATES)("is refused at the gate of %s, and costs less than a second", (name, _, gate) => {
    for (const [what, json] of BOMBS) {
      if (what.startsWith("3 MB") && ["JSON text", "a value", "a frame of a child"].includes(name)) continue; // within their limits
      const before = process.cpuUsage();
      const code = codeOf(gate, json);
      const { user, system } = process.cpuUsage(before);
      // Nor with what the gate says to a small value there, which may lack something else.
      expect(["accepted", codeOf(gate, '{"a":1}')], `${what} at ${name}`).not.toContain(code);
      expect((user + system) / 1_000, `${what} at ${name}`).toBeLessThan(CPU_MS_MAX); // P3
    }
  });

  it("in a pattern costs time in proportion to the text, and more than that is refused", () => {
    const before = process.cpuUsage();
    for (const pattern of [
      "^(a+)+$",
      "(a|a)*b\\1",
      "(?=a+)b",
      "((a{1,99}){1,99}){1,99}",
      `${"(".repeat(300)}a${")".repeat(300)}`,
    ]) {
      const schema = { type: "object", properties: { a: { type: "string", pattern } } };
      expect(
        codeOf(() => checkParameters(schema), ""),
        pattern,
      ).toBe("schema_invalid");
    }
    const slow = compileParameters({
      type: "object",
      properties: { a: { type: "string", pattern: "^(?:a|aa|a?a)*$" } },
    });
    expect(slow.issues({ a: `${"a".repeat(100_000)}!` })).not.toEqual([]);
    expect(process.cpuUsage(before).user / 1_000).toBeLessThan(CPU_MS_MAX);
  });
});
