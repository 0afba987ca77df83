// The version of this build, as its manifest says it.

import { readFileSync } from "node:fs";

export const VERSION: string = String(
  JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8")).version,
);
