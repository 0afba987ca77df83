// Compiled sources that this process keeps, for the threads and processes that it starts: Node hands them on by this variable only,
// and a thread that runs TypeScript without them loads the compiler first.

import module from "node:module"; // as a whole: an old Node has no getCompileCacheDir
import { dirname } from "node:path";

/** Node adds the directory of its own version to the one that it is told. */
export function compileCache(): { NODE_COMPILE_CACHE?: string } {
  const directory = module.getCompileCacheDir();
  return directory === undefined ? {} : { NODE_COMPILE_CACHE: dirname(directory) };
}
