import { TesseraError } from "@tessera/protocol";
import { expect, it } from "vitest";
import { describeFailure } from "./failure.ts";

it.each([
  [new TesseraError("store_in_use", "held", { details: { kind: "locked" } }), 4],
  [new TesseraError("storage_error", "down", { details: { kind: "unavailable" } }), 4],
  [new TesseraError("storage_error", "cut", { details: { kind: "connection_lost" } }), 4],
  [new TesseraError("storage_error", "old", { details: { kind: "not_migrated" } }), 3],
  [new TesseraError("storage_error", "none", { details: { kind: "missing" } }), 3],
  [new TesseraError("storage_error", "no database", { details: { kind: "damaged" } }), 3],
  [new TesseraError("storage_error", "no such database", { details: { kind: "statement", sqlstate: "3D000" } }), 3],
  [new TesseraError("forbidden", "password", { details: { kind: "forbidden", sqlstate: "28P01" } }), 3],
  [new TesseraError("bad_request", "both"), 3],
  [new TesseraError("unsupported_version", "newer"), 3],
  [new TesseraError("storage_full", "disk", { details: { kind: "exhausted" } }), 1],
  [new TypeError("a bug"), 1],
  ["thrown text", 1],
])("%s exits %i and says what to do", (error, exitCode) => {
  const failure = describeFailure(error);
  expect(failure.exitCode).toBe(exitCode);
  expect(failure.todo).toMatch(/^[A-Z].*\.$/);
});
