#!/usr/bin/env node
// The `tessera` command. Plain JavaScript, because the Node that starts it may be too old for what follows: then the Node
// that npm installed with this package (an optional dependency, one package per platform) takes over.
//
//   B1. Arguments, streams, signals and the exit code pass through unchanged.
//   B2. Without a usable Node it says which is needed and exits 3 (configuration).

import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

/** The first version that runs TypeScript sources without a flag. */
const NODE_MIN = [22, 18];
const EXIT_CONFIGURATION = 3;
const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"];
/** Set for the process that takes over, so that it never looks for another one. */
const TOOK_OVER = "TESSERA_NODE_TOOK_OVER";

function isNewEnough(version) {
  const [major, minor] = version.split(".").map(Number);
  return major > NODE_MIN[0] || (major === NODE_MIN[0] && minor >= NODE_MIN[1]);
}

/** The platform package's own binary, or null where there is none. */
function findPinnedNode() {
  const system = process.platform === "win32" ? "win" : process.platform;
  const binary = process.platform === "win32" ? "node.exe" : "node";
  try {
    const manifest = createRequire(import.meta.url).resolve(`node-${system}-${process.arch}/package.json`);
    const path = join(dirname(manifest), "bin", binary);
    return existsSync(path) ? path : null;
  } catch {
    return null; // not installed: said below
  }
}

function handOver(node) {
  const child = spawn(node, [fileURLToPath(import.meta.url), ...process.argv.slice(2)], {
    stdio: "inherit",
    env: { ...process.env, [TOOK_OVER]: "1" },
  });
  for (const signal of SIGNALS) process.on(signal, () => child.kill(signal));
  child.once("error", (error) => refuse(`${node} could not be started (${error.message})`));
  child.once("exit", (code, signal) => {
    if (signal === null) {
      process.exitCode = code ?? 1;
      return;
    }
    for (const each of SIGNALS) process.removeAllListeners(each);
    process.kill(process.pid, signal);
  });
}

function refuse(why) {
  const needed = `tessera needs Node ${NODE_MIN.join(".")} or newer`;
  process.stderr.write(
    `${needed}; this is ${process.versions.node}, and ${why}. Install a newer Node, or run npm ci.\n`,
  );
  process.exitCode = EXIT_CONFIGURATION;
}

if (isNewEnough(process.versions.node)) {
  const { main } = await import("../src/main.ts");
  await main();
} else {
  const pinned = process.env[TOOK_OVER] === undefined ? findPinnedNode() : null;
  if (pinned === null) refuse(`no Node package for ${process.platform}-${process.arch} is installed here`);
  else handOver(pinned);
}
