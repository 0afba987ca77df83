import { expect, it } from "vitest";
import { isHung } from "./is-hung.ts";

it.each([
  ["an endless loop, after its time", { ms: 10_000, cpuMs: 9_900 }, true],
  ["an endless loop that shares its CPU with another", { ms: 10_000, cpuMs: 5_000 }, true],
  ["an endless loop, before its time", { ms: 9_999, cpuMs: 9_999 }, false],
  ["a system call that does not return", { ms: 10_000, cpuMs: 40 }, true],
  ["a process that is kept from the CPU", { ms: 10_000, cpuMs: 1_500 }, false],
  ["one that is kept from it for six times as long", { ms: 60_000, cpuMs: 9_000 }, true],
])("%s", (_, silence, expected) => {
  expect(isHung(silence, 10_000)).toBe(expected);
});
