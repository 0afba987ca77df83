// Watches the files of a bundle, and what else belongs to it.
//
//   W1. Events of the system only say that it is time to look: what changed is found by comparing the files with what they were.
//       So a save by rename, a burst, a missed event and a touched file all mean what they are.
//   W2. A file changed if its content did. What changes within QUIET_MS, or while a change is being handled, is one change, and
//       what is still changing is looked at again after SETTLE_MS: a save may empty a file before it fills it.
//   W3. Not looked at: `node_modules`, directories whose names begin with a dot, and those that the caller names (the store).
//   W4. Where the system gives no more watches, or has none for this file system, it is looked at all the same, a little
//       later: POLL_MS after the last look, or IDLE_LOOK_MS where there are events. Looking takes no more than a
//       fiftieth of the time, however many files there are.

import { createHash } from "node:crypto";
import { type FSWatcher, watch as watchPath } from "node:fs";
import { readdir, readFile, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { Clock, Timer } from "@tessera/kernel";

/** A watch over files that is under way. */
export interface FileWatch {
  /** Whether the system tells changes; otherwise files are looked at again and again (W4). */
  readonly hasEvents: boolean;
  /** Looks soon: other files elsewhere belong to it now. */
  lookSoon(): void;
  /** Resolves when no change is being handled. */
  stop(): Promise<void>;
}

export interface WatchOptions {
  /** A real path. */
  readonly root: string;
  /** Directories that are not looked at, as absolute paths (W3). */
  readonly not: readonly string[];
  isWatched(file: string): boolean;
  /** Files outside of the root. */
  readonly elsewhere: () => readonly string[];
  /** Never called while it runs. Where it throws, the same files come again. */
  readonly onChange: (files: readonly string[]) => Promise<void>;
  readonly onWarning: (warning: string) => void;
  readonly clock: Pick<Clock, "after" | "monotonicMs">;
  /** How a directory is watched; default: by the system. */
  readonly watch?: (directory: string, heard: () => void) => Pick<FSWatcher, "close" | "on">;
}

const QUIET_MS = 40;
const QUIET_MS_MAX = 300;
const SETTLE_MS = 15;
const SETTLE_LOOKS_MAX = 20;
const POLL_MS = 500;
const IDLE_LOOK_MS = 2_000;
const LOOK_SHARE = 50;
const FAILED_AGAIN_MS = 2_000;
const TREE_MAX = { files: 20_000, depth: 24 };
const AT_ONCE = 64;
const HASHED_BYTES_MAX = 4 * 1_024 * 1_024;

interface Seen {
  readonly stamp: string;
  /** Null: it was of no interest, or is large. */
  readonly hash: string | null;
}

type Listing = Map<string, Seen>;

/** Tells which files below a directory have another content than before, and those besides that are named. */
export async function watchFiles(options: WatchOptions): Promise<FileWatch> {
  const { root, clock, onChange, onWarning } = options;
  const watch = options.watch ?? ((directory, heard) => watchPath(directory, heard));
  const not = new Set(options.not);
  const watchers = new Map<string, Pick<FSWatcher, "close" | "on">>();
  /** As the last look found them, and as they were when what had changed was handled. */
  let seen: Listing = new Map();
  let handled: Listing = new Map();
  let handledElsewhere: ReadonlySet<string> = new Set();
  let hasEvents = true;
  let isStopped = false;
  let isFull = false;
  let timer: Timer | null = null;
  let waitsSince: number | null = null;
  let isRung = false;
  let looking: Promise<void> | null = null;

  /** Answers whether anything is other than at the look before. */
  async function look(): Promise<boolean> {
    const { files, directories } = await listFiles(root, not);
    if (files.length >= TREE_MAX.files && !isFull) {
      isFull = true;
      onWarning(`there are more than ${TREE_MAX.files} files below ${root}; changes of the others are not noticed`);
    }
    const elsewhere = options.elsewhere();
    const all = [...new Set([...files, ...elsewhere])];
    const now: Listing = new Map();
    for (let at = 0; at < all.length; at += AT_ONCE) {
      const some = all.slice(at, at + AT_ONCE);
      const found = await Promise.all(some.map((file) => lookAt(file, seen.get(file), options.isWatched(file))));
      for (const [n, file] of some.entries()) {
        const is = found[n] ?? null;
        if (is !== null) now.set(file, is);
      }
    }
    const isOther = now.size !== seen.size || [...now].some(([file, { stamp }]) => seen.get(file)?.stamp !== stamp);
    seen = now;
    watchThese(new Set([...directories, ...elsewhere.map((file) => dirname(file))]));
    return isOther;
  }

  /** W1, W2: against what was handled last, so that what is as it was then is no change. */
  function changes(): string[] {
    const elsewhere = new Set(options.elsewhere());
    for (const file of elsewhere) {
      const found = seen.get(file);
      if (!handledElsewhere.has(file) && !handled.has(file) && found !== undefined) handled.set(file, found); // it begins to belong to it
    }
    for (const file of handledElsewhere) if (!elsewhere.has(file)) handled.delete(file);
    handledElsewhere = elsewhere;
    const isOther = (file: string) => {
      const [before, now] = [handled.get(file), seen.get(file)];
      if (before === undefined || now === undefined) return before !== now;
      return before.stamp !== now.stamp && (before.hash === null || before.hash !== now.hash);
    };
    return [...new Set([...handled.keys(), ...seen.keys()])].filter((file) => options.isWatched(file) && isOther(file));
  }

  function watchThese(directories: ReadonlySet<string>): void {
    for (const [directory, watcher] of watchers) {
      if (directories.has(directory)) continue;
      watchers.delete(directory);
      watcher.close();
    }
    for (const directory of directories) {
      if (!hasEvents || isStopped) return;
      if (watchers.has(directory)) continue;
      try {
        const watcher = watch(directory, ring);
        watchers.set(directory, watcher);
        watcher.on("error", (error: NodeJS.ErrnoException) => void lost(directory, error));
      } catch (error) {
        lost(directory, error as NodeJS.ErrnoException);
      }
    }
  }

  /** W4 */
  function lost(directory: string, error: NodeJS.ErrnoException): void {
    watchers.get(directory)?.close();
    watchers.delete(directory);
    if (error.code === "ENOENT" || error.code === "EPERM" || !hasEvents) {
      ring(); // it is gone
      return;
    }
    hasEvents = false;
    for (const watcher of watchers.values()) watcher.close();
    watchers.clear();
    const why =
      error.code === "ENOSPC" || error.code === "EMFILE"
        ? `no more file watches (${error.code})`
        : `no file watches (${error.code})`;
    onWarning(`the system gives ${why}, so the bundle is looked at every ${POLL_MS} ms instead`);
    lookIn(POLL_MS);
  }

  /** W2 */
  function ring(): void {
    if (isStopped) return;
    if (looking !== null) {
      isRung = true;
      return;
    }
    const now = clock.monotonicMs();
    waitsSince ??= now;
    lookIn(Math.max(0, Math.min(QUIET_MS, waitsSince + QUIET_MS_MAX - now)));
  }

  function lookIn(ms: number): void {
    timer?.cancel();
    if (!isStopped) timer = clock.after(ms, () => void lookNow());
  }

  function lookNow(): Promise<void> {
    looking ??= handle().finally(() => {
      looking = null;
    });
    return looking;
  }

  async function handle(): Promise<void> {
    waitsSince = null;
    isRung = false;
    const start = clock.monotonicMs();
    let pauseMs = hasEvents ? IDLE_LOOK_MS : POLL_MS;
    try {
      await look();
      pauseMs = Math.max(pauseMs, (clock.monotonicMs() - start) * LOOK_SHARE);
      // W2. A file that is being written is not handled half.
      for (let n = 0; n < SETTLE_LOOKS_MAX && changes().length > 0; n++) {
        await new Promise<void>((resolve) => void clock.after(SETTLE_MS, resolve));
        if (!(await look())) break;
      }
      const [changed, now] = [changes(), seen];
      if (changed.length > 0 && !isStopped) {
        await onChange(changed);
        isRung = true; // other files may belong to it now
      }
      handled = new Map(now);
    } catch (error) {
      if (!isStopped) onWarning(`changes of the bundle are tried again: ${String(error)}`);
      pauseMs = FAILED_AGAIN_MS;
      isRung = false;
    }
    lookIn(isRung ? QUIET_MS : pauseMs);
  }

  await look();
  handled = new Map(seen);
  lookIn(hasEvents ? IDLE_LOOK_MS : POLL_MS);
  return {
    get hasEvents() {
      return hasEvents;
    },
    lookSoon: ring,
    async stop() {
      isStopped = true;
      timer?.cancel();
      for (const watcher of watchers.values()) watcher.close();
      watchers.clear();
      await looking;
    },
  };
}

/** Null: it is not there. */
async function lookAt(file: string, before: Seen | undefined, isWatched: boolean): Promise<Seen | null> {
  const found = await stat(file).catch(() => null);
  if (found === null || !found.isFile()) return null;
  const stamp = `${found.ino}:${found.size}:${found.mtimeMs}:${found.ctimeMs}`;
  if (before?.stamp === stamp) return before;
  if (!isWatched || found.size > HASHED_BYTES_MAX) return { stamp, hash: null };
  const content = await readFile(file).catch(() => null);
  return content === null ? null : { stamp, hash: createHash("sha256").update(content).digest("hex") };
}

/** W3. One directory after the other, so that a tree of any size is no burst. */
async function listFiles(root: string, not: ReadonlySet<string>): Promise<{ files: string[]; directories: string[] }> {
  const files: string[] = [];
  const directories: string[] = [];
  const left: (readonly [string, number])[] = [[root, 0]];
  for (let next = left.pop(); next !== undefined && files.length < TREE_MAX.files; next = left.pop()) {
    const [directory, depth] = next;
    const entries = await readdir(directory, { withFileTypes: true }).catch(() => []);
    directories.push(directory);
    for (const entry of entries) {
      const path = join(directory, entry.name);
      if (!entry.isDirectory()) files.push(path);
      else if (
        !entry.name.startsWith(".") &&
        entry.name !== "node_modules" &&
        !not.has(path) &&
        depth < TREE_MAX.depth
      ) {
        left.push([path, depth + 1]);
      }
    }
  }
  return { files, directories };
}
