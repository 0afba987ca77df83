// Workspaces: the directory in which an agent's tools work.
//
//   W1. `<root>/<project>/<agent>`, readable by the owner only. Both names are ids, so neither can climb.
//   W2. No component below the root may be a link: a tool that replaced its own directory by one would lead the next call
//       out of its workspace. What is found instead of a directory is refused, never repaired.
//   W3. What is handed out is the real path, so that a check "inside the workdir" compares real paths with real paths.

import { lstatSync, mkdirSync } from "node:fs";
import { mkdir, realpath } from "node:fs/promises";
import { join } from "node:path";
import { errorOf, parseId } from "@tessera/protocol";

export interface Workspaces {
  /** The real path of the root. */
  readonly root: string;
  /** Made where it is missing. Without waiting: it is asked for when a handler reads `ctx.workdir`, which most never do. */
  workdirOf(owner: { readonly project_id: string; readonly agent_id: string }): string;
}

const OWNER_ONLY = 0o700;

/** The root itself is the operator's: it may be a link. */
export async function openWorkspaces(root: string): Promise<Workspaces> {
  await mkdir(root, { recursive: true, mode: OWNER_ONLY });
  const real = await realpath(root);
  return {
    root: real,
    workdirOf(owner) {
      const project = ownDirectory(real, parseId(owner.project_id, "project_id"));
      return ownDirectory(project, parseId(owner.agent_id, "agent_id"));
    },
  };
}

/** Makes or checks one level. Its parent is a real path, and so is the answer (W3). */
function ownDirectory(parent: string, name: string): string {
  const path = join(parent, name);
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (found === undefined)
    mkdirSync(path, { mode: OWNER_ONLY, recursive: true }); // another process may make it meanwhile
  else if (!found.isDirectory()) {
    const kind = found.isSymbolicLink() ? "a link" : "no directory";
    throw errorOf("path_outside_workdir", `the workspace ${name} is ${kind}; remove it so that it can be made again`); // W2
  }
  return path;
}
