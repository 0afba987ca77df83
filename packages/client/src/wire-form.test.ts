// The client's spelling and that of the wire.

import { readFileSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ApiError } from "./api-error.ts";
import { OPERATIONS, SHAPES } from "./operations.gen.ts";
import { wireDocument } from "./wire-document.ts";
import { camelCase, fromWire, toWire, type WireShape } from "./wire-form.ts";

const WIRE_NAME = /^[a-z][a-z0-9]*(_[a-z0-9]+)+$/;
/** What people keep in places that the document leaves open: keys of every spelling. */
const OPEN = { tool_call_id: 1, toolCallId: 2, "a b": [{ created_at: "x" }], __html: null };

describe("an answer", () => {
  it("has the spelling of TypeScript where the document names its fields, also in what it holds", () => {
    const turn = {
      agent_turn_id: "turn_1",
      ended_at: null,
      waiting_for: [{ code: "no_executor", says: "nobody", tool_call_id: "tc_1", agent_turn_ids: ["turn_2"] }],
      deliverable: { card_id: "card_1", data: OPEN },
      timeline: [{ at: "t", kind: "call_settled", agent_turn_id: null, detail: OPEN }],
    };
    expect(fromWire(turn, "Turn", SHAPES)).toEqual({
      agentTurnId: "turn_1",
      endedAt: null,
      waitingFor: [{ code: "no_executor", says: "nobody", toolCallId: "tc_1", agentTurnIds: ["turn_2"] }],
      deliverable: { cardId: "card_1", data: OPEN },
      timeline: [{ at: "t", kind: "call_settled", agentTurnId: null, detail: OPEN }],
    });
  });

  it.each<[string, object, readonly string[]]>([
    ["Card", { card_id: "c", content: OPEN, metadata: OPEN, tool_calls: [OPEN] }, ["content", "metadata", "toolCalls"]],
    ["Event", { agent_turn_id: "t", payload: OPEN }, ["payload"]],
    ["Tool", { tool_name: "t", parameters: OPEN, options: OPEN }, ["parameters", "options"]],
    ["ClaimedCall", { arguments: OPEN, message: OPEN, definition: OPEN, headers: OPEN }, ["arguments", "message"]],
    ["ToolCallEnded", { agent_turn_id: "t", result: OPEN, error: OPEN }, ["result", "error"]],
    ["Agent", { agent_id: "a", metadata: OPEN }, ["metadata"]],
    ["Profile", { profile_box_id: "b", profile: OPEN }, ["profile"]],
    ["AuditEntry", { audit_id: 1, detail: OPEN }, ["detail"]],
  ])("leaves what is open in a %s as it is", (name, document, open) => {
    const answer = fromWire(document, name, SHAPES) as Record<string, unknown>;
    expect(open.map((field) => answer[field])).toEqual(
      open.map((field) => (document as Record<string, unknown>)[field === "toolCalls" ? "tool_calls" : field]),
    );
    expect(Object.keys(answer).filter((field) => WIRE_NAME.test(field))).toEqual([]);
  });

  it("keeps what only a newer server knows, and what is not what the document says", () => {
    const odd = {
      agent_turn_id: "t",
      of_next_year: { its_own: 1 },
      waiting_for: "soon",
      steps: [null, 3],
      deliverable: 7,
    };
    const { agent_turn_id, waiting_for, ...rest } = odd;
    expect(fromWire(odd, "Turn", SHAPES)).toEqual({ agentTurnId: agent_turn_id, waitingFor: waiting_for, ...rest });
    for (const value of [null, 1, "x", [], undefined]) expect(fromWire(value, "Turn", SHAPES)).toEqual(value);
  });

  it("cannot reach a prototype", () => {
    const hostile = JSON.parse('{"agent_id": "a", "__proto__": {"is_admin": true}}') as object;
    const answer = fromWire(hostile, "Agent", SHAPES) as object;
    expect(Object.getPrototypeOf(answer)).toBe(Object.prototype);
    expect(Object.keys(answer)).toEqual(["agentId", "__proto__"]);
  });

  it("goes back to the wire as it came, for every document of the API", () => {
    const names = fc.constantFrom(...Object.keys(SHAPES));
    fc.assert(
      fc.property(
        names.chain((name) => fc.tuple(fc.constant(name), wireValue(name))),
        ([name, value]) => {
          const answer = fromWire(value, name, SHAPES);
          expect(toWire(answer, name, SHAPES, name)).toEqual(value);
          expect(spelled(answer, name)).toEqual([]);
        },
      ),
      { numRuns: 500 },
    );
  });

  it("can be had as the API sent it", () => {
    const deliverable = { cardId: "card_1", data: OPEN };
    expect(wireDocument("Deliverable", deliverable)).toEqual({ card_id: "card_1", data: OPEN });
  });
});

describe("a body", () => {
  const { bodyShape } = OPERATIONS.enqueueTurn;

  it("is sent as the wire spells it", () => {
    const body = { agent: "a", input: "x", instanceKey: "k", isFresh: true };
    expect(toWire(body, bodyShape, SHAPES, "body")).toEqual({
      agent: "a",
      input: "x",
      instance_key: "k",
      is_fresh: true,
    });
    const key = { role: "executor", delegationPolicy: { targetTags: ["t"], operations: ["send"] } };
    expect(toWire(key, OPERATIONS.createKey.bodyShape, SHAPES, "body")).toEqual({
      role: "executor",
      delegation_policy: { target_tags: ["t"], operations: ["send"] },
    });
  });

  it("keeps names that the wire itself spells so, and what is open", () => {
    const { callTool, callRuntime } = OPERATIONS;
    const event = { ordinal: 1, event: { createdAt: "t", metadata: OPEN }, options: { timeoutMs: 1 } };
    expect("bodyShape" in callRuntime).toBe(false); // nothing in it differs
    expect(toWire(event, undefined, SHAPES, "body")).toBe(event);
    expect(toWire({ arguments: OPEN, agentId: "a" }, callTool.bodyShape, SHAPES, "body")).toEqual({
      arguments: OPEN,
      agent_id: "a",
    });
  });

  it("with the wire's own spelling is refused, with the right one", () => {
    const wrong = () => toWire({ agent: "a", input: "x", instance_key: "k" }, bodyShape, SHAPES, "body of enqueueTurn");
    expect(wrong).toThrow(ApiError);
    expect(wrong).toThrow("body of enqueueTurn has instance_key, which is written instanceKey here");
  });
});

it("covers every field of the document that is written with an underscore", () => {
  const file = new URL("../../../docs/reference/openapi.json", import.meta.url);
  const document = JSON.parse(readFileSync(file, "utf8")) as { components: { schemas: object } };
  const named = new Set<string>();
  JSON.stringify(document.components.schemas, (key, value: unknown) => {
    if (key === "properties") for (const name of Object.keys(value as object)) named.add(name);
    return value;
  });
  const spelledHere = new Set(JSON.stringify(SHAPES).match(/[a-z][a-z0-9]*(_[a-z0-9]+)+/g));
  expect([...named].filter((name) => WIRE_NAME.test(name) && !spelledHere.has(name))).toEqual([]);
  expect([...named].filter((name) => name.includes("_") && camelCase(name) === name)).toEqual([]);
  expect(named.size).toBeGreaterThan(100);
});

/** A value of the wire that fits a shape, with strangers in it. */
function wireValue(shape: WireShape, depth = 0): fc.Arbitrary<unknown> {
  if (typeof shape === "string") return wireValue(SHAPES[shape] ?? {}, depth);
  if (Array.isArray(shape))
    return depth > 3 ? fc.constant([]) : fc.array(wireValue(shape[0], depth + 1), { maxLength: 3 });
  const { fields = [], within = {} } = shape as Exclude<WireShape, string | readonly [WireShape]>;
  const inner = Object.entries(within).map(([name, each]) => [name, wireValue(each, depth + 1)] as const);
  const plain = fields.map((name) => [name, fc.jsonValue({ maxDepth: 2 })] as const);
  const strangers = ["of_next_year", "a b", "ÄÖ_Ü"].map((name) => [name, fc.constant(OPEN)] as const);
  return fc.record(Object.fromEntries([...plain, ...inner, ...strangers]), { requiredKeys: [] });
}

/** The fields of a shape that are still as on the wire. */
function spelled(value: unknown, shape: WireShape): string[] {
  if (typeof value !== "object" || value === null) return [];
  if (typeof shape === "string") return spelled(value, SHAPES[shape] ?? {});
  if (Array.isArray(shape)) return (value as unknown[]).flatMap((item) => spelled(item, shape[0]));
  const { fields = [], within = {} } = shape as Exclude<WireShape, string | readonly [WireShape]>;
  const inner = Object.entries(within).flatMap(([name, each]) => {
    return spelled((value as Record<string, unknown>)[camelCase(name)], each);
  });
  return [...Object.keys(value).filter((key) => fields.includes(key)), ...inner];
}
