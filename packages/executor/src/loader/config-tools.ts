// The tools of a `tessera.config.ts`: its default export may hold `tools`, each made by `defineTool`.

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
