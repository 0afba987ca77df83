// What a command says when the API refused, or could not be asked.
//
//   A1. A wrong address and a wrong key are the user's to correct (exit 3); a server that is not there may come back (exit 4).
//   A2. A server that answers and asks to wait is no wrong address: what is away is its store, or the time it gives.
//   A3. Recognized by the shape of the error, so that a command that asks no API does not load the client.

import { ERROR_CATALOGUE, type ErrorCode, isJsonObject, type TesseraError } from "@tessera/protocol";
import { EXIT, type ExitCode } from "../exit-codes.ts";
import type { Failure } from "./failure.ts";

interface ApiProblem extends Error {
  /** 0: no answer came. */
  readonly status: number;
  readonly code: ErrorCode;
  readonly details: TesseraError["details"];
  readonly requestId: string | null;
  readonly retryAfterMs: number | null;
}

const STORE_CODES: ReadonlySet<string> = new Set(["storage_error", "storage_busy", "upstream_unavailable"]);
const STORE_TODO = "Wait until the server is whole again (its /health says what is wrong), then repeat.";
const AWAY_CODES: ReadonlySet<string> = new Set(["upstream_unavailable", "timeout"]);
const BY_STATUS: Readonly<Record<number, { readonly exitCode: ExitCode; readonly todo: string }>> = {
  401: {
    exitCode: EXIT.configuration,
    todo: "Set TESSERA_API_KEY to a key of that server, or name a file that holds one with --api-key-file.",
  },
  403: {
    exitCode: EXIT.configuration,
    todo: "Use a key whose role and project allow this; see the keys there are: tessera keys ls --all-projects.",
  },
};

/** A3 */
export function isApiProblem(error: unknown): error is ApiProblem {
  return error instanceof Error && error.name === "ApiError" && "status" in error && "requestId" in error;
}

/** Whether asking again may help although nothing was changed. */
export function isAway(error: unknown): boolean {
  if (!isApiProblem(error)) return false;
  const { status, requestId } = error;
  if (status === 0) return AWAY_CODES.has(error.code);
  // A plain 500 is of something in between: every answer of Tessera has a request id.
  return status === 429 || status >= 502 || (status === 500 && requestId === null);
}

/** What was asked for is not there; the path was right. */
export function isNotFound(error: unknown): boolean {
  return isApiProblem(error) && error.status === 404 && error.requestId !== null && !isUnknownPath(error);
}

export function isUnknownProject(error: unknown): boolean {
  return isNotFound(error) && fieldOf(error as ApiProblem) === "project_id";
}

/** Tessera answers, but not at this path: the URL has one too many, or is of something else of it. */
export function isUnknownPath(error: unknown): boolean {
  return isApiProblem(error) && error.status === 404 && fieldOf(error) === "path";
}

/** A key that is not taken: that of a process which has ended meanwhile, where it was read from its directory. */
export function isUnauthenticated(error: unknown): boolean {
  return isApiProblem(error) && error.status === 401;
}

export function apiFailure(error: ApiProblem): Failure {
  const { status, message, code } = error;
  if (status === 0 && !AWAY_CODES.has(code)) {
    const todo = "Correct --url or TESSERA_URL, and the key.";
    return { exitCode: EXIT.configuration, code, message, todo };
  }
  if (status === 429) {
    const { retryAfterMs } = error;
    const time = retryAfterMs === null ? "a moment" : `${Math.ceil(retryAfterMs / 1_000)} s`;
    return { exitCode: EXIT.unreachable, code, message, todo: `Wait ${time}, then repeat.` }; // A2
  }
  if (status === 503 && error.requestId !== null) {
    const said = STORE_CODES.has(code) ? "the server answers, but it cannot reach its store" : message;
    return { exitCode: EXIT.unreachable, code, message: said, todo: STORE_TODO }; // A2
  }
  if (status >= 500 && isAway(error)) {
    const todo =
      "Repeat in a moment: this is the answer of something between here and the server, or of a server that starts.";
    return { exitCode: EXIT.unreachable, code, message, todo };
  }
  if (isAway(error)) {
    const todo = "Check that the server runs and that --url or TESSERA_URL is its address, then repeat.";
    return { exitCode: EXIT.unreachable, code, message, todo };
  }
  const known = BY_STATUS[status];
  if (known !== undefined) return { code, message, ...known }; // A1
  // Every answer of Tessera has a request id.
  if (error.requestId === null) {
    const todo = "Correct --url or TESSERA_URL: what answers there is not Tessera's API.";
    return { exitCode: EXIT.configuration, code, message, todo };
  }
  if (isUnknownPath(error)) {
    const todo = "Correct --url or TESSERA_URL: it is not the API's address.";
    return { exitCode: EXIT.configuration, code, message, todo };
  }
  if (code === "agent_not_found") {
    const todo = "Name one that is defined with --agent; see them: tessera agents ls.";
    return { exitCode: EXIT.failure, code, message, todo };
  }
  const mistakes = mistakesOf(error);
  const isConfiguration = code === "bad_request" || code.startsWith("E_CONFIG_") || mistakes.length > 0;
  const todo = code === "bad_request" ? "Correct what is named, then repeat." : ERROR_CATALOGUE[code].todo;
  const exitCode = isConfiguration ? EXIT.configuration : EXIT.failure;
  return { exitCode, code, message, todo, ...(mistakes.length === 0 ? {} : { mistakes }) };
}

function fieldOf({ details }: ApiProblem): unknown {
  return details.field;
}

function mistakesOf({ details }: ApiProblem): string[] {
  const list = Array.isArray(details.mistakes) ? details.mistakes : [];
  return list.flatMap((each) => (isJsonObject(each) && typeof each.message === "string" ? [each.message] : []));
}
