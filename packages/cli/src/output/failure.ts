// What a command says when it fails: a code, what was tried and found, what to do, and the exit code. Never a stack.

import { ERROR_CATALOGUE, type ErrorCode, TesseraError } from "@tessera/protocol";
import { EXIT, type ExitCode } from "../exit-codes.ts";
import { apiFailure, isApiProblem } from "./api-failure.ts";

export interface Failure {
  readonly exitCode: ExitCode;
  readonly code: ErrorCode | "usage";
  readonly message: string;
  readonly todo: string;
  /** Where several things are wrong in files: each with its file:line:col. */
  readonly mistakes?: readonly string[];
}

interface Advice {
  readonly exitCode: ExitCode;
  readonly todo: string;
}

const configuration = (todo: string): Advice => ({ exitCode: EXIT.configuration, todo });
const unreachable = (todo: string): Advice => ({ exitCode: EXIT.unreachable, todo });

/** By `details.kind`; what is not listed is a plain failure. */
const BY_KIND: Readonly<Record<string, Advice>> = {
  missing: configuration("Check the path, or run `tessera migrate` to make a store there."),
  damaged: configuration("Restore the directory from a backup, or move it away to start with an empty store."),
  not_migrated: configuration("Run `tessera migrate` with the same --data or --postgres."),
  unusable_directory: configuration("Name a directory that this user may write."),
  unavailable: unreachable("Check that the database runs and that the address is right, then repeat."),
  read_only: unreachable("Make the database writable, or name its primary, then repeat."),
  connection_lost: unreachable("Repeat: commands are safe to repeat."),
  forbidden: configuration("Check user, password and rights of the role in the URL."),
  missing_bundle: configuration("Name a directory with a tessera.yaml, goondan.yaml or tessera.config.ts."),
  file_as_bundle: configuration("That is a file: name the directory that it lies in."),
};

/** PostgreSQL's own answers to a URL that names the wrong thing. */
const BY_SQLSTATE: Readonly<Record<string, string>> = {
  "3D000": "Create the database, or correct its name in the URL.",
  "28000": "Check the user in the URL and the server's access rules.",
  "28P01": "Check user and password in the URL.",
};

/** Why the API could not listen. */
const BY_LISTEN_ERRNO: Readonly<Record<string, { readonly found: string; readonly todo: string }>> = {
  EADDRINUSE: {
    found: "another process listens there",
    todo: "Stop that process, or choose another port with --port; 0 takes any free one.",
  },
  EADDRNOTAVAIL: { found: "this machine has no such address", todo: "Name an address of this machine with --host." },
  ENOTFOUND: { found: "there is no such host", todo: "Name an address of this machine with --host." },
  EACCES: { found: "this user may not", todo: "Choose a port above 1023 with --port." },
};

const CONFIGURATION_CODES: ReadonlySet<ErrorCode> = new Set(["bad_request", "unsupported_version"]);

/** A command line that means nothing. */
export function usageError(message: string): TesseraError {
  return new TesseraError("bad_request", message, { details: { kind: "usage" } });
}

/** An error of which the command knows better what to do about it than the catalogue, which speaks to everybody. */
export function errorWithTodo(
  code: ErrorCode,
  message: string,
  todo: string,
  exitCode: ExitCode = EXIT.failure,
): TesseraError {
  return new TesseraError(code, message, { details: { advice: { exitCode, todo } satisfies Advice } });
}

/** `help` is the command that explains the one that was run. */
export function describeFailure(error: unknown, help = "tessera --help"): Failure {
  if (isApiProblem(error)) return apiFailure(error);
  if (!TesseraError.is(error)) return listenFailure(error) ?? unexpectedFailure(error);
  const { code, message, details } = error;
  if (details.kind === "usage") {
    return { exitCode: EXIT.usage, code: "usage", message, todo: `See \`${help}\`.` };
  }
  if (details.advice !== undefined) return { code, message, ...(details.advice as Advice) };
  if (Array.isArray(details.mistakes)) return mistakesFailure(code, details.mistakes);
  if (details.kind === "locked") return lockedFailure(error);
  const byState = BY_SQLSTATE[String(details.sqlstate)];
  if (byState !== undefined) return { exitCode: EXIT.configuration, code, message, todo: byState };
  const byKind = BY_KIND[kindOf(details)];
  if (byKind !== undefined) return { code, message, ...byKind };
  const isConfiguration = CONFIGURATION_CODES.has(code) || code.startsWith("E_CONFIG_");
  const exitCode = isConfiguration ? EXIT.configuration : EXIT.failure;
  return { exitCode, code, message, todo: moduleTodo(message) ?? todoOf(code) };
}

function kindOf({ kind, errno }: TesseraError["details"]): string {
  return kind === "missing_bundle" && errno === "ENOTDIR" ? "file_as_bundle" : String(kind);
}

function mistakesFailure(code: ErrorCode, found: readonly { readonly code: ErrorCode; readonly message: string }[]) {
  const mistakes = found.map((mistake) => mistake.message);
  const isOne = mistakes.length === 1;
  const message = isOne ? (mistakes[0] ?? "") : `${mistakes.length} mistakes were found`;
  const known = isOne && code !== "bad_request" ? ERROR_CATALOGUE[code].todo : "Correct what is named, then repeat.";
  const todo = (isOne ? moduleTodo(message) : null) ?? known;
  return { exitCode: EXIT.configuration, code, message, todo, mistakes };
}

/** Of a module that cannot be loaded: the mistake is in the module, or in what is installed, and not in the field that names it. */
function moduleTodo(message: string): string | null {
  const why = / the module \S+ cannot be loaded: (.+)/s.exec(` ${message}`)?.[1];
  if (why === undefined) return null;
  const missing = /^Cannot find (?:module|package) '((?:@[\w.-]+\/)?[a-z0-9][\w.-]*)(?:\/|')/.exec(why)?.[1];
  if (missing === undefined) return "Correct the module, then repeat.";
  return `Install the package if it is not there (npm install ${missing}), or correct the import.`;
}

/** The process that holds a directory serves its API once it has started: one that does not is starting, or is no `tessera`. */
function lockedFailure({ code, details }: TesseraError): Failure {
  const who = details.pid === undefined ? "another process that is just starting" : `process ${details.pid}`;
  const message = `the store in ${details.directory} is in use by ${who}, which does not answer other commands yet`;
  const todo = "Repeat in a moment; if it stays so, stop that process, or use another directory.";
  return { exitCode: EXIT.unreachable, code, message, todo };
}

function listenFailure(error: unknown): Failure | null {
  if (!(error instanceof Error)) return null;
  const { syscall, code = "", address, port } = error as NodeJS.ErrnoException & { address?: string; port?: number };
  const known = syscall === "listen" || syscall === "getaddrinfo" ? BY_LISTEN_ERRNO[code] : undefined;
  if (known === undefined) return null;
  const where = [address, port].filter((part) => part !== undefined).join(":");
  const message = `cannot listen on ${where === "" ? "that address" : where}: ${known.found}`;
  return { exitCode: EXIT.configuration, code: "bad_request", message, todo: known.todo };
}

function unexpectedFailure(error: unknown): Failure {
  const message = error instanceof Error ? error.message : String(error);
  return {
    exitCode: EXIT.failure,
    code: "internal_error",
    message: `an unexpected error: ${message}`,
    todo: "Repeat; if it stays, report it with the command that was run.",
  };
}

function todoOf(code: ErrorCode): string {
  return code === "bad_request" ? "See `tessera --help`." : ERROR_CATALOGUE[code].todo;
}
