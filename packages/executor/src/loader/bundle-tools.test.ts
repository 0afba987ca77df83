// Bundles as their authors wrote them, loaded from a directory.

import { mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createTestContext, type RegisteredTool, type ToolHandler } from "@tessera/tool";
import { describe, expect, it } from "vitest";
import { bundle, isolated, useBundleDirectory, write } from "../../test/bundle-directory.ts";
import { loadBundleTools } from "./bundle-tools.ts";
import { loadToolModule } from "./tool-module.ts";

useBundleDirectory();

function toolYaml(name: string, entry: string, exports: readonly string[], placement?: string): string {
  return [
    "apiVersion: goondan.ai/v1",
    "kind: Tool",
    `metadata: { name: ${name} }`,
    "spec:",
    `  entry: "${entry}"`,
    ...(placement === undefined ? [] : [`  placement: ${placement}`]),
    "  exports:",
    ...exports.map((exported) => `    - name: ${exported}`),
    "",
  ].join("\n");
}

const load = () => loadBundleTools(bundle, { isolated });

async function call(tool: RegisteredTool | undefined, input = {}) {
  if (tool?.code?.kind !== "function") throw new Error(`${tool?.definition.tool_name} is not loaded here`);
  return await tool.code.handler(createTestContext().ctx, input);
}

async function callModule(file: string, name: string, input = {}) {
  const { handlers } = await loadToolModule(file, { root: bundle });
  return await (handlers.get(name) as ToolHandler)(createTestContext().ctx, input);
}

// The minimal example of the Tool API reference, as published.
const TEXT_UTILS_YAML = `apiVersion: goondan.ai/v1
kind: Tool
metadata:
  name: text-utils
spec:
  entry: "./tools/text-utils/index.ts"
  exports:
    - name: uppercase
      description: "Convert text to uppercase"
      parameters:
        type: object
        properties:
          text:
            type: string
            description: "Text to convert"
        required: [text]
`;
const TEXT_UTILS = `import type { ToolHandler, ToolContext, JsonObject, JsonValue } from '@goondan/types';
// Note: ctx.runtime (AgentToolRuntime) is injected by the Runtime, not imported from @goondan/types.

export const handlers: Record<string, ToolHandler> = {
  uppercase: async (ctx: ToolContext, input: JsonObject): Promise<JsonValue> => {
    const text = String(input.text);
    ctx.logger.info(\`Converting "\${text}" to uppercase\`);
    return { result: text.toUpperCase() };
  },
};
`;

describe("a bundle", () => {
  it("gives the published text-utils example as an isolated tool, and runs it inline unchanged", async () => {
    await write({ "goondan.yaml": TEXT_UTILS_YAML, "tools/text-utils/index.ts": TEXT_UTILS });
    const { tools, mistakes } = await load();
    expect(mistakes).toEqual([]);
    expect(tools).toMatchObject([
      {
        definition: { tool_name: "text-utils__uppercase", description: "Convert text to uppercase" },
        code: { kind: "module", entry: join(bundle, "tools/text-utils/index.ts"), export_name: "uppercase" },
      },
    ]);
    await write({ "goondan.yaml": TEXT_UTILS_YAML.replace("spec:", "spec:\n  placement: inline") });
    const inline = await load();
    expect(await call(inline.tools[0], { text: "hello" })).toEqual({ result: "HELLO" });
  });

  it("loads a package with several exports and files, written for tsc and Bun", async () => {
    await write({
      "tessera.yaml": toolYaml("many", "./src/index.js", ["add", "shout", "where"], "inline"),
      "tsconfig.json": `{ "compilerOptions": { "baseUrl": ".", "paths": { "@lib/*": ["src/lib/*"] } } }`,
      "src/index.ts": `
        import { add } from './math.js';
        import { Color, Shouter } from './lib';
        import { suffix } from '@lib/suffix';
        import settings from './settings.json' with { type: 'json' };
        import legacy from './legacy.cjs';
        import { ToolError } from '@goondan/types';
        import { ToolError as Same } from '@tessera/tool';
        import { ToolError as Third } from '@tessera/tessera/tool';
        const ready = await Promise.resolve(true);
        export const handlers = {
          add,
          shout: (_ctx: unknown, input: { text: string }) => new Shouter(suffix).shout(input.text),
          where: () => ({ ready, color: Color.Red, mark: settings.mark, legacy: legacy.value, same: ToolError === Same && Same === Third }),
        };`,
      "src/math.ts": "export const add = (_: unknown, { a, b }: { a: number; b: number }): number => a + b;",
      "src/lib/index.ts": `
        export enum Color { Red = 'red' }
        export class Shouter { constructor(private readonly end: string) {} shout(text: string) { return text.toUpperCase() + this.end; } }`,
      "src/lib/suffix.ts": "export const suffix: string = '!';",
      "src/settings.json": `{ "mark": 7 }`,
      "src/legacy.cjs": "module.exports = { value: 'old' };",
    });
    const { tools, mistakes } = await load();
    expect(mistakes).toEqual([]);
    expect(tools.map(({ definition }) => definition.tool_name)).toEqual(["many__add", "many__shout", "many__where"]);
    expect(await call(tools[0], { a: 1, b: 2 })).toBe(3);
    expect(await call(tools[1], { text: "hey" })).toBe("HEY!");
    expect(await call(tools[2])).toEqual({ ready: true, color: "red", mark: 7, legacy: "old", same: true });
  });

  it("loads isolated modules in a child only", async () => {
    await write({
      "tools.yaml": toolYaml("apart", "apart.mjs", ["one"]),
      "apart.mjs": `import { writeFileSync } from "node:fs";
        writeFileSync(new URL("./loaded-by", import.meta.url), String(process.pid));
        export const handlers = { one: () => 1 };`,
    });
    expect((await load()).mistakes).toEqual([]);
    expect(Number(await readFile(join(bundle, "loaded-by"), "utf8"))).not.toBe(process.pid);
  });

  it("takes resource files by name, and nothing from dist, node_modules and .git", async () => {
    const handler = { "h.mjs": "export const handlers = { x: () => 1 };" };
    const named = ["tessera.yaml", "sub/tool.yml", "sub/deeper/resources.yaml"];
    const other = ["other.yaml", "dist/tool.yaml", "node_modules/p/tools.yaml", ".git/tool.yaml", "tool.json"];
    await write(handler);
    for (const [at, path] of [...named, ...other].entries()) {
      await write({ [path]: toolYaml(`tool-${at}`, "h.mjs", ["x"], "inline") });
    }
    const { tools } = await load();
    expect(tools.map(({ definition }) => definition.tool_name).sort()).toEqual(["tool-0__x", "tool-1__x", "tool-2__x"]);
  });

  it("takes tools from its config, and refuses a name that YAML gave already", async () => {
    await write({
      "tool.yaml": toolYaml("greet", "h.mjs", ["hello"], "inline"),
      "h.mjs": "export const handlers = { hello: () => 'yaml' };",
      "tessera.config.ts": `
        import { defineTool } from '@tessera/tessera';
        const greet = (name: string) => defineTool({ name, handler: () => ({ from: 'code' }) });
        export default { tools: [greet('code__hello'), greet('greet__hello')] };`,
    });
    const { tools, mistakes } = await load();
    expect(tools.map(({ definition }) => definition.tool_name)).toEqual(["greet__hello", "code__hello"]);
    expect(await call(tools[1])).toEqual({ from: "code" });
    expect(mistakes).toMatchObject([{ code: "E_CONFIG_DUPLICATE_NAME", file: "tessera.config.ts" }]);
  });

  it("refuses a tool in code whose schema cannot be checked, by its name, and takes the others", async () => {
    const tool = (name: string, parameters: string) =>
      `defineTool({ name: '${name}', parameters: { type: 'object', properties: { k: ${parameters} } }, handler: () => null })`;
    await write({
      "tessera.config.ts": `
        import { defineTool } from '@tessera/tessera';
        export default { tools: [
          ${tool("good__one", "{ type: 'string' }")},
          ${tool("bad__type", "{ type: 'strin' }")},
          ${tool("bad__pattern", "{ type: 'string', pattern: '(' }")},
        ] };`,
    });
    const { tools, mistakes } = await load();
    expect(tools.map(({ definition }) => definition.tool_name)).toEqual(["good__one"]);
    expect(mistakes.map(({ code, message }) => `${code} ${message}`)).toEqual([
      expect.stringMatching(
        /^E_CONFIG_SCHEMA_INVALID .*the tool bad__type cannot be used: \/parameters\/properties\/k\/type must be one of string/,
      ),
      expect.stringMatching(
        /^E_CONFIG_SCHEMA_INVALID .*the tool bad__pattern cannot be used: .* a parenthesis is not closed$/,
      ),
    ]);
  });

  it.each([
    ["export default { tools: 3 };", "tools that are no list"],
    ["export default { tools: [{ name: 'x' }] };", "tools[0] that was not made by defineTool"],
    ["export const tools = [];", "no default export"],
    ["throw new Error('broken config');", "broken config"],
  ])("says what is wrong with the config %s", async (text, message) => {
    await write({ "tessera.config.mjs": text });
    const { tools, mistakes } = await load();
    expect(tools).toEqual([]);
    expect(mistakes).toMatchObject([{ code: "E_CONFIG_SCHEMA_INVALID", line: 1 }]);
    expect(mistakes[0]?.message).toContain(message);
  });
});

describe("an entry module", () => {
  it.each([
    ["exports.handlers", "entry.cjs", "exports.handlers = { x: () => 'given' };"],
    ["module.exports", "entry.cjs", "module.exports = { handlers: { x: () => 'given' } };"],
    ["module.exports of a .js file", "entry.js", "module.exports = { handlers: { x: () => 'given' } };"],
    ["a named export", "entry.mjs", "export const handlers = { x: () => 'given' };"],
    ["a default export", "entry.ts", "export default { handlers: { x: (): string => 'given' } };"],
  ])("may give its handlers by %s", async (_, file, text) => {
    await write({ [file]: text });
    expect(await callModule(`./${file}`, "x")).toBe("given");
  });

  it.each([
    ["the compiled file where the source is named", "a.ts", "a.js"],
    ["the source where the compiled file is named", "a.js", "a.ts"],
    ["a file without its ending", "a", "a.ts"],
    ["the index of a directory", "lib", "lib/index.ts"],
  ])("is found as %s", async (_, entry, file) => {
    await write({ [file]: "export const handlers = { x: () => 1 };" });
    expect((await loadToolModule(entry, { root: bundle })).file).toBe(join(bundle, file));
  });

  it.each(["inline", "isolated"])(
    "that is missing or lies outside is a mistake with its place (%s)",
    async (placement) => {
      const outside = await mkdtemp(join(tmpdir(), "tessera-outside-"));
      await writeFile(join(outside, "x.mjs"), "export const handlers = { x: () => 1 };");
      await symlink(join(outside, "x.mjs"), join(bundle, "link.mjs"));
      await symlink(outside, join(bundle, "linked"));
      await write({
        "tool.yaml": ["missing.ts", "link.mjs", "linked/x.mjs"]
          .map((entry, at) => toolYaml(`t${at}`, entry, ["x"], placement))
          .join("---\n"),
      });
      const { tools, mistakes } = await load();
      expect(tools).toEqual([]);
      expect(mistakes.map(({ code }) => code)).toEqual(Array(3).fill("E_CONFIG_ENTRY_NOT_FOUND"));
      for (const { message } of mistakes) expect(message).toMatch(/^tool\.yaml:\d+:\d+: the entry /);
      await rm(outside, { recursive: true });
    },
  );

  it.each(["inline", "isolated"])(
    "that is named from its resource's own directory is told its name (%s)",
    async (placement) => {
      await write({
        "tools/more/tool.yaml": toolYaml("more", "./more.ts", ["x"], placement),
        "tools/more/more.ts": "export const handlers = { x: () => 1 };",
        "tools/none/tool.yaml": toolYaml("none", "./none.ts", ["x"], placement),
      });
      const { mistakes } = await load();
      expect(mistakes.map(({ message }) => message.replace(/^.*?:\d+:\d+: /, "")).toSorted()).toEqual([
        'the entry "./more.ts" does not exist: an entry is named from the bundle\'s directory, where this file is "./tools/more/more.ts"',
        'the entry "./none.ts" does not exist',
      ]);
    },
  );

  it.each([
    ["export const other = 1;", 'exports no "handlers"; it exports other'],
    [
      "export const handlers = { y: () => 1, z: () => 2 };",
      "has no handler for x; its handlers are y, z, the resource declares x",
    ],
    ["export const handlers = { x: 3 };", "handlers.x that is no function"],
    ["export const handlers = [];", "that is no object"],
    ["throw new Error('no database');", "cannot be loaded: no database"],
    ["throw 'a string';", "cannot be loaded: a string"],
    ["throw Object.defineProperty(new Error(), 'message', { get() { throw 1; } });", "cannot be loaded: it threw"],
    ["export const handlers = { get x() { throw new Error('not now'); } };", "cannot be read: not now"],
    ["import './nowhere.js'; export const handlers = {};", "cannot be loaded"],
    ["export const handlers = {", "cannot be loaded"],
  ])("that is %j is a mistake that says so, inline and isolated", async (text, message) => {
    await write({ "bad.mjs": text });
    for (const placement of ["inline", "isolated"]) {
      await write({ "tool.yaml": toolYaml("bad", "bad.mjs", ["x"], placement) });
      const { tools, mistakes } = await load();
      expect(tools).toEqual([]);
      expect(mistakes).toMatchObject([{ code: "E_CONFIG_SCHEMA_INVALID", file: "tool.yaml" }]);
      expect(mistakes[0]?.message).toContain(message);
      expect(mistakes[0]?.message).not.toContain("\n    at "); // no stack
    }
  });

  it("uses no tsconfig from outside its bundle", async () => {
    await write({
      "tsconfig.json": `{ "compilerOptions": { "baseUrl": ".", "paths": { "@x/*": ["lib/*"] } } }`,
      "lib/a.ts": "export const a = 1;",
      "inner/h.ts": "import { a } from '@x/a'; export const handlers = { x: () => a };",
    });
    await symlink(join(bundle, "inner"), join(bundle, "link"));
    for (const root of ["inner", "link"]) {
      await expect(loadToolModule("h.ts", { root: join(bundle, root) })).rejects.toThrow("@x/a");
    }
    expect(await callModule("inner/h.ts", "x")).toBe(1);
  });

  it("does not take an inherited property for a handler", async () => {
    await write({ "h.mjs": "export const handlers = { x: () => 1 };" });
    await write({ "tool.yaml": toolYaml("t", "h.mjs", ["toString"], "inline") });
    expect((await load()).mistakes[0]?.message).toContain("has no handler for toString");
  });
});
