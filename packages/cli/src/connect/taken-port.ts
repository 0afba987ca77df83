// Who listens on the port that `start` and `dev` want: another Tessera is worth naming, because it can be used.

import type { TesseraError } from "@tessera/protocol";
import { EXIT } from "../exit-codes.ts";
import { isApiProblem } from "../output/api-failure.ts";
import { errorWithTodo } from "../output/failure.ts";

const ANSWER_MS_MAX = 1_000;
/** Where whoever listens on every address of the machine is reached. */
const HERE: Readonly<Record<string, string>> = { "0.0.0.0": "127.0.0.1", "::": "[::1]" };

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
