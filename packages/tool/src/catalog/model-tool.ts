// What a model is shown of a tool (docs/protocol/turns.md#what-a-model-is-shown-of-a-tool).
//
//   M1. Fixed and environment arguments do not exist for the model.
//   M2. A default is shown where it can be: one with a template is known only when the call is made. Either way the
//       argument is not required of the model.
//   M3. The definition is not changed: it is what its digest names.

import { isJsonObject, type JsonObject, type JsonValue } from "@tessera/protocol";
import type { ToolDefinition } from "../definition.ts";
import { hasTemplates } from "./template.ts";

export interface ModelTool {
  readonly name: string;
  readonly description: string;
  readonly parameters: JsonObject;
}

export function modelTool(definition: ToolDefinition): ModelTool {
  return {
    name: definition.tool_name,
    description: definition.description,
    parameters: modelParameters(definition),
  };
}

export function modelParameters({ parameters, options }: ToolDefinition): JsonObject {
  const defaults = options.args?.defaults ?? {};
  const hidden = new Set([...Object.keys(options.args?.fixed ?? {}), ...Object.keys(options.envs ?? {})]);
  const shown = structuredClone(parameters); // M3
  if (isJsonObject(shown.properties)) {
    for (const name of hidden) delete shown.properties[name]; // M1
    for (const [name, value] of Object.entries(defaults)) showDefault(shown.properties, name, value);
  }
  if (Array.isArray(shown.required)) {
    const isAsked = (name: JsonValue) => !hidden.has(String(name)) && !Object.hasOwn(defaults, String(name));
    const required = shown.required.filter(isAsked);
    if (required.length > 0) shown.required = required;
    else delete shown.required;
  }
  return { type: "object", ...shown };
}

/** M2 */
function showDefault(properties: JsonObject, name: string, value: JsonValue): void {
  if (!Object.hasOwn(properties, name) || hasTemplates(value)) return;
  const property = properties[name];
  const copy = structuredClone(value);
  if (isJsonObject(property)) property.default = copy;
  else if (property === true) properties[name] = { default: copy };
}
