import { TesseraError } from "@tessera/protocol";
import { describe, expect, it } from "vitest";
import type { RegisteredTool, ToolDefinition } from "../definition.ts";
import { INTERNAL_TOOL_DEFINITIONS } from "./internal-tools.ts";
import { ToolRegistry } from "./tool-registry.ts";

function tool(tool_name: string, more: Partial<ToolDefinition> = {}): RegisteredTool {
  return {
    definition: {
      tool_name,
      description: `The tool ${tool_name}.`,
      parameters: {},
      target_subject: "cg.v1r4.{project_id}.{channel_id}.cmd.tool.test.run",
      after_execution: "suspend",
      options: {},
      ...more,
    },
    code: { kind: "function", handler: () => null },
  };
}

function codeOf(run: () => unknown): string {
  try {
    run();
  } catch (error) {
    if (TesseraError.is(error)) return error.code;
    throw error;
  }
  return "accepted";
}

function registryOf(...names: string[]): ToolRegistry {
  const registry = new ToolRegistry();
  for (const name of names) registry.register(tool(name));
  return registry;
}

describe("the registry", () => {
  it("names the tool that it refuses, in the message and in the details", () => {
    const parameters = { type: "object", properties: { k: { type: "strin" } } };
    const refused = [tool("shop__sell", { parameters }), tool("shop__buy", { options: { effect: "twice" as "once" } })];
    for (const each of refused) {
      const { tool_name } = each.definition;
      expect(() => new ToolRegistry().register(each)).toThrow(
        expect.objectContaining({
          code: "schema_invalid",
          message: expect.stringMatching(new RegExp(`^the tool ${tool_name} cannot be used: /(?:parameters|options)/`)),
          details: expect.objectContaining({ tool_name, pointer: expect.any(String) }),
        }),
      );
    }
  });

  it("never lets one tool take another's place", () => {
    const registry = new ToolRegistry();
    const first = tool("echo");
    registry.register(first);
    expect(codeOf(() => registry.register(tool("echo")))).toBe("conflict");
    expect(registry.get("echo")).toBe(first);
    expect(registry.list()).toEqual([first]);
  });

  it.each<[string, RegisteredTool, string]>([
    ["a name of three parts", tool("a__b__c"), "invalid_name"],
    ["a name with a space", tool("a b"), "invalid_name"],
    ["a reserved name", tool("fork_join"), "reserved_name"],
    ["a reserved name in capitals", tool("Fork_Join"), "reserved_name"],
    [
      "a subject of the system",
      tool("a", { target_subject: "cg.v1r4.{project_id}.{channel_id}.cmd.sys.pmo.x" }),
      "invalid_target_subject",
    ],
    ["another end", tool("a", { after_execution: "yes" as "suspend" }), "invalid_after_execution"],
    ["a bad schema", tool("a", { parameters: { type: "string" } }), "schema_invalid"],
    ["bad options", tool("a", { options: { envs: { k: "PATH" } } }), "env_not_allowed"],
  ])("refuses %s", (_, bad, code) => {
    const registry = new ToolRegistry();
    expect(codeOf(() => registry.register(bad))).toBe(code);
    expect(registry.list()).toEqual([]);
  });

  it("holds tools to the list of environment variables, where there is one", () => {
    const asking = tool("asks", { options: { envs: { k: "A_KEY" } } });
    expect(codeOf(() => new ToolRegistry().register(asking))).toBe("accepted");
    expect(codeOf(() => new ToolRegistry({ envAllowList: ["A_KEY"] }).register(asking))).toBe("accepted");
    expect(codeOf(() => new ToolRegistry({ envAllowList: [] }).register(asking))).toBe("env_not_allowed");
  });

  it("takes Tessera's own tools, but no copy under their names", () => {
    const registry = new ToolRegistry();
    for (const definition of INTERNAL_TOOL_DEFINITIONS) registry.register({ definition, code: null });
    expect(registry.list()).toHaveLength(5);
    const [first] = INTERNAL_TOOL_DEFINITIONS;
    const copy = { ...(first as ToolDefinition) };
    expect(codeOf(() => new ToolRegistry().register({ definition: copy, code: null }))).toBe("reserved_name");
  });
});

describe("a catalog", () => {
  it("offers everything, a list of names, or nothing", () => {
    const registry = registryOf("a", "b");
    const offered = (allow: readonly string[] | null) =>
      registry
        .catalog(allow)
        .toModelTools()
        .map(({ name }) => name);
    expect([offered(null), offered(["b", "missing"]), offered([])]).toEqual([["a", "b"], ["b"], []]);
  });

  it("changes for its own step only", () => {
    const registry = registryOf("a", "b");
    const catalog = registry.catalog(["a"]);
    catalog.add("b");
    expect(catalog.remove("a")).toBe(true);
    expect([catalog.has("a"), catalog.has("b")]).toEqual([false, true]);
    expect(registry.catalog(["a"]).has("a")).toBe(true);
    expect(codeOf(() => catalog.add("missing"))).toBe("tool_definition_missing");
  });

  it("loses a tool that leaves the registry", () => {
    const registry = registryOf("a", "b");
    const catalog = registry.catalog();
    expect(registry.unregister("a")).toBe(true);
    expect([catalog.has("a"), catalog.list().length]).toEqual([false, 1]);
  });

  it("does not gain a tool that is registered later, until it is added", () => {
    const registry = registryOf("a");
    const catalog = registry.catalog();
    registry.register(tool("late"));
    expect(catalog.has("late")).toBe(false);
    catalog.add("late");
    expect(catalog.get("late")?.definition.tool_name).toBe("late");
  });
});
