import { ApiError } from "@tessera/client";
import { expect, it } from "vitest";
import { describeFailure } from "./failure.ts";

it.each([
  [
    "nobody there",
    new ApiError("refused", { status: 0, code: "upstream_unavailable" }),
    4,
    "Check that the server runs",
  ],
  ["too late", new ApiError("late", { status: 0, code: "timeout" }), 4, "Check that the server runs"],
  ["a wrong URL", new ApiError("no URL", { status: 0, code: "bad_request" }), 3, "Correct --url"],
  ["a gateway", new ApiError("bad gateway", { status: 502, code: "upstream_unavailable" }), 4, "Check that"],
  [
    "a wrong key",
    new ApiError("no key", { status: 401, code: "unauthenticated", requestId: "r" }),
    3,
    "TESSERA_API_KEY",
  ],
  [
    "a key without the right",
    new ApiError("no", { status: 403, code: "forbidden", requestId: "r" }),
    3,
    "role and project",
  ],
  ["something that is not Tessera", new ApiError("odd", { status: 404, code: "not_found" }), 3, "not Tessera's API"],
  ["a mistake", new ApiError("bad", { status: 400, code: "bad_request", requestId: "r" }), 3, "Correct what is named"],
  ["a conflict", new ApiError("conflict", { status: 409, code: "conflict", requestId: "r" }), 1, "."],
])("%s exits with the right code and says what to do", (_, error, exitCode, todo) => {
  const failure = describeFailure(error);
  expect(failure.exitCode).toBe(exitCode);
  expect(failure.todo).toContain(todo);
  expect(failure.message).toBe(error.message);
});
