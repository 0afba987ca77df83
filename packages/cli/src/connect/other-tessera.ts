// What `start` and `dev` want and another Tessera has, the directory or the port: it is worth naming, because it can be used.

import { TesseraError } from "@tessera/protocol";
import { findHolder } from "@tessera/runtime";
import { EXIT } from "../exit-codes.ts";
import { isApiProblem } from "../output/api-failure.ts";
import { errorWithTodo } from "../output/failure.ts";

const ANSWER_MS_MAX = 1_000;
/** Where a process that listens on every address of the machine is reached. */
const HERE: Readonly<Record<string, string>> = { "0.0.0.0": "127.0.0.1", "::": "[::1]" };

/** Null: the directory was not the matter, or its holder does not answer. */
export async function heldByTessera(error: unknown, data: string | undefined): Promise<TesseraError | null> {
  if (!TesseraError.is(error) || error.code !== "store_in_use" || data === undefined) return null;
  const holder = await findHolder(data);
  if (holder === null || holder.reached === null) return null;
  const message = `process ${holder.pid} holds the store in ${data}, and serves it at ${holder.reached.url}`;
  const todo = "Give it tasks (tessera run, with the same --data and no bundle), or stop it, or use another directory.";
  return errorWithTodo("store_in_use", message, todo, EXIT.unreachable);
}

/** Null: the port was not the matter, or no Tessera answers there. */
export async function takenByTessera(error: unknown): Promise<TesseraError | null> {
  if (!(error instanceof Error)) return null;
  const { code, address, port } = error as NodeJS.ErrnoException & { address?: string; port?: number };
  if (code !== "EADDRINUSE" || address === undefined || port === undefined) return null;
  const url = `http://${HERE[address] ?? (address.includes(":") ? `[${address}]` : address)}:${port}`;
  if (!(await isTessera(url))) return null;
  const message = `cannot listen on ${address}:${port}: another process listens there, which is a Tessera`;
  const todo = `Give it tasks (tessera run --url ${url}), stop it, or choose another port with --port; 0 takes any free one.`;
  return errorWithTodo("bad_request", message, todo, EXIT.configuration);
}

async function isTessera(url: string): Promise<boolean> {
  const { createClient } = await import("@tessera/client");
  try {
    const health: { readonly checks?: unknown } = await createClient({
      url,
      retries: 0,
      timeoutMs: ANSWER_MS_MAX,
    }).getHealth();
    return Array.isArray(health.checks);
  } catch (error) {
    return isApiProblem(error) && error.requestId !== null; // one that is not well answers, too
  }
}
