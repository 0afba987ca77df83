// packages/kernel/sql/functions.log: a line for every text that the functions of l0 have had (functions-level.ts, V1).
//
// The one generated file that also depends on what it was before: a level that could be computed from the present alone would
// not grow. Where the functions are those of the last line it stays as it is.

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { FUNCTIONS_DIGEST, loggedDigests } from "../../packages/kernel/src/store/functions-level.ts";
import type { Generator } from "./generator.ts";

const PATH = "packages/kernel/sql/functions.log";

export const functionsLog: Generator = {
  name: "log of the functions",
  async files() {
    const log = await readFile(join(import.meta.dirname, "../..", PATH), "utf8");
    return new Map([[PATH, withPresent(log, FUNCTIONS_DIGEST)]]);
  },
};

export function withPresent(log: string, digest: string): string {
  return loggedDigests(log).at(-1) === digest ? log : `${log.replace(/\n*$/, "\n")}${digest}\n`;
}
