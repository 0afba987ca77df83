// Templates in the values that a definition brings itself: `{agent_turn_id}` in `options.args`. Ids only, filled in by
// the worker when it makes the call.
//
//   T1. Substitution is literal and happens once: what a variable holds is never read as a template again.
//   T2. A brace that belongs to no known variable is refused when the tool is registered. At run time, for a
//       definition that was stored before a rule changed, it is left as it is.
//   T3. A variable without a value takes its whole argument away: `{step_id}` as text would be worse than nothing.

import { errorOf, isJsonObject, type JsonObject, type JsonValue } from "@tessera/protocol";

/** The ten of the CommonGround contract, and three that its code knows as well. */
export const TEMPLATE_VARIABLES = [
  "project_id",
  "channel_id",
  "agent_id",
  "agent_turn_id",
  "step_id",
  "tool_call_id",
  "parent_step_id",
  "trace_id",
  "turn_epoch",
  "context_box_id",
  "recursion_depth",
  "parent_agent_id",
  "parent_agent_turn_id",
] as const;
export type TemplateVariable = (typeof TEMPLATE_VARIABLES)[number];
export type TemplateVars = { readonly [Name in TemplateVariable]?: string | number | null | undefined };

const PLACEHOLDER = new RegExp(`\\{(${TEMPLATE_VARIABLES.join("|")})\\}`, "g");

/** Fills in every string of a value, at any depth, and copies the rest. Undefined: leave the argument out (T3). */
export function renderTemplates(value: JsonValue, vars: TemplateVars): JsonValue | undefined {
  if (typeof value === "string") return renderText(value, vars);
  if (Array.isArray(value)) {
    const items: JsonValue[] = [];
    for (const item of value) {
      const rendered = renderTemplates(item, vars);
      if (rendered === undefined) return undefined;
      items.push(rendered);
    }
    return items;
  }
  if (!isJsonObject(value)) return value;
  const object: JsonObject = Object.create(null);
  for (const [name, member] of Object.entries(value)) {
    const rendered = renderTemplates(member, vars);
    if (rendered === undefined) return undefined;
    object[name] = rendered;
  }
  return object;
}

/** Whether any string of the value names a variable. */
export function hasTemplates(value: JsonValue): boolean {
  if (typeof value === "string") return value.search(PLACEHOLDER) !== -1;
  return typeof value === "object" && value !== null && Object.values(value).some(hasTemplates);
}

/** Refuses a value with a brace that belongs to no variable (T2). */
export function checkTemplates(value: JsonValue, pointer: string): void {
  if (typeof value === "string") {
    const rest = value.replace(PLACEHOLDER, "");
    if (!/[{}]/.test(rest)) return;
    throw errorOf("unknown_template_var", `${pointer} holds a brace that belongs to no known variable`, {
      details: { pointer, known: TEMPLATE_VARIABLES },
    });
  }
  if (typeof value !== "object" || value === null) return;
  for (const [name, member] of Object.entries(value)) checkTemplates(member as JsonValue, `${pointer}/${name}`);
}

function renderText(text: string, vars: TemplateVars): string | undefined {
  if (!text.includes("{")) return text;
  let isMissing = false;
  const rendered = text.replace(PLACEHOLDER, (_, name: TemplateVariable) => {
    const value = vars[name];
    if (value === undefined || value === null) isMissing = true;
    return String(value); // T1: `replace` does not look at what it put in
  });
  return isMissing ? undefined : rendered;
}
