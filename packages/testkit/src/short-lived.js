// For processes that a test starts, by `--import`: they live for seconds. PGlite's code stays as the first of V8's compilers
// made it; the second one takes a third of such a process's CPU time and pays only after that. Plain JavaScript, because
// some of them are older than types.

import { setFlagsFromString } from "node:v8";

for (const flag of ["--liftoff-only", "--no-wasm-tier-up", "--no-wasm-dynamic-tiering"]) setFlagsFromString(flag);
