// What can be known of a bundle without running it.

import { existsSync } from "node:fs";
import { mkdir, mkdtemp, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { validateBundle } from "./validate-bundle.ts";

let bundle: string;
beforeEach(async () => {
  bundle = await realpath(await mkdtemp(join(tmpdir(), "tessera-validate-")));
});
afterEach(() => rm(bundle, { recursive: true, force: true }));

async function write(files: Readonly<Record<string, string>>): Promise<void> {
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(bundle, path)), { recursive: true });
    await writeFile(join(bundle, path), text);
  }
}

function resource(kind: string, name: string, spec: string): string {
  return `apiVersion: goondan.ai/v1\nkind: ${kind}\nmetadata: { name: ${name} }\nspec:\n${spec}---\n`;
}

const MODEL = resource("Model", "m", "  provider: scripted\n  options: { rules: [{ reply: { text: hi } }] }\n");
const check = (env: Record<string, string> = {}, path = bundle) => validateBundle(path, { env });
const codes = (report: Awaited<ReturnType<typeof check>>) =>
  report.findings.map(({ severity, code, file, line }) => `${severity} ${code} ${file}:${line}`);

describe("a bundle", () => {
  it("without mistakes has no findings, and is counted", async () => {
    await write({
      "tessera.yaml": [
        MODEL,
        resource("Tool", "t", "  entry: ./t.mjs\n  exports: [{ name: x }, { name: y }]\n"),
        resource("Agent", "a", "  modelConfig: { modelRef: Model/m }\n  tools: [{ ref: Tool/t }]\n"),
        resource("Swarm", "s", "  entryAgent: Agent/a\n  agents: [{ ref: Agent/a }]\n"),
      ].join(""),
      "t.mjs": "export const handlers = { x: () => 1, y: () => 2 };",
    });
    const report = await check();
    expect(report.findings).toEqual([]);
    expect(report.counts).toEqual({ agents: 1, tools: 2, models: 1, swarms: 1, extensions: 0 });
  });

  it("has each of its mistakes told once, with its place, what was expected and what was found", async () => {
    await write({
      "tessera.yaml": [
        MODEL,
        resource("Tool", "broken", "  entry: ./t.mjs\n  exports: [{ name: x, parameters: { type: strange } }]\n"),
        resource(
          "Agent",
          "a",
          "  modelConfig: { modelRef: Model/nope }\n  tools: [{ ref: Tool/broken }, { ref: Tool/none }]\n",
        ),
      ].join(""),
      "tools.yaml": "a: [1\n",
      "swarm.yaml": "apiVersion: goondan.ai/v2\nkind: Swarm\nmetadata: { name: s }\nspec: {}\n",
    });
    const { findings } = await check();
    const errors = findings.filter(({ severity }) => severity === "error");
    expect(errors.map(({ file, code }) => `${file} ${code}`).sort()).toEqual([
      "swarm.yaml E_CONFIG_UNSUPPORTED_API_VERSION",
      "tessera.yaml E_CONFIG_REF_NOT_FOUND",
      "tessera.yaml E_CONFIG_REF_NOT_FOUND",
      "tessera.yaml E_CONFIG_SCHEMA_INVALID",
      "tools.yaml E_CONFIG_PARSE_ERROR",
    ]);
    expect(findings.find(({ file }) => file === "swarm.yaml")).toMatchObject({
      line: 1,
      column: 13,
      expected: "tessera/v1",
      found: '"goondan.ai/v2"',
    });
    for (const { message, file } of findings) {
      expect(message.startsWith(`${file}:`)).toBe(false); // the place is in its own fields
    }
  });

  it("has its modules looked at in another process, inline ones too, and missing handlers told", async () => {
    await write({
      "tessera.yaml": ["inline", "isolated"]
        .map((placement) =>
          resource("Tool", placement, `  placement: ${placement}\n  entry: ./t.mjs\n  exports: [{ name: x }]\n`),
        )
        .join(""),
      "t.mjs": `import { writeFileSync } from "node:fs";
        writeFileSync(new URL("./loaded-" + process.pid, import.meta.url), "");
        export const handlers = { other: () => 1 };`,
    });
    const report = await check();
    expect(codes(report)).toEqual([
      "error E_CONFIG_SCHEMA_INVALID tessera.yaml:6",
      "error E_CONFIG_SCHEMA_INVALID tessera.yaml:14",
    ]);
    expect(report.findings[0]?.message).toContain("has no handler for x; its handlers are other");
    expect(existsSync(join(bundle, `loaded-${process.pid}`))).toBe(false);
  });

  it("is warned about keys that do nothing and about variables that are not set, and a field that there is not is a mistake", async () => {
    const key = "  provider: openai\n  model: gpt\n  apiKey: { valueFrom: { env: MY_KEY } }\n";
    const tool =
      "  placement: edge\n  envs: { token: TOKEN }\n  exports: [{ name: x, options: { placement: edge }, parameters: { type: object, properties: { token: { type: string } } } }]\n";
    await write({ "tessera.yaml": resource("Model", "m", `${key}  endpont: x\n`) + resource("Tool", "t", tool) });
    expect(codes(await check()).sort()).toEqual([
      "error E_CONFIG_SCHEMA_INVALID tessera.yaml:8",
      "info served_elsewhere tessera.yaml:13",
      "warning env_missing tessera.yaml:16",
      "warning env_missing tessera.yaml:7",
      "warning unknown_key tessera.yaml:16",
    ]);
    expect(codes(await check({ MY_KEY: "k", TOKEN: "t" })).filter((text) => text.includes("env_"))).toEqual([]);
  });

  it("hears once for each resource that a tool takes the place of a built-in one", async () => {
    const exports = "  entry: ./t.mjs\n  exports: [{ name: read }, { name: write }, { name: more }]\n";
    await write({
      "tessera.yaml": [
        MODEL,
        resource("Tool", "file-system", exports),
        resource("Agent", "a", "  modelConfig: { modelRef: Model/m }\n  tools: [Tool/file-system]\n"),
        resource("Swarm", "s", "  entryAgent: Agent/a\n  agents: [Agent/a]\n"),
      ].join(""),
      "t.mjs": "export const handlers = { read: () => 1, write: () => 2, more: () => 3 };",
    });
    const { findings } = await check();
    expect(findings.map(({ severity, code }) => `${severity} ${code}`)).toEqual(["info named_like_builtin"]);
    expect(findings[0]?.message).toMatch(
      /^file-system__read is named like a built-in tool; .*the built-in is not offered/,
    );
  });

  it("reports that a Tool without entry and placement is served by another process", async () => {
    await write({ "tessera.yaml": resource("Tool", "t", "  exports: [{ name: x }]\n") });
    const { findings } = await check();
    expect(findings).toMatchObject([{ severity: "warning", code: "no_entry", line: 4 }]);
    expect(findings[0]?.message).toContain("served by the process that listens on target t");
  });

  it("has its extensions looked at: each must export register", async () => {
    await write({
      "tessera.yaml": ["good", "bad", "gone"]
        .map((name) => resource("Extension", name, `  entry: ./${name}.mjs\n`))
        .join(""),
      "good.mjs": "export function register() {}",
      "bad.mjs": "export const other = 1;",
    });
    const { findings } = await check();
    expect(findings.map(({ code, message }) => `${code} ${message}`)).toEqual([
      "E_EXT_LOAD the module ./bad.mjs exports no register(api, config); it exports other",
      expect.stringMatching(/^E_CONFIG_ENTRY_NOT_FOUND gone: /),
    ]);
  });

  it("written in code has its mistakes at the name they are about", async () => {
    await write({
      "tessera.config.mjs": `export default {
  agents: [
    { apiVersion: "goondan.ai/v1", kind: "Agent", metadata: { name: "writer" }, spec: { modelConfig: { modelRef: "Model/none" } } },
  ],
};
`,
    });
    const { findings } = await check();
    const [mistake] = findings.filter(({ severity }) => severity === "error");
    expect(mistake).toMatchObject({ code: "E_CONFIG_REF_NOT_FOUND", file: "tessera.config.mjs", line: 3, column: 69 });
    expect(findings.map(({ code }) => code)).toContain("config_imported");
  });

  it("that defines a tool in code with a schema that cannot be checked has the mistake at the tool's name", async () => {
    await write({
      "tessera.config.ts": `import { defineTool } from "@tessera/tessera";
const parameters = { type: "object", properties: { k: { type: "string", pattern: "(" } } };
export default { tools: [defineTool({ name: "bad__pattern", parameters, handler: () => null })] };
`,
    });
    const { findings } = await check();
    const mistakes = findings.filter(({ severity }) => severity === "error");
    expect(mistakes).toMatchObject([
      { code: "E_CONFIG_SCHEMA_INVALID", file: "tessera.config.ts", line: 3, column: 45 },
    ]);
    expect(mistakes[0]?.message).toContain("the tool bad__pattern cannot be used: /parameters/properties/k/pattern");
  });

  it("is warned about a scripted call of a tool that the agent does not have, and not about one that it has", async () => {
    const rules = (name: string, when = "") =>
      resource(
        "Model",
        "m",
        `  provider: scripted\n  options:\n    rules:\n      - ${when}reply: { toolCalls: [{ name: ${name} }] }\n`,
      );
    const agent = (name: string, more: string) =>
      resource("Agent", name, `  modelConfig: { modelRef: Model/m }\n${more}`);
    const tool = resource("Tool", "t", "  entry: ./t.mjs\n  exports: [{ name: x }]\n");
    const agents = agent("a", "  tools: [{ ref: Tool/t }]\n") + agent("b", "  mustEndWith: []\n");
    const swarm = resource("Swarm", "s", "  entryAgent: Agent/a\n  agents: [{ ref: Agent/a }, { ref: Agent/b }]\n");
    const said = async (model: string) => {
      await write({
        "tessera.yaml": model + tool + agents + swarm,
        "t.mjs": "export const handlers = { x: () => 1 };",
      });
      return (await check()).findings;
    };
    expect(await said(rules("t__x"))).toEqual([]); // one of those who may be meant has it
    expect(await said(rules("submit_result"))).toEqual([]);
    expect(await said(rules("t__y"))).toMatchObject([
      {
        severity: "warning",
        code: "unknown_tool",
        line: 8,
        message: expect.stringContaining("calls t__y, which is no tool of a, b"),
      },
    ]);
    expect(await said(rules("t__x", "when: { agent: b }\n        "))).toMatchObject([
      { code: "unknown_tool", line: 9 },
    ]);
  });

  it("is warned about files with resources that are not read, and not about other YAML", async () => {
    await write({
      "tessera.yaml": MODEL,
      "mine.yml": `# mine\n${MODEL}`,
      "own.yml": MODEL.replace("goondan.ai/v1", "tessera/v1"),
      "other.yaml": "version: 1\n",
      "sub/deep.yaml": MODEL,
    });
    expect(codes(await check())).toEqual(["warning unread_file mine.yml:2", "warning unread_file own.yml:1"]);
  });

  it("has its settings checked: keys that are none, and values that do not fit", async () => {
    await write({ "tessera.yaml": resource("Package", "p", "  settings: { port: 8100, prot: 1 }\n") });
    expect(codes(await check())).toEqual(["error E_CONFIG_SCHEMA_INVALID tessera.yaml:5"]);
    await write({ "tessera.yaml": resource("Package", "p", "  settings: { port: many }\n") });
    const { findings } = await check();
    expect(findings).toMatchObject([{ severity: "error", line: 5, column: 15 }]);
    expect(findings[0]?.message).toContain("must be");
  });

  it("may be one file of any name, read alone", async () => {
    await write({ "mine.yaml": MODEL, "tessera.yaml": "a: [1\n" });
    const report = await check({}, join(bundle, "mine.yaml"));
    expect(report).toMatchObject({ findings: [], counts: { models: 1 } });
  });

  it("that holds no resource hears so", async () => {
    await write({ "tessera.yaml": "hello: world\n" });
    expect(codes(await check())).toEqual(["warning no_resources tessera.yaml:1"]);
  });

  it("that is not there is refused", async () => {
    await expect(check({}, join(bundle, "nowhere"))).rejects.toMatchObject({ code: "E_CONFIG_ENTRY_NOT_FOUND" });
  });
});
