// The bundle of a command that was given none.

import { existsSync } from "node:fs";
import type { TesseraError } from "@tessera/protocol";
import { EXIT } from "../exit-codes.ts";
import { errorWithTodo } from "../output/failure.ts";

const BUNDLE_FILES = ["tessera.yaml", "goondan.yaml", "tessera.config.ts", "tessera.config.js", "tessera.config.mjs"];

/** The current directory, if it holds one. */
export function bundleHere(): string | undefined {
  return BUNDLE_FILES.some((file) => existsSync(file)) ? "." : undefined;
}

export function noBundleHere(...others: readonly string[]): TesseraError {
  const wanted = ["Name a directory with a tessera.yaml, goondan.yaml or tessera.config.ts", ...others].join(", ");
  return errorWithTodo(
    "E_CONFIG_ENTRY_NOT_FOUND",
    "there is no bundle in this directory",
    `${wanted}.`,
    EXIT.configuration,
  );
}
