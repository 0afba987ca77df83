// The test projects.
//
// `unit` and `pglite` need no server: `vitest run --project unit --project pglite`. The others share one PostgreSQL and
// one NATS, which the global setup starts. The kernel's suite runs twice, once on each engine.
//
//   V1. Processes that tests start keep their compiled sources between them; the `tessera` command has its own cache. V8 refuses
//       what was compiled under other flags, so processes with flags of their own (V4) keep theirs apart.
//   V2. The unit tests are many and small: they share what they import, which is half of their time. What a file changes
//       in the process (environment, timers, globals) it puts back.
//   V3. Any file may run beside any other: each has stores, ports and, where it breaks one, a server of its own. Only `chaos`
//       runs alone: it loads the machine and measures.
//   V4. V8 compiles PGlite's code twice, the second time well. That takes a third of the CPU time of a process that lives for
//       seconds, so most files go without it, and so do the processes that they start. It pays in `unit`, whose files share
//       a process, and in `sim`; `security` holds answers to limits of CPU time.
//   V5. Most files wait for half of their time, for processes, leases and retries. So more of them run at once than CI has
//       cores, and the long ones begin first.
//   V6. Stores and bundles of tests are made in memory where the machine has room for them: a new store is a thousand files,
//       and a disk's file system takes as much CPU time to make them as PGlite to open the store. `chaos` stays on the disk.

import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { defineConfig } from "vitest/config";
import { LongFilesFirst } from "./packages/testkit/src/long-files-first.ts";
import { memoryDirectory } from "./packages/testkit/src/memory-directory.ts";

const ON_DISK = tmpdir();
process.env.TMPDIR ||= memoryDirectory() ?? ON_DISK; // V6
process.env.NODE_COMPILE_CACHE ||= join(import.meta.dirname, "node_modules/.cache/compiled"); // V1

const SERVERS = ["packages/testkit/src/servers/global-setup.ts"];
const INSTALLATION = ["tests/package/global-setup.ts"];
const KERNEL = ["packages/kernel/test/**/*.test.ts"];
const SHORT_LIVED_CHILDREN = {
  NODE_COMPILE_CACHE: `${process.env.NODE_COMPILE_CACHE}-short-lived`, // V1
  NODE_OPTIONS: `--import=${pathToFileURL(join(import.meta.dirname, "packages/testkit/src/short-lived.js"))}`,
};
/** PGlite knows no roles. */
const TOOL_LOGIN = "tests/fuzz/tool-login.test.ts";
/** A test of a test: once is enough. */
const WRONG_KERNELS = "packages/kernel/test/model/wrong-kernels.test.ts";

export default defineConfig({
  test: {
    pool: "forks",
    maxWorkers: 4, // V5
    sequence: { sequencer: LongFilesFirst },
    passWithNoTests: true,
    projects: [
      project("unit", {
        include: [
          "packages/*/src/**/*.test.ts",
          "scripts/**/*.test.ts",
          "bench/*.test.ts",
          "tests/layering/**/*.test.ts",
        ],
        isolate: false, // V2
      }),
      project("pglite", { include: KERNEL, env: { TESSERA_TEST_ENGINE: "pglite" }, isShortLived: true }),
      project("postgres", {
        include: [...KERNEL, TOOL_LOGIN],
        exclude: [WRONG_KERNELS],
        env: { TESSERA_TEST_ENGINE: "postgres" },
        globalSetup: SERVERS,
      }),
      project("package", { include: ["tests/package/*.test.ts"], globalSetup: INSTALLATION, isShortLived: true }),
      project("cli", { include: ["tests/cli/**/*.test.ts"], isShortLived: true }),
      project("conformance", { include: ["tests/conformance/**/*.test.ts"], globalSetup: SERVERS, isShortLived: true }),
      project("scenarios", { include: ["tests/scenarios/**/*.test.ts"], globalSetup: SERVERS, isShortLived: true }),
      project("tools", { include: ["tests/tools/**/*.test.ts"], globalSetup: SERVERS, isShortLived: true }),
      project("agents", { include: ["tests/agents/**/*.test.ts"], globalSetup: SERVERS, isShortLived: true }),
      project("sim", { include: ["tests/sim/**/*.test.ts"] }),
      project("security", { include: ["tests/security/**/*.test.ts"], globalSetup: SERVERS }),
      project("fuzz", {
        include: ["tests/fuzz/**/*.test.ts"],
        exclude: [TOOL_LOGIN],
        env: { TESSERA_TEST_ENGINE: "pglite" },
        isShortLived: true,
      }),
      project("docs", {
        include: ["tests/docs/**/*.test.ts"],
        globalSetup: [...SERVERS, ...INSTALLATION],
        isShortLived: true,
      }),
      // Each file of `scale` and `chaos` starts servers of its own, as deploy/ describes them.
      project("scale", { include: ["tests/scale/**/*.test.ts"], isShortLived: true }),
      project("upgrade", { include: ["tests/upgrade/**/*.test.ts"], globalSetup: SERVERS, isShortLived: true }),
      project("crash", { include: ["tests/crash/**/*.test.ts"], globalSetup: SERVERS, isShortLived: true }),
      project("chaos", { include: ["tests/chaos/**/*.test.ts"], env: { TMPDIR: ON_DISK }, fileParallelism: false }),
    ],
  },
});

interface ProjectOptions {
  readonly include: string[];
  readonly exclude?: string[];
  readonly env?: Record<string, string>;
  readonly globalSetup?: string[];
  readonly isolate?: boolean;
  readonly fileParallelism?: boolean;
  /** V4 */
  readonly isShortLived?: boolean;
}

function project(name: string, { isShortLived = false, ...options }: ProjectOptions) {
  const short = { execArgv: ["--liftoff-only"], env: { ...options.env, ...SHORT_LIVED_CHILDREN } };
  return { test: { name, testTimeout: 30_000, hookTimeout: 60_000, ...options, ...(isShortLived ? short : {}) } };
}
