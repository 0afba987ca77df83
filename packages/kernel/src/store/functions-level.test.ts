import { expect, it } from "vitest";
import { withPresent } from "../../../../scripts/generators/functions-log.ts";
import { FUNCTIONS_DIGEST, FUNCTIONS_LEVEL, functionsAge, loggedDigests } from "./functions-level.ts";
import { readSqlFile } from "./sql-files.ts";

const [a, b, c] = ["a", "b", "c"].map((letter) => letter.repeat(64)) as [string, string, string];

it("the last line of the log is the digest of the functions as they are", () => {
  expect(loggedDigests(readSqlFile("functions.log")).at(-1), "run `npm run generate`").toBe(FUNCTIONS_DIGEST);
});

it("the first build with levels knows the digest of the last one without", () => {
  expect(loggedDigests(readSqlFile("functions.log"))[0]).toBe(
    "8ab5e27d2cd10a59ab4ac9b21cd96820b907ae6a592a4201f20825f17dc55370",
  );
});

it("a level grows with every change, also with one that takes another back, and by a merge of two", () => {
  const first = withPresent("# a log\n", a);
  expect(withPresent(first, a)).toBe(first);
  expect(loggedDigests(withPresent(withPresent(first, b), a))).toEqual([a, b, a]);
  const merged = `${first}${b}\n${c}\n`; // one side appended b, the other c
  expect(loggedDigests(withPresent(merged, c))).toHaveLength(3);
  expect(loggedDigests(withPresent(merged, b))).toHaveLength(4);
});

it.each([
  ["same", { digest: FUNCTIONS_DIGEST, level: 1 }],
  ["same", { digest: FUNCTIONS_DIGEST, level: null }],
  ["missing", null],
  ["older", { digest: a, level: FUNCTIONS_LEVEL - 1 }],
  ["older", { digest: a, level: null }],
  ["newer", { digest: a, level: FUNCTIONS_LEVEL + 1 }],
  ["other", { digest: a, level: FUNCTIONS_LEVEL }],
] as const)("functions are %s than or as this build's where the store says %o", (age, installed) => {
  expect(functionsAge(installed)).toBe(age);
});
