// What a `tessera.config.ts` holds besides agents: `tools` of its default export, each made by `defineTool`, and `settings`,
// which are the runtime's to check.

import { isJsonObject } from "@tessera/protocol";
import type { RegisteredTool } from "@tessera/tool";
import { unusable } from "./tool-module.ts";

export function readConfigTools(namespace: unknown, file: string): RegisteredTool[] {
  const config = configOf(namespace);
  if (config === null) throw unusable(file, "has no default export that is an object");
  const { tools } = config;
  if (tools === undefined) return [];
  if (!Array.isArray(tools)) throw unusable(file, "exports tools that are no list");
  return tools.map((tool: unknown, at) => {
    if (!isDefinedTool(tool)) throw unusable(file, `exports tools[${at}] that was not made by defineTool`);
    return { definition: tool.definition, code: tool.code };
  });
}

/** As they are written; none where there are none. */
export function readConfigSettings(namespace: unknown, file: string): Readonly<Record<string, unknown>> {
  const config = configOf(namespace);
  if (config === null) throw unusable(file, "has no default export that is an object");
  const { settings = {} } = config;
  if (typeof settings !== "object" || settings === null || Array.isArray(settings)) {
    throw unusable(file, "exports settings that are no object");
  }
  return settings as Readonly<Record<string, unknown>>;
}

/** ESM's default export, or what CommonJS exports. */
function configOf(namespace: unknown): Readonly<Record<string, unknown>> | null {
  if (typeof namespace !== "object" || namespace === null) return null;
  const { default: exported, "module.exports": commonJs } = namespace as Record<string, unknown>;
  const config = exported ?? commonJs;
  return typeof config === "object" && config !== null ? (config as Record<string, unknown>) : null;
}

function isDefinedTool(value: unknown): value is RegisteredTool {
  if (typeof value !== "object" || value === null) return false;
  const { definition, code } = value as Partial<RegisteredTool>;
  return (
    isJsonObject(definition) &&
    typeof definition.tool_name === "string" &&
    code?.kind === "function" &&
    typeof code.handler === "function"
  );
}
