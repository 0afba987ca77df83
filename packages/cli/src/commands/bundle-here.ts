// The bundle of a command that was given none.

import { existsSync } from "node:fs";

const BUNDLE_FILES = ["tessera.yaml", "goondan.yaml", "tessera.config.ts", "tessera.config.js", "tessera.config.mjs"];

/** The current directory, if it holds one. */
export function bundleHere(): string | undefined {
  return BUNDLE_FILES.some((file) => existsSync(file)) ? "." : undefined;
}
