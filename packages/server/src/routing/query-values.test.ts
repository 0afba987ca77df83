// Query text is taken as it is written or refused by its name.

import { TesseraError } from "@tessera/protocol";
import { describe, expect, it } from "vitest";
import { flagIn, given, idIn, idsIn, limitOf, textIn, timeIn, traceIdIn, wordIn } from "./query-values.ts";

function fieldOfRefusal(read: () => unknown): unknown {
  try {
    read();
  } catch (error) {
    if (TesseraError.is(error)) return error.details.field;
    throw error;
  }
  return "taken";
}

describe("limitOf", () => {
  const range = { max: 300, default: 80 };

  it("takes whole numbers of its range, and the default when nothing is said", () => {
    expect([limitOf({}, range), limitOf({ limit: "1" }, range), limitOf({ limit: "300" }, range)]).toEqual([
      80, 1, 300,
    ]);
  });

  it.each(["-1", "0", "301", "1e9", "NaN", "1.5", "", " 1", "+1", "01", "0x10", "1;drop table"])(
    "refuses %j",
    (limit) => {
      expect(fieldOfRefusal(() => limitOf({ limit }, range))).toBe("limit");
    },
  );
});

describe("timeIn", () => {
  it.each([
    "2026-01-31T08:00:00Z",
    "2026-01-31T08:00:00.123456+02:00",
    "2024-02-29T23:59:59-11:30",
    "2026-01-31T08:00:00+15:59",
  ])("keeps %s", (text) => {
    expect(timeIn({ since: text }, "since")).toBe(text);
  });

  it.each([
    "now",
    "infinity",
    "2026-01-31",
    "2026-01-31T08:00:00",
    "2026-02-30T00:00:00Z",
    "2023-02-29T00:00:00Z",
    "2026-13-01T00:00:00Z",
    "2026-01-01T25:00:00Z",
    "2026-01-01T00:00:00 02:00",
    "2026-01-01T00:00:00+16:00",
    "2026-01-01T00:00:00-23:59",
    "0000-01-01T00:00:00Z",
    "1767225600",
    "2026-01-01T00:00:00Z'; drop table x",
  ])("refuses %j", (text) => {
    expect(fieldOfRefusal(() => timeIn({ since: text }, "since"))).toBe("since");
  });
});

describe("the other values", () => {
  it("takes words of the list and refuses all others", () => {
    expect(wordIn({ order: "asc" }, "order", ["asc", "desc"])).toBe("asc");
    expect(fieldOfRefusal(() => wordIn({ order: "ASC" }, "order", ["asc", "desc"]))).toBe("order");
    expect(fieldOfRefusal(() => wordIn({ order: "id;drop table" }, "order", ["asc", "desc"]))).toBe("order");
  });

  it("takes true and false, and no other word for them", () => {
    expect([flagIn({ a: "true" }, "a"), flagIn({ a: "false" }, "a"), flagIn({}, "a")]).toEqual([
      true,
      false,
      undefined,
    ]);
    expect(fieldOfRefusal(() => flagIn({ a: "1" }, "a"))).toBe("a");
  });

  it("takes ids, and leaves out those that are not given", () => {
    expect(idsIn({ agent_id: "a1" }, ["agent_id", "step_id"])).toEqual({ agent_id: "a1" });
    expect(fieldOfRefusal(() => idIn({ agent_id: "a.b" }, "agent_id"))).toBe("agent_id");
    expect(fieldOfRefusal(() => idIn({ agent_id: "" }, "agent_id"))).toBe("agent_id");
  });

  it("takes short names without control characters, and trace ids in lower case", () => {
    expect(textIn({ tag: "Länder" }, "tag")).toBe("Länder");
    for (const tag of ["", "a\u0000b", "x".repeat(129), "\ud800"]) {
      expect(fieldOfRefusal(() => textIn({ tag }, "tag"))).toBe("tag");
    }
    expect(traceIdIn({ trace_id: "a".repeat(32) })).toBe("a".repeat(32));
    expect(fieldOfRefusal(() => traceIdIn({ trace_id: "A".repeat(32) }))).toBe("trace_id");
  });

  it("drops what is not there and keeps null", () => {
    expect(given({ a: 1, b: undefined, c: null })).toEqual({ a: 1, c: null });
  });
});
