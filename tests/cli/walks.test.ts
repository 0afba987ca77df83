// The walks of ARCHITECTURE.md, followed: one `tessera run` whose agent calls a tool of the placement `service` goes through all
// three of them, and through nothing that only some runs need.
//
// Method: V8 counts the calls of each function of the process (NODE_V8_COVERAGE) and lists what was loaded.

import { globSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { beforeAll, describe, expect, it } from "vitest";
import { optionalParts, ROOT, type Step, walks } from "../layering/walks.ts";
import { runTessera } from "./run-tessera.ts";

const sourceOf = (path: string) => JSON.stringify(pathToFileURL(join(ROOT, "packages", path)).href);
const BUNDLE = `
import { defineAgent, defineModel } from ${sourceOf("agent/src/index.ts")};
import { defineTool } from ${sourceOf("tool/src/index.ts")};

const echo = defineTool({
  name: "echo__run",
  parameters: { type: "object", properties: { text: { type: "string" } }, required: ["text"] },
  effect: "once",
  placement: "service",
  target: "echo",
  handler: (_, { text }) => ({ text }),
});
const model = defineModel({
  name: "script",
  provider: "scripted",
  options: {
    rules: [
      { when: { step: 0 }, reply: { toolCalls: [{ name: "echo__run", arguments: { text: "hello" } }] } },
      { reply: { text: "{{result.text}}" } },
    ],
  },
});
export default { tools: [echo], models: [model], agents: [defineAgent({ name: "caller", model, tools: [echo] })] };
`;

interface Coverage {
  readonly result: readonly {
    readonly url: string;
    readonly functions: readonly {
      readonly functionName: string;
      readonly ranges: readonly { readonly count: number }[];
    }[];
  }[];
}

/** File of the repository → the functions in it that were called. */
const called = new Map<string, Set<string>>();

beforeAll(async () => {
  const directory = mkdtempSync(join(tmpdir(), "tessera-walk-"));
  writeFileSync(join(directory, "tessera.config.ts"), BUNDLE);
  const coverage = join(directory, "coverage");
  const ran = await runTessera(["run", directory, "--input", "go"], { NODE_V8_COVERAGE: coverage });
  expect(ran).toMatchObject({ exitCode: 0, out: "hello\n" });
  for (const file of readdirSync(coverage)) {
    const { result } = JSON.parse(readFileSync(join(coverage, file), "utf8")) as Coverage;
    for (const { url, functions } of result) {
      if (!url.startsWith("file:")) continue;
      const path = relative(ROOT, fileURLToPath(url));
      const names = called.get(path) ?? new Set();
      called.set(path, names);
      for (const { functionName, ranges } of functions) if ((ranges[0]?.count ?? 0) > 0) names.add(functionName);
    }
  }
});

const isSql = ({ file }: Step) => file.endsWith(".sql");

describe.each(walks())("the walk through $title", ({ steps }) => {
  it("goes through every function that it names", () => {
    const missed = steps.filter((step) => !isSql(step) && called.get(step.file)?.has(step.name) !== true);
    expect(missed).toEqual([]);
  });
});

describe("a tessera run that does not use", () => {
  it.each(optionalParts())("$name loads of it what the core needs, and nothing else", ({ core, loaded }) => {
    const isFile = loaded.endsWith(".ts");
    const files = isFile
      ? [loaded]
      : globSync(`${loaded}/**/*.ts`, { cwd: ROOT }).filter((file) => !file.endsWith(".test.ts"));
    const behind = files.filter((file) => !core.includes(file));
    expect(behind.length).toBeGreaterThan(0);
    expect(behind.filter((file) => called.has(file))).toEqual([]);
    expect(core.filter((file) => !called.has(file))).toEqual([]);
  });
});
