// Workspaces: the directory in which an agent's tools work.
//
//   W1. `<root>/<project>/<agent>`, readable by the owner only. Both names are ids, so neither can climb.
//   W2. No component below the root may be a link: a tool that replaced its own directory by one would lead the next call
//       out of its workspace. What is found instead of a directory is refused, never repaired.
//   W3. What is handed out is the real path, so that a check "inside the workdir" compares real paths with real paths.
//   W4. An instance that was spawned with a directory works in that one, below the workspace of the agent that it belongs to.
//       Its names pass the same checks as an agent's own directory, one by one, and none of them leads up.

import { lstatSync, mkdirSync } from "node:fs";
import { mkdir, realpath } from "node:fs/promises";
import { join } from "node:path";
import { errorOf, parseId } from "@tessera/protocol";
import type { ToolInvocation } from "@tessera/tool";

export interface Workspaces {
  /** The real path of the root. */
  readonly root: string;
  /** Made where it is missing. Without waiting: it is asked for when a handler reads `ctx.workdir`, which most never do. */
  workdirOf(owner: Pick<ToolInvocation, "project_id" | "agent_id" | "workdir">): string;
}

const OWNER_ONLY = 0o700;
const PATH_CHARS_MAX = 4_096;
const NAME_BYTES_MAX = 255;

/** The root itself is the operator's: it may be a link. */
export async function openWorkspaces(root: string): Promise<Workspaces> {
  await mkdir(root, { recursive: true, mode: OWNER_ONLY });
  const real = await realpath(root);
  return {
    root: real,
    workdirOf(owner) {
      const project = ownDirectory(real, parseId(owner.project_id, "project_id"));
      const { agent_id, path } = owner.workdir ?? { agent_id: owner.agent_id, path: "" };
      return namesOf(path).reduce(ownDirectory, ownDirectory(project, parseId(agent_id, "agent_id")));
    },
  };
}

/** W4 */
function namesOf(path: string): string[] {
  const names = path === "" ? [] : path.split("/");
  const isUsable = (name: string) =>
    name !== "" && name !== "." && name !== ".." && !name.includes("\0") && Buffer.byteLength(name) <= NAME_BYTES_MAX;
  if (path.length <= PATH_CHARS_MAX && names.every(isUsable)) return names;
  throw errorOf("path_outside_workdir", "the directory that this instance was spawned with is not inside a workspace");
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
