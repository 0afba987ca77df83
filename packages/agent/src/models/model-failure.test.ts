import { expect, it } from "vitest";
import { type ModelFailure, readFailure } from "./model-failure.ts";

const coded = (code: string) => Object.assign(new Error("told nowhere"), { code });
const named = (name: string, more: object = {}) => Object.assign(new Error("told nowhere"), { name, ...more });

const CASES: [string, unknown, "request" | "stream", string, boolean][] = [
  [
    "a name that does not resolve",
    new TypeError("fetch failed", { cause: coded("EAI_AGAIN") }),
    "request",
    "EAI_AGAIN",
    true,
  ],
  [
    "several addresses refused",
    Object.assign(new Error("x"), { errors: [coded("ECONNREFUSED")] }),
    "request",
    "ECONNREFUSED",
    true,
  ],
  [
    "a certificate",
    new TypeError("fetch failed", { cause: coded("CERT_HAS_EXPIRED") }),
    "request",
    "CERT_HAS_EXPIRED",
    true,
  ],
  ["a mistake of ours", coded("ERR_INVALID_ARG_TYPE"), "request", "could not be asked with this request", false],
  ["a refused prompt", named("AI_UnsupportedFunctionalityError"), "request", "(UnsupportedFunctionalityError)", false],
  [
    "a good status with nonsense",
    named("AI_APICallError", { statusCode: 200 }),
    "request",
    "did not answer as expected",
    true,
  ],
  ["an error that says ERROR in a stream", { code: "ERROR", message: "m" }, "stream", "in its stream (ERROR)", true],
  [
    "a status in a stream",
    { code: 529, type: "overloaded_error", message: "m" },
    "stream",
    "529 (overloaded_error)",
    true,
  ],
  ["a provider that knows better", { type: "x_error", isRetryable: false }, "stream", "(x_error)", false],
  ["a broken piece of a stream", named("AI_JSONParseError"), "stream", "broke off", true],
  ["a thrown text", "told nowhere", "stream", "reported an error in its stream", true],
  ["nothing thrown at all", undefined, "request", "could not be asked with this request", false],
];

it.each(CASES)("sorts and reports %s", (_, error, phase, text, retryable) => {
  const failure: ModelFailure = readFailure(error, phase, "key");
  expect(failure.text).toContain(text);
  expect(failure.retryable).toBe(retryable);
  expect(JSON.stringify(failure)).not.toContain("told nowhere");
});

it("takes the key out of a provider's sentence before it is cut, and out of identifiers", () => {
  const key = "sk-secret-value";
  const message = `${"x".repeat(290)}${key} and\nmore`;
  const failure = readFailure({ message, type: key, code: "busy" }, "stream", key);
  expect(failure).toEqual({
    text: "reported an error in its stream (busy)",
    retryable: true,
    said: `${"x".repeat(290)}[key] and `.slice(0, 300),
  });
});
