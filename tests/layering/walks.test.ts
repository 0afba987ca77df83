// The walks of ARCHITECTURE.md are true: each step names a function of a file that is there, and the counts are those of the
// steps. That the functions are called, and what a start loads, is followed in tests/cli/walks.test.ts.

import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { optionalParts, ROOT, type Step, type Walk, walks } from "./walks.ts";

function isDefined({ file, name }: Step): boolean {
  const text = readFileSync(join(ROOT, file), "utf8");
  if (file.endsWith(".sql")) return text.includes(`create or replace function l0.${name}(`);
  const forms = [
    `function\\*? ${name}[(<]`, // a declaration
    `^ +(?:async )?${name}[(<].*[{(,]$`, // a method, whose parameters may go on in the next line
    `\\b${name}: (?:async )?(?:\\w+ =>|\\()`, // a property
  ];
  return forms.some((form) => new RegExp(form, "m").test(text));
}

const keyOf = ({ file, name }: Step) => `${file} ${name}`;
const packageOf = ({ file }: Step) => file.split("/")[1];

function count({ steps }: Walk) {
  const isCrossing = (step: Step, at: number) => {
    const before = steps[at - 1];
    return before !== undefined && before.part === step.part && packageOf(before) !== packageOf(step);
  };
  return {
    functions: new Set(steps.map(keyOf)).size,
    files: new Set(steps.map(({ file }) => file)).size,
    crossings: steps.filter(isCrossing).length,
  };
}

/** What a durable call may grow to. More is not forbidden: it asks for a look at what could go instead. */
const CALL_MAX = { functions: 35, files: 25, crossings: 12 };

describe.each(walks())("the walk through $title", (walk) => {
  it("has steps that are numbered in order and named once", () => {
    expect(walk.steps.length).toBeGreaterThan(10);
    expect(walk.steps.map(({ number }) => number)).toEqual(walk.steps.map((_, at) => at + 1));
    expect(new Set(walk.steps.map(keyOf)).size).toBe(walk.steps.length);
  });

  it("names functions that are defined in the files named", () => {
    expect(walk.steps.filter(({ file }) => !existsSync(join(ROOT, file)))).toEqual([]);
    expect(walk.steps.filter((step) => !isDefined(step))).toEqual([]);
  });

  it("states the counts of its steps", () => {
    expect(walk.counts).toEqual(count(walk));
  });
});

it("the walks are a durable call, POST turns and tessera run", () => {
  expect(walks().map(({ title }) => title)).toEqual(["A durable call", "`POST …/turns`", "`tessera run`"]);
});

it("a durable call is followed through no more functions, files and packages than a reader can keep in mind", () => {
  const { functions, files, crossings } = count(walks()[0] as Walk);
  expect(functions).toBeLessThanOrEqual(CALL_MAX.functions);
  expect(files).toBeLessThanOrEqual(CALL_MAX.files);
  expect(crossings).toBeLessThanOrEqual(CALL_MAX.crossings);
});

it("the definition of a function is told from a call of it, and from one of another name", () => {
  const step = { number: 1, part: 1, file: "packages/agent/src/loop/take-step.ts" };
  expect(isDefined({ ...step, name: "commitCalls" })).toBe(true);
  expect(["planCalls", "commit", "suspendOnCalls"].filter((name) => isDefined({ ...step, name }))).toEqual([]);
});

it("what hangs on the core is named by files and folders that are there", () => {
  const parts = optionalParts();
  expect(parts.length).toBeGreaterThan(5);
  const paths = parts.flatMap(({ core, loaded }) => [...core, loaded]);
  expect(paths.filter((path) => path === "" || !existsSync(join(ROOT, path)))).toEqual([]);
});
