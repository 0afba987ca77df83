import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  getHeader,
  getIntegerHeader,
  HEADERS,
  normalizeHeaders,
  requireHeader,
  withoutSecretHeaders,
} from "./headers.ts";

const violation = expect.objectContaining({ code: "protocol_violation" });

describe("looking a header up", () => {
  test("works in any casing and gives back our casing", () => {
    const anyCase = fc.constantFrom(...Object.values(HEADERS)).chain((name) =>
      fc.tuple(
        fc.constant(name),
        fc
          .array(fc.boolean(), { minLength: name.length, maxLength: name.length })
          .map((upper) =>
            [...name].map((letter, index) => (upper[index] ? letter.toUpperCase() : letter.toLowerCase())).join(""),
          ),
      ),
    );
    fc.assert(
      fc.property(anyCase, ([name, spelled]) => {
        expect(getHeader({ [spelled]: " v " }, name)).toBe("v");
        expect(Object.entries(normalizeHeaders({ [spelled]: "v" }))).toEqual([[name, "v"]]);
      }),
    );
  });

  test("answers null for a header that is absent, null or empty", () => {
    expect(getHeader({}, HEADERS.agent_id)).toBeNull();
    expect(getHeader({ "CG-Agent-Id": "  " }, HEADERS.agent_id)).toBeNull();
    expect(getHeader({ "CG-Agent-Id": null }, HEADERS.agent_id)).toBeNull();
    expect(() => requireHeader({}, HEADERS.agent_id)).toThrow(violation);
  });

  test("refuses two different values, joined or in two casings, and accepts the same value twice", () => {
    expect(() => getHeader({ "CG-Agent-Id": "a\nb" }, HEADERS.agent_id)).toThrow(violation);
    expect(() => getHeader({ "CG-Agent-Id": "a", "cg-agent-id": "b" }, HEADERS.agent_id)).toThrow(violation);
    expect(() => normalizeHeaders({ "CG-Agent-Id": "a", "cg-agent-id": "b" })).toThrow(violation);
    expect(() => getHeader({ "CG-Agent-Id": "a\n" }, HEADERS.agent_id)).toThrow(violation);
    expect(getHeader({ "CG-Agent-Id": "a\na" }, HEADERS.agent_id)).toBe("a");
  });

  test("joins a split tracestate and drops one that cannot be used", () => {
    expect(getHeader({ tracestate: "a=1\nb=2" }, HEADERS.tracestate)).toBe("a=1,b=2");
    expect(getHeader({ tracestate: "a=\u0007" }, HEADERS.tracestate)).toBeNull();
    expect(getHeader({ tracestate: "a".repeat(600) }, HEADERS.tracestate)).toBeNull();
  });
});

describe("an integer header", () => {
  test.each([
    ["0", 0],
    ["7", 7],
    ["9007199254740991", Number.MAX_SAFE_INTEGER],
  ])("reads %s", (text, value) => {
    expect(getIntegerHeader({ "CG-Turn-Epoch": text }, HEADERS.turn_epoch)).toBe(value);
  });

  test.each([
    "-1",
    "1.5",
    "1e3",
    "9007199254740993",
    "9007199254740992",
    "NaN",
    "+1",
    "007",
    "0x10",
    "١",
    "1 2",
    "Infinity",
  ])("refuses %s", (text) => {
    expect(() => getIntegerHeader({ "CG-Turn-Epoch": text }, HEADERS.turn_epoch)).toThrow(violation);
  });
});

test("foreign headers are kept, empty names and null values are not", () => {
  expect({ ...normalizeHeaders({ "X-Other": 5, "": "x", "X-Null": null, __proto__x: "y" }) }).toEqual({
    "X-Other": "5",
    __proto__x: "y",
  });
});

test.each([{ toString: 1, valueOf: 1 }, Object.create(null), ["a"], Symbol("s")])(
  "a value that is no text is refused, whatever its name: %#",
  (value) => {
    expect(() => normalizeHeaders({ "X-Other": value })).toThrow(violation);
    expect(() => normalizeHeaders({ "CG-Agent-Id": value })).toThrow(violation);
    expect(() => getHeader({ "CG-Agent-Id": value }, HEADERS.agent_id)).toThrow(violation);
  },
);

test("proofs of authority are taken out in any casing", () => {
  expect(withoutSecretHeaders({ "cg-call-ticket": "t", "CG-Report-Capability": "c", "CG-Agent-Id": "a" })).toEqual({
    "CG-Agent-Id": "a",
  });
});
