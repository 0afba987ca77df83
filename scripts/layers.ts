// Who may import whom (ARCHITECTURE.md has the picture). tests/layering walks the sources and holds them to this table.

export const LAYERS: Readonly<Record<string, readonly string[]>> = {
  protocol: [],
  kernel: ["protocol"],
  engines: ["protocol", "kernel"],
  tool: ["protocol"],
  executor: ["protocol", "tool", "kernel"],
  agent: ["protocol", "tool", "kernel"],
  pmo: ["protocol", "kernel"],
  server: ["protocol", "kernel"],
  client: ["protocol"],
  runtime: ["protocol", "kernel", "engines", "tool", "executor", "agent", "pmo", "server"],
  cli: ["protocol", "runtime", "client"],
  tessera: ["tool", "executor", "agent", "client", "runtime"],
  testkit: ["protocol", "kernel", "engines", "tool", "executor", "agent", "pmo", "server", "client", "runtime", "cli"],
};

/** Engines stand behind the kernel's ports and see nothing else of it. */
export const PORTS_ONLY: Readonly<Record<string, string>> = { engines: "@tessera/kernel/ports" };

/** Folders that a process without their feature does not load: the sources outside import their index.ts and nothing else of
 *  them, and that module imports the rest when it is first used. */
export const LOADED_ON_USE: readonly string[] = ["packages/executor/src/openapi"];

/** The only places for things that would make a run unrepeatable: clocks, timers, randomness, the environment. What is
 *  drawn for a secret has to be unrepeatable, and a turn of the event loop takes no time: both are listed where they are. */
export const AMBIENT_ALLOWED: Readonly<Record<string, readonly string[]>> = {
  "process.env": [
    "packages/runtime/",
    "packages/cli/",
    "packages/testkit/",
    "packages/engines/src/pglite/snapshot-cache.ts",
    // An isolated child is a process of its own: it cleans its environment and ends with its parent.
    "packages/executor/src/placements/isolated/isolated-child.ts",
  ],
  "process.exit": ["packages/cli/", "packages/testkit/", "packages/executor/src/placements/isolated/isolated-child.ts"],
  "Date.now": ["packages/engines/", "packages/testkit/"],
  "Math.random": ["packages/engines/", "packages/testkit/", "packages/client/src/timers.ts"],
  randomUUID: ["packages/engines/", "packages/testkit/"],
  // The client runs in other people's programs and in browsers, where no clock of ours is.
  setTimeout: ["packages/engines/", "packages/testkit/", "packages/client/src/timers.ts"],
  setInterval: [
    "packages/engines/",
    "packages/testkit/",
    // Threads that watch what the rest of their process cannot see.
    "packages/executor/src/placements/isolated/isolated-watchdog.ts",
    "packages/runtime/src/hangs/hang-thread.ts",
    "packages/cli/src/connect/launcher-watch.ts",
  ],
  "performance.now": ["packages/engines/", "packages/testkit/"],
  "performance.timeOrigin": ["packages/runtime/src/doctor/check.ts"],
  "process.hrtime": [],
  // Where the clock knows no time of the database's: for people to read, compared with nothing.
  "new Date()": ["packages/engines/", "packages/testkit/", "packages/kernel/src/waiting/shown-time.ts"],
  "Temporal.Now": [],
  "timers/promises": ["packages/engines/", "packages/testkit/"],
  // Commands and checks that wait for another process, outside of any run.
  "AbortSignal.timeout": ["packages/cli/", "packages/engines/", "packages/runtime/", "packages/testkit/"],
  setImmediate: [
    "packages/engines/",
    "packages/testkit/",
    // The simulated scheduler waits for turns of the event loop (its S2).
    "packages/kernel/src/batching/batcher.ts",
    "packages/executor/src/placements/",
  ],
  randomBytes: [
    "packages/engines/",
    "packages/testkit/",
    "packages/runtime/src/api/local-key.ts",
    "packages/kernel/src/moves/api-key-port.ts",
    "packages/server/src/agents/agent-routes.ts",
    "packages/server/src/open-server.ts",
    "packages/server/src/projects/project-routes.ts",
  ],
  randomInt: ["packages/testkit/src/seeded-ids.ts"],
  getRandomValues: [],
};

/** The only places that write to a terminal. Commands print through the gate (packages/cli/src/output/printing-gate.ts). */
export const OUTPUT_ALLOWED: Readonly<Record<string, readonly string[]>> = {
  // Before there is a Node that could load the gate; it escapes what it prints itself.
  "process.stdout": ["packages/cli/bin/tessera.js"],
  // The log of an embedded Tessera, which escapes its lines (packages/runtime/src/process/open-log.ts).
  "process.stderr": ["packages/cli/bin/tessera.js", "packages/runtime/src/create-tessera.ts"],
  // A function of the logger that tools get has its name.
  console: ["packages/tool/src/run/call-logger.ts"],
  "/dev/tty": [],
  "as Printed": ["packages/cli/src/output/printing-gate.ts"],
};

/** The time of a function is its parameter `at`; the server's clock stands in where the caller gives none. Chance is for ids and
 *  secrets (`gen_random_uuid`) only. */
export const AMBIENT_SQL: Readonly<Record<string, readonly string[]>> = {
  "now()": [],
  current_timestamp: [],
  localtimestamp: [],
  "statement_timestamp()": [],
  "transaction_timestamp()": [],
  "timeofday()": [],
  "random()": [],
  "clock_timestamp()": [
    "queries/doctor.sql",
    "queries/migrations.sql",
    "migrations/0008_management.sql",
    // The ages of the server's own sessions, which know no other clock.
    "functions/33_end_holders.sql",
  ],
};
