import { ApiError } from "@tessera/client";
import { expect, it } from "vitest";
import { listOfProject } from "../connect/project-access.ts";
import { describeFailure } from "./failure.ts";

it.each([
  ["no answer", new ApiError("refused", { status: 0, code: "upstream_unavailable" }), 4, "Check that the server runs"],
  ["too late", new ApiError("late", { status: 0, code: "timeout" }), 4, "Check that the server runs"],
  ["a wrong URL", new ApiError("no URL", { status: 0, code: "bad_request" }), 3, "Correct --url"],
  ["a gateway", new ApiError("bad gateway", { status: 502, code: "upstream_unavailable" }), 4, "between here and"],
  [
    "a 500 of something in between",
    new ApiError("500", { status: 500, code: "internal_error" }),
    4,
    "between here and",
  ],
  ["a 500 of Tessera", new ApiError("500", { status: 500, code: "internal_error", requestId: "r" }), 1, "."],
  [
    "too many requests",
    new ApiError("too many", { status: 429, code: "rate_limited", requestId: "r", retryAfterMs: 1_500 }),
    4,
    "Wait 2 s, then repeat.",
  ],
  [
    "a path that is not there",
    new ApiError("no path", { status: 404, code: "not_found", requestId: "r", details: { field: "path" } }),
    3,
    "not the API's address",
  ],
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

it("a server whose store is away is reported as that, whatever was asked, without advice to check the address", () => {
  const meaning = "The database could not be reached; the write may or may not have happened.";
  const error = new ApiError(meaning, { status: 503, code: "storage_error", requestId: "r" });
  const { exitCode, message, todo } = describeFailure(error);
  expect({ exitCode, message }).toEqual({ exitCode: 4, message: "the server answers, but it cannot reach its store" });
  expect(todo).not.toContain("--url");
  expect(todo).toContain("repeat");
});

it("a path that is not there is not taken for an empty project", async () => {
  const fail = (field: string) => async () => {
    throw new ApiError("no", { status: 404, code: "not_found", requestId: "r", details: { field } });
  };
  await expect(listOfProject("default", fail("path"))).rejects.toThrow("no");
  expect(await listOfProject("default", fail("project_id"))).toEqual([]);
  await expect(listOfProject("other", fail("project_id"))).rejects.toThrow("there is no project other");
});
