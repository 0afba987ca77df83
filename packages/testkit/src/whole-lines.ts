// Reading a file to which other processes append lines.

import { existsSync, readFileSync } from "node:fs";

/** The lines that are there in full: the last one may be on its way, and a reader would get half of it. */
export function wholeLines(path: string): string[] {
  if (!existsSync(path)) return [];
  return readFileSync(path, "utf8").split("\n").slice(0, -1);
}
