import { expect, it } from "vitest";
import { redact } from "./redact.ts";

it.each([
  ["postgres://me:secret@host/db", "postgres://me:***@host/db"],
  ["got 1: postgres://me:se/c@ret@host/db.", "got 1: postgres://me:***@host/db."],
  ["postgres://:secret@host", "postgres://:***@host"],
  ["postgres://host/db?user=me&password=secret&ssl=1", "postgres://host/db?user=me&password=***&ssl=1"],
  ["nats://host:4222 is down", "nats://host:4222 is down"],
  ["nothing to hide", "nothing to hide"],
])("no password is left in %s", (text, redacted) => {
  expect(redact(text)).toBe(redacted);
});

it.each([
  ["letters", "a".repeat(200_000)],
  ["addresses without a user", "a://b:".repeat(30_000)],
  ["addresses before one @", `${"a://".repeat(40_000)}@`],
])("200 KB of %s take time in proportion to their length", (_, text) => {
  const started = process.cpuUsage();
  redact(text);
  expect(process.cpuUsage(started).user / 1e3).toBeLessThan(1_000);
});
