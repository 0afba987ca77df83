// Placeholders in what a scripted model says: {{input}}, {{result}}, {{result.path}}, {{results.N}}, {{results.N.path}},
// {{earlier}}, {{earlier.N}}.
//
//   T1. A string that is nothing but one placeholder keeps the value's type; inside other text, text stays as it is and
//       everything else is written as JSON.
//   T2. What is filled in is never read for placeholders again: a user may write {{result}}.
//   T3. A placeholder without a value is an error: a script that silently says "undefined" proves nothing. Braces around
//       other words are text.

import { isJsonObject, type JsonValue } from "@tessera/protocol";

export interface TemplateValues {
  /** The last user text. */
  readonly input: string;
  /** What users said before that, oldest first: of this turn, and of those that the agent remembers. */
  readonly earlier: readonly string[];
  /** The last tool result; absent when no tool has answered. */
  readonly result?: JsonValue;
  /** The results that answer the last message with calls, in order. */
  readonly results: readonly JsonValue[];
}

/** Thrown with the placeholder that has no value (T3). */
export class NoValue extends Error {}

const PLACEHOLDER = /\{\{\s*(input|results?|earlier)((?:\.[^\s.{}]+)*)\s*\}\}/g;
const ONLY_PLACEHOLDER = new RegExp(`^\\s*${PLACEHOLDER.source}\\s*$`);

export function fillText(template: string, values: TemplateValues): string {
  return template.replace(PLACEHOLDER, (whole, name: string, path: string) => {
    const value = lookUp(whole, name, path, values);
    return typeof value === "string" ? value : JSON.stringify(value); // T1, T2
  });
}

export function fillValue(template: JsonValue, values: TemplateValues): JsonValue {
  if (typeof template === "string") {
    const only = ONLY_PLACEHOLDER.exec(template);
    if (only === null) return fillText(template, values);
    return lookUp(template.trim(), only[1] ?? "", only[2] ?? "", values); // T1
  }
  if (Array.isArray(template)) return template.map((item) => fillValue(item, values));
  if (!isJsonObject(template)) return template;
  return Object.fromEntries(Object.entries(template).map(([key, value]) => [key, fillValue(value, values)]));
}

function lookUp(whole: string, name: string, path: string, values: TemplateValues): JsonValue {
  const steps = path === "" ? [] : path.slice(1).split(".");
  let at: JsonValue | undefined = placeholderValue(name, values);
  for (const step of steps) at = child(at, step);
  if (at === undefined) throw new NoValue(whole); // T3
  return at;
}

function placeholderValue(name: string, { input, earlier, result, results }: TemplateValues): JsonValue | undefined {
  if (name === "input") return input;
  if (name === "earlier") return [...earlier];
  return name === "result" ? result : [...results];
}

function child(value: JsonValue | undefined, step: string): JsonValue | undefined {
  if (Array.isArray(value)) return /^\d{1,6}$/.test(step) ? value[Number(step)] : undefined;
  return isJsonObject(value) && Object.hasOwn(value, step) ? value[step] : undefined;
}
