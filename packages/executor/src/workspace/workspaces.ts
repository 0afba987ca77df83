// Workspaces: the directory in which an agent's tools work.
//
//   W1. `<root>/<project>/<agent>`, readable by the owner only. Both names are ids, so neither can climb.
//   W2. No component below the root may be a link: a tool that replaced its own directory by one would lead the next call
//       out of its workspace. What is found instead of a directory is refused, never repaired.
//   W3. What is handed out is the real path, so that a check "inside the workdir" compares real paths with real paths.

import { lstat, mkdir, realpath } from "node:fs/promises";
import { join } from "node:path";
import { errorOf, parseId } from "@tessera/protocol";

export interface Workspaces {
  /** The real path of the root. */
  readonly root: string;
  workdirOf(owner: { readonly project_id: string; readonly agent_id: string }): Promise<string>;
}

const OWNER_ONLY = 0o700;

/** The root itself is the operator's: it may be a link. */
export async function openWorkspaces(root: string): Promise<Workspaces> {
  await mkdir(root, { recursive: true, mode: OWNER_ONLY });
  const real = await realpath(root);
  return {
    root: real,
    async workdirOf(owner) {
      const project = await ownDirectory(real, parseId(owner.project_id, "project_id"));
      return await ownDirectory(project, parseId(owner.agent_id, "agent_id"));
    },
  };
}

/** Makes or checks one level. Its parent is a real path, and so is the answer (W3). */
async function ownDirectory(parent: string, name: string): Promise<string> {
  const path = join(parent, name);
  await mkdir(path, { mode: OWNER_ONLY }).catch((error: unknown) => {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  });
  const found = await lstat(path);
  if (!found.isDirectory()) {
    const kind = found.isSymbolicLink() ? "a link" : "no directory";
    throw errorOf("path_outside_workdir", `the workspace ${name} is ${kind}; remove it so that it can be made again`); // W2
  }
  return path;
}
