// What can go wrong with a store, as errors that say what was tried, what was found and what to do.
//
//   S1. `details.kind` sorts them for programs: `locked`, `not_migrated`, `missing`, `damaged`, `unusable_directory`, or
//       the kind of the DatabaseError behind them.
//   S2. The driver's error stays as `cause`; its message never holds a password.

import type { StoreLockedError } from "@tessera/engines/pglite";
import { DatabaseError, storageCodeOf } from "@tessera/kernel";
import { Conflict, TesseraError } from "@tessera/protocol";
import type { StorePlace } from "./store-place.ts";

export function storeError(error: unknown, place: StorePlace, doing: string): unknown {
  if (isStoreLocked(error)) {
    return new Conflict(error.message, {
      code: "store_in_use",
      details: { kind: "locked", directory: error.directory, ...error.holder },
      cause: error,
    });
  }
  if (error instanceof DatabaseError) return databaseError(error, place, doing);
  if (TesseraError.is(error) && "expected" in error.details) {
    return new TesseraError(error.code, error.message, {
      details: { kind: "not_migrated", ...error.details },
      cause: error,
    });
  }
  if (isFileError(error)) {
    return new TesseraError(
      "storage_error",
      `${doing} ${place.name}: ${error.message}; check the path and its permissions`,
      {
        details: { kind: "unusable_directory", errno: error.code },
        cause: error,
      },
    );
  }
  return error;
}

/** For a store that is only looked at: opening would make it, which was not asked for. */
export function missingStore(place: StorePlace): TesseraError {
  return new TesseraError(
    "storage_error",
    `cannot open ${place.name}: there is no store in it; check the path, or run \`tessera migrate\` to make one`,
    { details: { kind: "missing" } },
  );
}

/** For a store that is there and does not open: repeating does not help. Other errors are answered as they are. */
export function damagedStore(error: unknown, place: StorePlace): unknown {
  if (!(error instanceof DatabaseError) || error.kind !== "fatal") return error;
  return new TesseraError("storage_error", `cannot open ${place.name}: ${error.message}`, {
    details: { kind: "damaged" },
    cause: error,
  });
}

function databaseError(error: DatabaseError, place: StorePlace, doing: string): TesseraError {
  const code = error.kind === "forbidden" ? "forbidden" : storageCodeOf(error.kind);
  return new TesseraError(code, `${doing} ${place.name}: ${error.message}`, {
    details: { kind: error.kind, sqlstate: error.sqlstate },
    cause: error,
  });
}

/** By name, because the class would load PGlite into processes that only use PostgreSQL. */
function isStoreLocked(error: unknown): error is StoreLockedError {
  return error instanceof Error && error.name === "StoreLockedError";
}

export function isFileError(error: unknown): error is NodeJS.ErrnoException & { code: string } {
  return error instanceof Error && "syscall" in error && "code" in error && typeof error.code === "string";
}
