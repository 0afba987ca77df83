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

it.each([
  ["t.yaml:7:10: the module a.ts cannot be loaded: Cannot find module 'lodash' (a.ts:1:9)", /npm install lodash\)/],
  ["the module a.ts cannot be loaded: Cannot find module '@scope/name/sub' (a.ts:1:9)", /npm install @scope\/name\)/],
  ["the module a.ts cannot be loaded: Cannot find package 'zod' imported from b", /npm install zod\)/],
  ["the module a.ts cannot be loaded: Cannot find module './b.js' (a.ts:1:9)", /^Correct the module, then repeat\.$/],
  ["the module a.ts cannot be loaded: ParseError: Unexpected token (a.ts:1:9)", /^Correct the module, then repeat\.$/],
  ["t.yaml:7:10: effect must be one of read", /^Correct the field that is named\.$/],
])("of the mistake %j it says what is to be corrected, alone or as the one mistake of a bundle", (message, todo) => {
  const code = "E_CONFIG_SCHEMA_INVALID";
  expect(describeFailure(new TesseraError(code, message)).todo).toMatch(todo);
  const ofBundle = new TesseraError(code, message, { details: { mistakes: [{ code, message }] } });
  expect(describeFailure(ofBundle).todo).toMatch(todo);
});
