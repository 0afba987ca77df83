// Where a command that runs a bundle works: in this process, or on a process that runs already.
//
//   W1. A server has its own bundle, so none is named beside its URL; a bundle that is named means this process, also where
//       TESSERA_URL is set.
//   W2. The process that holds the directory is such a server, too: without a bundle the task is given to it.

import { EXIT } from "../exit-codes.ts";
import { errorWithTodo, usageError } from "../output/failure.ts";
import type { RunFlags } from "./run.ts";

/** What of a command's flags says where it works. */
type PlaceFlags = Pick<RunFlags, "url" | "data" | "resume">;

export function checkPlace(bundle: string | undefined, { url, resume }: PlaceFlags): void {
  if (url === undefined) return;
  if (bundle !== undefined) throw usageError("--url names a running server, which has its own bundle: name none");
  if (resume === true) throw usageError("--resume is for a store; a running server goes on by itself");
}

/** W1, W2. `flags` with what the environment and a bundle say. */
export async function isRemote(bundle: string | undefined, { url, data, resume }: PlaceFlags): Promise<boolean> {
  const { reachHolder } = await import("@tessera/runtime");
  if (data !== undefined && (await reachHolder(data)) !== null) {
    if (bundle === undefined && resume !== true) return true;
    const todo =
      resume === true
        ? "It goes on by itself; see how far it is: tessera turns ls --status active, with the same --data."
        : "Leave the bundle out to give the task to that process, or stop it; then repeat.";
    throw errorWithTodo("store_in_use", `a running process holds ${data}`, todo, EXIT.unreachable); // W2
  }
  return url !== undefined && bundle === undefined && resume !== true;
}
