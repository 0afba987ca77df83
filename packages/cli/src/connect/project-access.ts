// Projects that are not there yet.
//
//   J1. The project `default` needs no making: until something is put into it, it is empty. Any other that is not there is
//       an error, because a name that was mistyped looks the same as one that is empty.
//   J2. What is put into a project makes it, and that is printed.

import type { Client } from "@tessera/client";
import type { ApiFlags } from "../flags/flags.ts";
import { isUnknownProject } from "../output/api-failure.ts";
import { errorWithTodo } from "../output/failure.ts";
import type { Terminal } from "../output/printing-gate.ts";

const DEFAULT = "default";
const OWNER = "cli";

/** J1 */
export async function listOfProject<Item>(project: string, list: () => Promise<Item[]>): Promise<Item[]> {
  try {
    return await list();
  } catch (error) {
    if (!isUnknownProject(error)) throw error;
    if (project === DEFAULT) return [];
    const todo = "Check --project; a project is made by what is put into it: tessera tools register, tessera start.";
    throw errorWithTodo("not_found", `there is no project ${project}`, todo);
  }
}

/** J2 */
export async function inNewProject<T>(
  client: Client,
  { project, json }: ApiFlags,
  terminal: Terminal,
  put: () => Promise<T>,
): Promise<T> {
  try {
    return await put();
  } catch (error) {
    if (!isUnknownProject(error)) throw error;
  }
  await client.createProject({ body: { projectId: project, title: project, ownerId: OWNER } });
  if (json !== true && project !== DEFAULT) terminal.err(`made project ${project}\n`);
  return await put();
}
