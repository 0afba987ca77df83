#!/usr/bin/env node
// The `tessera` command. Plain JavaScript, because the Node that starts it may be too old for what follows: then the Node
// that npm installed with this package (an optional dependency, one package per platform) takes over.
//
//   B1. Arguments, streams, signals and the exit code pass through unchanged. SIGKILL cannot be passed on: the process that took
//       over notices that its pipe from here is closed (src/connect/launcher-watch.ts), and ends.
//   B2. Without a usable Node it says in one line which is needed, and exits 3 (configuration).
//   B3. Compiled sources are kept in the user's own cache, which more than halves a short command. A cache that cannot be
//       used costs only that.

import { spawn } from "node:child_process";
import { existsSync, mkdirSync } from "node:fs";
import module from "node:module"; // as a whole: an old Node has no enableCompileCache
import { homedir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

/** The first version that runs TypeScript sources without a flag. */
const NODE_MIN = [22, 18];
const EXIT_CONFIGURATION = 3;
const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"];
/** Set for the process that takes over, so that it never looks for another one, and knows of its pipe. */
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
    const manifest = module.createRequire(import.meta.url).resolve(`node-${system}-${process.arch}/package.json`);
    const path = join(dirname(manifest), "bin", binary);
    return existsSync(path) ? path : null;
  } catch {
    return null; // not installed: said below
  }
}

function handOver(node) {
  const child = spawn(node, [fileURLToPath(import.meta.url), ...process.argv.slice(2)], {
    stdio: ["inherit", "inherit", "inherit", "pipe"], // the last one is never written to (B1)
    env: { ...process.env, [TOOK_OVER]: "1" },
  });
  child.stdio[3]?.on("error", () => {}); // the process that took over has ended
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

/** A path may hold characters that act on a terminal; the gate of the command's own output cannot be loaded here. */
function visible(text) {
  const shown = (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`;
  return text.replace(/(?!\n)[\p{Cc}\p{Bidi_Control}]/gu, shown);
}

/** B2 */
function refuse(why) {
  const message = `Node ${NODE_MIN.join(".")} or newer is needed, and this is Node ${process.versions.node} at ${process.execPath}`;
  const isInstalled = import.meta.url.includes("/node_modules/");
  const todo = isInstalled
    ? "Install a newer Node: https://nodejs.org"
    : `Install a newer Node, or run npm ci, which brings one along: ${why}`;
  const error = { code: "unsupported_version", message, todo };
  if (process.argv.includes("--json")) process.stdout.write(visible(`${JSON.stringify({ ok: false, error })}\n`));
  else process.stderr.write(visible(`tessera: ${message}. ${todo}\n`));
  process.exitCode = EXIT_CONFIGURATION;
}

/** B3. NODE_COMPILE_CACHE, where it is set, took effect before this file ran. */
function cacheCompiled() {
  const { TESSERA_CACHE_DIR, XDG_CACHE_HOME, NODE_COMPILE_CACHE } = process.env;
  if (NODE_COMPILE_CACHE) return;
  const own = process.platform === "darwin" ? join(homedir(), "Library", "Caches") : join(homedir(), ".cache");
  const directory = resolve(TESSERA_CACHE_DIR || join(XDG_CACHE_HOME || own, "tessera"), "compiled");
  try {
    makeDirectory(directory);
  } catch {
    return; // B3
  }
  module.enableCompileCache?.(directory);
}

/** Level by level: where a file system refuses with ENOENT (/proc does), Node's own recursive mkdir never returns. */
function makeDirectory(directory) {
  const missing = [];
  for (let path = directory; !existsSync(path); path = dirname(path)) missing.unshift(path);
  for (const path of missing) mkdirSync(path, { mode: 0o700 });
}

if (isNewEnough(process.versions.node)) {
  cacheCompiled();
  const { main } = await import("../src/main.ts");
  await main();
} else {
  const pinned = process.env[TOOK_OVER] === undefined ? findPinnedNode() : null;
  if (pinned === null) refuse(`no Node package for ${process.platform}-${process.arch} is installed here`);
  else handOver(pinned);
}
