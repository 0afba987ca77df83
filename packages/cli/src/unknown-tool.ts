// A tool that is not there: says what is, nearest names first.

import type { CGError } from "@tessera/protocol";
import { errorWithTodo } from "./failure.ts";

const NAMES_MAX = 40;

export function unknownTool(name: string, project: string, known: readonly string[]): CGError {
  const message = `project ${project} has no tool ${JSON.stringify(name)}`;
  return errorWithTodo("not_found", message, todoFor(name, known));
}

export function namesOf(tools: readonly Readonly<Record<string, unknown>>[]): string[] {
  return tools.map(({ tool_name }) => String(tool_name));
}

function todoFor(name: string, known: readonly string[]): string {
  if (known.length === 0) {
    return "It has no tools at all: register one (tessera tools register FILE) or name a bundle that has some.";
  }
  const names = [...known].sort((a, b) => distance(a, name) - distance(b, name) || (a < b ? -1 : 1));
  const more = names.length > NAMES_MAX ? `, and ${names.length - NAMES_MAX} more` : "";
  return `Use one of ${names.slice(0, NAMES_MAX).join(", ")}${more}.`;
}

/** How many characters have to be added, left out or changed (Levenshtein). */
function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, n) => n);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const changed = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(changed, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[b.length] ?? 0;
}
