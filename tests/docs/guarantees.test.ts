// The page of guarantees names tests. A guarantee whose test is gone, or was given another title, is found here.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";

const DOCS = join(import.meta.dirname, "../../docs");
const NAMED_TEST = /\[([^\]]+)\]\((\.\.\/[^)]+\.test\.ts)\)/g;

const page = readFileSync(join(DOCS, "guarantees.md"), "utf8");
const named = [...page.matchAll(NAMED_TEST)].map(([, title = "", path = ""]) => ({ title, path }));

it("names a test for every guarantee", () => {
  const rows = page.split("\n").filter((line) => line.startsWith("| **"));
  expect(rows.length).toBeGreaterThan(10);
  expect(rows.filter((row) => row.match(NAMED_TEST) === null)).toEqual([]);
});

it.each(named)("$path holds the test: $title", ({ title, path }) => {
  expect(readFileSync(join(DOCS, path), "utf8")).toContain(title);
});
