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
  testkit: ["protocol", "kernel", "engines", "tool", "executor", "agent", "pmo", "server", "client", "runtime", "cli"],
};

/** Engines stand behind the kernel's ports and see nothing else of it. */
export const PORTS_ONLY: Readonly<Record<string, string>> = { engines: "@tessera/kernel/ports" };

/** The only places for things that would make a run unrepeatable: clocks, timers, randomness, the environment. */
export const AMBIENT_ALLOWED: Readonly<Record<string, readonly string[]>> = {
  "process.env": [
    "packages/runtime/",
    "packages/cli/",
    "packages/testkit/",
    "packages/engines/src/pglite/snapshot-cache.ts",
    // An isolated child is a process of its own: it cleans its environment and ends with its parent.
    "packages/executor/src/placements/isolated-child.ts",
  ],
  "process.exit": ["packages/cli/", "packages/testkit/", "packages/executor/src/placements/isolated-child.ts"],
  "Date.now": ["packages/engines/", "packages/testkit/"],
  "Math.random": ["packages/engines/", "packages/testkit/", "packages/client/src/timers.ts"],
  randomUUID: ["packages/engines/", "packages/testkit/"],
  // The client runs in other people's programs and in browsers, where no clock of ours is.
  setTimeout: ["packages/engines/", "packages/testkit/", "packages/client/src/timers.ts"],
  setInterval: ["packages/engines/", "packages/testkit/", "packages/executor/src/placements/isolated-watchdog.ts"],
  "performance.now": ["packages/engines/", "packages/testkit/"],
};
