// What a command says when it fails: a code, what was tried and found, what to do, and the exit code. Never a stack.

import { CGError, ERROR_CATALOGUE, type ErrorCode } from "@tessera/protocol";
import { EXIT, type ExitCode } from "./exit-codes.ts";

export interface Failure {
  readonly exitCode: ExitCode;
  readonly code: ErrorCode | "usage";
  readonly message: string;
  readonly todo: string;
}

/** By `details.kind` of errors about a store; what is not listed is a plain failure. */
const BY_KIND: Readonly<Record<string, { exitCode: ExitCode; todo: string }>> = {
  locked: { exitCode: EXIT.unreachable, todo: "Stop the process that holds the directory, then repeat." },
  missing: { exitCode: EXIT.configuration, todo: "Check the path, or run `tessera migrate` to make a store there." },
  damaged: {
    exitCode: EXIT.configuration,
    todo: "Restore the directory from a backup, or move it away to start with an empty store.",
  },
  not_migrated: { exitCode: EXIT.configuration, todo: "Run `tessera migrate` with the same --data or --postgres." },
  unusable_directory: { exitCode: EXIT.configuration, todo: "Name a directory that this user may write." },
  unavailable: {
    exitCode: EXIT.unreachable,
    todo: "Check that the database runs and that the address is right, then repeat.",
  },
  connection_lost: { exitCode: EXIT.unreachable, todo: "Repeat: commands are safe to repeat." },
  forbidden: { exitCode: EXIT.configuration, todo: "Check user, password and rights of the role in the URL." },
};

/** PostgreSQL's own answers to a URL that names the wrong thing. */
const BY_SQLSTATE: Readonly<Record<string, string>> = {
  "3D000": "Create the database, or correct its name in the URL.",
  "28000": "Check the user in the URL and the server's access rules.",
  "28P01": "Check user and password in the URL.",
};

const CONFIGURATION_CODES: ReadonlySet<ErrorCode> = new Set(["bad_request", "unsupported_version"]);

export function describeFailure(error: unknown): Failure {
  if (!CGError.is(error)) {
    const message = error instanceof Error ? error.message : String(error);
    return {
      exitCode: EXIT.failure,
      code: "internal_error",
      message: `an unexpected error: ${message}`,
      todo: "Repeat; if it stays, report it with the command that was run.",
    };
  }
  const { code, message, details } = error;
  const byState = BY_SQLSTATE[String(details.sqlstate)];
  if (byState !== undefined) return { exitCode: EXIT.configuration, code, message, todo: byState };
  const byKind = BY_KIND[String(details.kind)];
  if (byKind !== undefined) return { code, message, ...byKind };
  const isConfiguration = CONFIGURATION_CODES.has(code) || code.startsWith("E_CONFIG_");
  const exitCode = isConfiguration ? EXIT.configuration : EXIT.failure;
  return { exitCode, code, message, todo: todoOf(code) };
}

function todoOf(code: ErrorCode): string {
  return code === "bad_request" ? "See `tessera --help`." : ERROR_CATALOGUE[code].todo;
}
