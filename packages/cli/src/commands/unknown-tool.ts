// A tool that is not there: says what is, nearest names first.

import { nearestNames, type TesseraError } from "@tessera/protocol";
import { errorWithTodo } from "../output/failure.ts";

const NAMES_MAX = 40;

export function unknownTool(name: string, project: string, known: readonly string[]): TesseraError {
  const message = `project ${project} has no tool ${JSON.stringify(name)}`;
  return errorWithTodo("not_found", message, todoFor(name, known));
}

export function namesOf(tools: readonly { readonly toolName: string }[]): string[] {
  return tools.map(({ toolName }) => toolName);
}

function todoFor(name: string, known: readonly string[]): string {
  if (known.length === 0) {
    return "It has no tools at all: register one (tessera tools register FILE) or name a bundle that has some.";
  }
  const names = nearestNames(name, known);
  const more = names.length > NAMES_MAX ? `, and ${names.length - NAMES_MAX} more` : "";
  return `Use one of ${names.slice(0, NAMES_MAX).join(", ")}${more}.`;
}
