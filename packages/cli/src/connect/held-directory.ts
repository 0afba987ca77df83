// Who holds the directory that `start` and `dev` want: a process that answers is worth naming, because it can be used.

import { TesseraError } from "@tessera/protocol";
import { findHolder } from "@tessera/runtime";
import { EXIT } from "../exit-codes.ts";
import { errorWithTodo } from "../output/failure.ts";

/** Null: the directory was not the matter, or who holds it does not answer. */
export async function heldByTessera(error: unknown, data: string | undefined): Promise<TesseraError | null> {
  if (!TesseraError.is(error) || error.code !== "store_in_use" || data === undefined) return null;
  const holder = await findHolder(data);
  if (holder === null || holder.reached === null) return null;
  const message = `process ${holder.pid} holds the store in ${data}, and serves it at ${holder.reached.url}`;
  const todo = "Give it tasks (tessera run, with the same --data and no bundle), or stop it, or use another directory.";
  return errorWithTodo("store_in_use", message, todo, EXIT.unreachable);
}
