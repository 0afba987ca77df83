import { DatabaseError } from "@tessera/kernel/ports";
import { expect, test } from "vitest";
import { isStalePlan, kindOfSqlstate, toDatabaseError } from "./sqlstate.ts";

test.each(
  [
    { kind: "connection_lost", states: ["08000", "08003", "08006", "25P03", "57P01", "57P02"] },
    { kind: "statement", states: ["08P01", "23505", "57014", "P0001"] },
    { kind: "unavailable", states: ["57P03", "53300"] },
    { kind: "retryable", states: ["40001", "40P01"] },
    { kind: "locked", states: ["55P03"] },
    { kind: "exhausted", states: ["53100", "53200"] },
    { kind: "forbidden", states: ["42501", "28P01"] },
  ].flatMap(({ kind, states }) => states.map((sqlstate) => ({ kind, sqlstate }))),
)("SQLSTATE $sqlstate is $kind", ({ sqlstate, kind }) => {
  expect(kindOfSqlstate(sqlstate)).toBe(kind);
});

function serverError(code: string, more: object = {}): Error {
  return Object.assign(new Error("from the server"), { severity: "ERROR", code, ...more });
}

test("a broken socket is connection_lost after sending and unavailable before", () => {
  const reset = Object.assign(new Error("read ECONNRESET"), { code: "ECONNRESET" });
  expect(toDatabaseError(reset, "sent", "query")).toMatchObject({
    kind: "connection_lost",
    sqlstate: null,
    cause: reset,
  });
  expect(toDatabaseError(reset, "connecting", "connect")).toMatchObject({ kind: "unavailable", sqlstate: null });
  expect(toDatabaseError(serverError("57P01"), "connecting", "connect").kind).toBe("unavailable");
});

test("a socket error whose code looks like a SQLSTATE is not taken for one", () => {
  const pipe = Object.assign(new Error("write EPIPE"), { code: "EPIPE" });
  expect(toDatabaseError(pipe, "sent", "query")).toMatchObject({ kind: "connection_lost", sqlstate: null });
});

test("an error that is sorted already passes unchanged", () => {
  const error = new DatabaseError("exhausted", "full");
  expect(toDatabaseError(error, "sent", "query")).toBe(error);
});

test("the addresses that were tried are named when a host has several", () => {
  const error = new AggregateError([
    new Error("connect ECONNREFUSED ::1"),
    new Error("connect ECONNREFUSED 127.0.0.1"),
  ]);
  expect(toDatabaseError(error, "connecting", "cannot connect").message).toBe(
    "cannot connect: connect ECONNREFUSED ::1; connect ECONNREFUSED 127.0.0.1",
  );
});

test("a plan is stale when its result type changed or the session forgot it, not for any unsupported feature", () => {
  expect(isStalePlan(serverError("0A000", { routine: "RevalidateCachedQuery" }))).toBe(true);
  expect(isStalePlan(serverError("26000"))).toBe(true);
  expect(isStalePlan(serverError("0A000", { routine: "transformLockingClause" }))).toBe(false);
  expect(isStalePlan(null)).toBe(false);
});
