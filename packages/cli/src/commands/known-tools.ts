// The tools of a project, and what is said about one that it does not have: those it has, nearest names first.

import type { Client, Tool } from "@tessera/client";
import { nearestNames, type TesseraError } from "@tessera/protocol";
import { allPages } from "../connect/all-pages.ts";
import { listOfProject } from "../connect/project-access.ts";
import type { ApiFlags } from "../flags/flags.ts";
import { errorWithTodo } from "../output/failure.ts";

const NAMES_MAX = 40;

/** An empty list where the project has not been made yet. */
export function toolsOf(client: Client, { project }: Pick<ApiFlags, "project">): Promise<Tool[]> {
  return listOfProject(project, () => allPages("tools", (page) => client.listTools({ project, ...page })));
}

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
