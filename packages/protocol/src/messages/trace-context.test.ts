import { describe, expect, test } from "vitest";
import { childTraceparent, normalizeTraceId, parseTraceparent, resolveTrace, traceparentOf } from "./trace-context.ts";

const TRACE = "0af7651916cd43dd8448eb211c80319c";
const PARENT = `00-${TRACE}-b7ad6b7169203331-01`;
const ids = { traceId: () => "a".repeat(32), spanId: () => "b".repeat(16) };

test("a valid traceparent is read in any casing", () => {
  expect(parseTraceparent(PARENT.toUpperCase())).toEqual({ trace_id: TRACE, span_id: "b7ad6b7169203331", flags: "01" });
});

test.each([
  ["empty", ""],
  ["an all-zero trace id", `00-${"0".repeat(32)}-b7ad6b7169203331-01`],
  ["an all-zero span id", `00-${TRACE}-${"0".repeat(16)}-01`],
  ["version ff", `ff-${TRACE}-b7ad6b7169203331-01`],
  ["letters that are not hex", `00-${"g".repeat(32)}-b7ad6b7169203331-01`],
  ["ten kilobytes", PARENT.repeat(200)],
  ["a tail", `${PARENT}-x`],
])("%s is not a traceparent", (_, text) => {
  expect(parseTraceparent(text)).toBeNull();
});

test("a child has the same trace and flags and a new span", () => {
  expect(childTraceparent(`00-${TRACE}-b7ad6b7169203331-00`, ids)).toBe(`00-${TRACE}-${"b".repeat(16)}-00`);
  expect(traceparentOf(ids.traceId(), ids.spanId())).toBe(`00-${"a".repeat(32)}-${"b".repeat(16)}-01`);
});

test("a bare trace id may be a UUID", () => {
  expect(normalizeTraceId("0AF76519-16cd-43dd-8448-eb211c80319c")).toBe(TRACE);
  expect(normalizeTraceId("0".repeat(32))).toBeNull();
  expect(normalizeTraceId("xyz")).toBeNull();
});

describe("settling on one trace", () => {
  test("a valid traceparent is kept and is no restart", () => {
    expect(resolveTrace({ traceparent: PARENT, trace_id: TRACE }, ids)).toEqual({
      trace_id: TRACE,
      traceparent: PARENT,
      restarted: false,
    });
  });

  test("an absent one is made without counting as a restart, under the bare id if there is one", () => {
    expect(resolveTrace({}, ids)).toMatchObject({ trace_id: "a".repeat(32), restarted: false });
    expect(resolveTrace({ trace_id: TRACE }, ids)).toMatchObject({ trace_id: TRACE, restarted: false });
  });

  test("a malformed one is replaced and reported", () => {
    expect(resolveTrace({ traceparent: "junk" }, ids)).toEqual({
      trace_id: "a".repeat(32),
      traceparent: `00-${"a".repeat(32)}-${"b".repeat(16)}-01`,
      restarted: true,
    });
  });

  test("two different traces are a violation", () => {
    expect(() => resolveTrace({ traceparent: PARENT, trace_id: "c".repeat(32) }, ids)).toThrow(
      expect.objectContaining({ code: "protocol_violation" }),
    );
  });
});
