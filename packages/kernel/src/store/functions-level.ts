// The order between the functions of two builds.
//
//   V1. sql/functions.log has one line for every text that the functions of l0 have had, oldest first; the last one is the
//       present. The level of a build is the number of lines: it grows with every change, on every branch, because a merge
//       keeps the lines of both sides (.gitattributes) and `npm run generate` appends the digest of what came of it.
//   V2. A store says which level it has. Without one it was written by a build that knew no levels: older than any.
//   V3. Functions serve the clients of older builds (decision 7). So a build works with its own functions and with newer
//       ones, and not with older ones, or with those of another branch.

import { readSqlFile, readSqlFolder, sha256Hex } from "./sql-files.ts";

export const FUNCTIONS = readSqlFolder("functions");
/** Of the functions of this build. */
export const FUNCTIONS_DIGEST: string = sha256Hex(FUNCTIONS.map((file) => file.text).join("\n"));
/** V1 */
export const FUNCTIONS_LEVEL: number = loggedDigests(readSqlFile("functions.log")).length;

export function loggedDigests(log: string): string[] {
  return log.split("\n").filter((line) => /^[0-9a-f]{64}$/.test(line));
}

/** What a store says of its functions; null: it has none. */
export type InstalledFunctions = { readonly digest: string; readonly level: number | null } | null;

/** Compared with those of this build (V2, V3). */
export function functionsAge(installed: InstalledFunctions): "same" | "missing" | "older" | "newer" | "other" {
  if (installed === null) return "missing";
  if (installed.digest === FUNCTIONS_DIGEST) return "same";
  if (installed.level === null || installed.level < FUNCTIONS_LEVEL) return "older";
  return installed.level > FUNCTIONS_LEVEL ? "newer" : "other";
}
