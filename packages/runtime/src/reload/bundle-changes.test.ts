// What a new edition of a bundle changed, as its author is told.

import type { AgentProfile } from "@tessera/agent";
import type { LoadedBundle } from "@tessera/executor";
import type { RegisteredTool, ToolHandler } from "@tessera/tool";
import type { DocumentTool } from "@tessera/tool/resources";
import { expect, it } from "vitest";
import { changedAgents, changedTools } from "./bundle-changes.ts";

const one: ToolHandler = () => 1;
const two: ToolHandler = () => 2;

function tool(tool_name: string, code: RegisteredTool["code"], description = ""): RegisteredTool {
  return { definition: { tool_name, description } as RegisteredTool["definition"], code };
}

const here = (handler: ToolHandler) => ({ kind: "function", handler }) as const;
const child = (file: string) => ({ kind: "module", entry: `/b/${file}`, export_name: "x" }) as const;

function bundle(tools: readonly RegisteredTool[], entries: Readonly<Record<string, string>> = {}): LoadedBundle {
  const declared = Object.entries(entries).map(([tool_name, entry]) => {
    const definition = { tool_name } as RegisteredTool["definition"];
    return { definition, entry } as Partial<DocumentTool> as DocumentTool;
  });
  return {
    root: "/b",
    tools,
    declared,
    config: { file: "tessera.config.ts", exports: {} },
  } as Partial<LoadedBundle> as LoadedBundle;
}

function changes(
  before: LoadedBundle,
  now: LoadedBundle,
  files: readonly string[] = [],
  modules: readonly string[] = [],
) {
  const isModuleChanged = (entry: string) => modules.includes(entry);
  return changedTools(before, now, { files: files.map((file) => `/b/${file}`), isModuleChanged });
}

it("tools come, go and change by name: by what they say and by what their module is", () => {
  const before = bundle([tool("a", null), tool("b", null), tool("c", child("c.ts")), tool("d", child("d.ts"))]);
  const now = bundle([tool("e", null), tool("b", null, "other"), tool("c", child("c.ts")), tool("d", child("d.ts"))]);
  expect(changes(before, now, [], ["/b/c.ts"])).toEqual({ added: ["e"], changed: ["b", "c"], removed: ["a"] });
});

it("a tool that runs in this process changed with its function, or with what stands around it", () => {
  const entries = { near: "./near.ts" };
  const before = bundle([tool("near", here(one)), tool("inCode", here(one)), tool("apart", child("c.ts"))], entries);
  const same = bundle([tool("near", here(one)), tool("inCode", here(one)), tool("apart", child("c.ts"))], entries);
  const other = bundle([tool("near", here(one)), tool("inCode", here(two)), tool("apart", child("c.ts"))], entries);
  expect(changes(before, other, ["tessera.config.ts"]).changed).toEqual(["inCode"]);
  expect(changes(before, same, ["tessera.config.ts"]).changed).toEqual(["inCode"]);
  expect(changes(before, same, ["near.ts"]).changed).toEqual(["near"]);
  expect(changes(before, same, ["lib/helper.ts"]).changed).toEqual(["near", "inCode"]);
  expect(changes(before, same, ["tessera.yaml"]).changed).toEqual([]);
});

it("agents change with their profile", () => {
  const profile = (name: string, system_prompt: string) => ({ name, system_prompt }) as AgentProfile;
  const before = [profile("a", "1"), profile("b", "1"), profile("c", "1")];
  const now = [profile("b", "2"), profile("c", "1"), profile("d", "1")];
  expect(changedAgents(before, now)).toEqual({ added: ["d"], changed: ["b"], removed: ["a"] });
});
