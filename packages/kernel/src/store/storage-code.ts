// Which code of the catalogue stands for a database that did not do what it was asked: one table for all that report it.

import { type ErrorCode, TesseraError } from "@tessera/protocol";
import type { DatabaseErrorKind } from "../ports.ts";

export type StorageCode = Extract<ErrorCode, `storage_${string}`>;

export function storageCodeOf(kind: DatabaseErrorKind): StorageCode {
  if (kind === "exhausted") return "storage_full";
  return kind === "locked" ? "storage_busy" : "storage_error";
}

/** What the store did not do now may be done later, whatever it was. */
export function isStorageError(error: unknown): error is TesseraError {
  return TesseraError.is(error) && error.code.startsWith("storage_");
}
