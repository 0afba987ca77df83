// Start-up: from the command `tessera run` of the quick start on an embedded store to its first step, the very first time and
// with the cached snapshot. The first step of the quick start thinks for 300 ms, which is in the figures. Each run is asked to
// stop after that step and ends by itself, so that it leaves what any run leaves: the compiled sources, too, which Node
// writes when a process ends.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { rounded } from "../statistics.ts";
import { tell } from "./program.ts";

const ROOT = join(import.meta.dirname, "../..");
const FIRST_STEP = "calendar__free_day";
const CACHED_RUNS = 3;

const directory = mkdtempSync(join(tmpdir(), "tessera-bench-"));
const cache = join(directory, "cache");
let stores = 0;

async function firstStepMs(): Promise<number> {
  const data = join(directory, `store-${stores++}`);
  const command = [join(ROOT, "packages/cli/bin/tessera.js"), "run", join(ROOT, "examples/quickstart")];
  const began = performance.now();
  const child = spawn(process.execPath, [...command, "--input", "Porto", "--data", data], {
    env: { PATH: process.env.PATH, HOME: directory, TESSERA_CACHE_DIR: cache },
    stdio: ["ignore", "ignore", "pipe"],
  });
  const exit = once(child, "exit");
  let said = "";
  const seen = new Promise<number>((resolve) => {
    child.stderr.on("data", (chunk) => {
      said += String(chunk);
      if (said.includes(FIRST_STEP)) resolve(performance.now() - began);
    });
  });
  const ms = await Promise.race([
    seen,
    exit.then(() => Promise.reject(new Error(`it ended without a step:\n${said}`))),
  ]);
  child.kill("SIGTERM");
  await exit;
  return ms;
}

try {
  const first = await firstStepMs();
  const cached: number[] = [];
  for (let n = 0; n < CACHED_RUNS; n += 1) cached.push(await firstStepMs());
  tell({ first_time_ms: rounded(first), cached_ms: rounded(cached.sort((a, b) => a - b)[CACHED_RUNS >> 1] ?? 0) });
} finally {
  rmSync(directory, { recursive: true, force: true });
}
