import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  BadRequest,
  Conflict,
  errorOf,
  NotFound,
  ProtocolViolation,
  TesseraError,
  UpstreamUnavailable,
} from "./errors.ts";
import { buildErrorResultFromException, cutMessage, normalizeError } from "./normalize-error.ts";

describe("an error object is made from", () => {
  test.each([
    ["nothing", null, { code: "unknown_error", message: "unknown error", source: "unknown" }],
    [
      "an object with code and message",
      { code: "x", message: "m", retryable: true, extra: 1 },
      { code: "x", message: "m", source: "unknown", retryable: true },
    ],
    [
      "an object that names its source",
      { code: "x", message: "m", source: "jina" },
      { code: "x", message: "m", source: "jina" },
    ],
    [
      "an object in the flat form",
      { error_code: "x", error_message: "m", error_detail: { a: 1 } },
      { code: "x", message: "m", source: "unknown", detail: { a: 1 } },
    ],
    ["any other object", { a: 1 }, { code: "unknown_error", message: '{"a":1}', source: "unknown" }],
    ["text", "boom", { code: "unknown_error", message: "boom", source: "unknown" }],
    [
      "an Error",
      new TypeError("boom"),
      { code: "unknown_error", message: "boom", source: "unknown", detail: { name: "TypeError" } },
    ],
    [
      "an error of ours",
      new UpstreamUnavailable("down", { details: { status_code: 502 } }),
      {
        code: "upstream_unavailable",
        message: "down",
        source: "unknown",
        detail: { status_code: 502 },
        retryable: true,
        http_status: 503,
      },
    ],
    [
      "a tool's error with advice",
      Object.assign(new Error("bad"), {
        code: "E_TOOL_INVALID_ARGS",
        suggestion: "use q",
        helpUrl: "https://example.com",
      }),
      {
        code: "bad_request",
        message: "bad",
        source: "unknown",
        detail: { suggestion: "use q", helpUrl: "https://example.com", code: "E_TOOL_INVALID_ARGS" },
      },
    ],
    [
      "an error of the system",
      Object.assign(new Error("no file"), { code: "ENOENT" }),
      { code: "unknown_error", message: "no file", source: "unknown", detail: { code: "ENOENT" } },
    ],
  ])("%s", (_, value, expected) => {
    expect(normalizeError(value)).toEqual(expected);
  });

  test("a timeout of the platform", () => {
    expect(normalizeError(new DOMException("late", "TimeoutError")).code).toBe("tool_timeout");
  });

  test("anything at all, without throwing and as JSON", () => {
    const hostile = [
      new Proxy(
        {},
        {
          get: () => {
            throw new Error("no");
          },
        },
      ),
      { [Symbol.for("tessera.error")]: true },
      Object.assign(new Error("x"), { message: 5 }),
      Object.create(null),
      () => 1,
      Symbol("s"),
    ];
    for (const value of hostile) expect(normalizeError(value).code).toMatch(/^[a-z_]+$/);
    fc.assert(
      fc.property(fc.anything({ withBigInt: true }), (value) => {
        const error = normalizeError(value);
        expect(JSON.parse(JSON.stringify(error))).toEqual(error);
        expect(error.message.length).toBeLessThanOrEqual(1000);
      }),
    );
  });
});

describe("a message", () => {
  test("is cut to its limit including the marker", () => {
    expect(cutMessage("x".repeat(1000))).toHaveLength(1000);
    expect(cutMessage("x".repeat(1001))).toBe(`${"x".repeat(985)}... (truncated)`);
    expect(cutMessage("abcdef", 3)).toBe("abc");
    expect(normalizeError("y".repeat(10_000_000)).message).toHaveLength(1000);
    expect(normalizeError("y".repeat(100), { messageLimit: 20 }).message).toBe("yyyyy... (truncated)");
  });

  test("is never cut in the middle of a character, and holds nothing that cannot be stored", () => {
    expect(cutMessage("🙂".repeat(600), 100).isWellFormed()).toBe(true);
    expect(normalizeError("a\0b\ud800").message).toBe("a\ufffdb\ufffd");
  });

  test("holds no stack", () => {
    expect(JSON.stringify(buildErrorResultFromException(new Error("boom")))).not.toContain(".test.ts");
  });
});

test("a thrown error becomes a failed result, flat for models and nested for programs", () => {
  const error = {
    code: "not_found",
    message: "no such page",
    source: "tool",
    detail: { page: 7 },
    retryable: false,
    http_status: 404,
  };
  expect(buildErrorResultFromException(new NotFound("no such page", { details: { page: 7 } }))).toEqual({
    status: "failed",
    result: { error_code: "not_found", error_message: "no such page", error, error_detail: { page: 7 } },
    error,
  });
  expect(buildErrorResultFromException("x").error.code).toBe("internal_error");
});

test("a protocol violation is a bad request to the model, and says what it was", () => {
  const { error } = buildErrorResultFromException(new ProtocolViolation("wrong card", { details: { header: "h" } }));
  expect(error).toMatchObject({ code: "bad_request", detail: { kind: "protocol_violation", header: "h" } });
});

describe("our errors", () => {
  test("carry the code of their class, its retry and its status", () => {
    const error = new Conflict("gone", { code: "already_settled", cause: "c" });
    expect(error).toMatchObject({
      name: "Conflict",
      code: "already_settled",
      retry: "never",
      http: 409,
      cause: "c",
      details: {},
    });
    expect(error).toBeInstanceOf(TesseraError);
    expect(new TesseraError("storage_error", "x").retry).toBe("same-call");
  });

  test("are recognised across two installed copies", () => {
    expect(TesseraError.is(new BadRequest("x"))).toBe(true);
    expect(TesseraError.is({ [Symbol.for("tessera.error")]: true })).toBe(true);
    expect(TesseraError.is(new Error("x")) || TesseraError.is(null) || TesseraError.is("x")).toBe(false);
  });

  test("are made from a code in the class that the catalogue names", () => {
    expect(errorOf("card_not_found", "x")).toBeInstanceOf(NotFound);
    expect(errorOf("card_not_found", "x").code).toBe("card_not_found");
  });
});
