import { describe, expect, it } from "vitest";
import { readToolBundle } from "./tool-bundle.ts";

const resource = (kind: string, name: string, spec = ""): string =>
  `apiVersion: goondan.ai/v1\nkind: ${kind}\nmetadata:\n  name: ${name}\n${spec}`;
const toolNamed = (name: string): string =>
  resource("Tool", name, "spec:\n  entry: ./a.ts\n  exports:\n    - name: run\n");

describe("a bundle of several files", () => {
  const bundle = readToolBundle([
    {
      path: "goondan.yaml",
      text: `${resource("Package", "'@me/pack'")}---\n${toolNamed("one")}---\n# nothing here\n---\nhello: world\n---\n- a list\n`,
    },
    {
      path: "agents.yaml",
      text: `${resource("Agent", "main")}---\n${resource("Swarm", "all")}---\n${resource("Connector", "web")}---\n${resource("Connection", "web")}`,
    },
    { path: "tools.yaml", text: Buffer.from(`${toolNamed("two")}---\n${resource("Model", "m")}`) },
  ]);

  it("gives its tools with file, line, entry and export", () => {
    expect(bundle.tools.map(({ definition, ...rest }) => ({ name: definition.tool_name, ...rest }))).toMatchObject([
      { name: "one__run", entry: "./a.ts", export_name: "run", file: "goondan.yaml", line: 13, column: 7 },
      { name: "two__run", entry: "./a.ts", export_name: "run", file: "tools.yaml", line: 8, column: 7 },
    ]);
  });

  it("gives its other resources as documents, and passes over what is none", () => {
    expect(bundle.others.map(({ kind, name, file, line }) => `${kind}/${name} ${file}:${line}`)).toEqual([
      "Package/@me/pack goondan.yaml:1",
      "Agent/main agents.yaml:1",
      "Swarm/all agents.yaml:6",
      "Connector/web agents.yaml:11",
      "Connection/web agents.yaml:16",
      "Model/m tools.yaml:10",
    ]);
    expect(bundle.others[1]?.document.locate("/metadata/name")).toEqual({ line: 4, column: 9 });
    expect(bundle.mistakes).toEqual([]);
  });
});

it("every mistake of every file is reported, and what is right is still given", () => {
  const { tools, others, mistakes } = readToolBundle([
    { path: "a.yaml", text: toolNamed("one") },
    { path: "b.yaml", text: "a: [1,\nb: 2" },
    { path: "c.yaml", text: `${toolNamed("one")}---\n${resource("Tol", "x")}---\n${resource("Agent", "A")}` },
    {
      path: "d.yaml",
      text: `${resource("Agent", "x").replace("v1", "v9")}---\n${resource("Agent", "y")}---\nkind: Tool\n`,
    },
    { path: "e.yaml", text: resource("Agent", "y") },
  ]);
  expect(mistakes.map(({ code, file, line, column }) => `${code} ${file}:${line}:${column}`)).toEqual([
    "E_CONFIG_PARSE_ERROR b.yaml:2:1",
    "E_CONFIG_DUPLICATE_NAME c.yaml:4:9",
    "E_CONFIG_UNKNOWN_KIND c.yaml:11:7",
    "E_CONFIG_INVALID_NAME c.yaml:18:9",
    "E_CONFIG_UNSUPPORTED_API_VERSION d.yaml:1:13",
    "E_CONFIG_UNSUPPORTED_API_VERSION d.yaml:11:1",
    "E_CONFIG_INVALID_NAME d.yaml:11:1",
    "E_CONFIG_SCHEMA_INVALID d.yaml:11:1",
    "E_CONFIG_DUPLICATE_NAME e.yaml:4:9",
  ]);
  expect(mistakes[1]?.message).toBe("c.yaml:4:9: Tool/one is already defined in a.yaml:4:9; rename one");
  expect(tools.map(({ file }) => file)).toEqual(["a.yaml"]);
  expect(others.map(({ name, file }) => `${name} ${file}`)).toEqual(["y d.yaml"]);
});
