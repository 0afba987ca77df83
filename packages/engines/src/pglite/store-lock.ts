// The exclusive lock on a data directory, held for the life of the process.
//
// Two PGlite processes on one directory lose commits without an error, so only one may open it. Pid files lie in
// containers and Node has no flock; a listening Unix socket dies with its process, whatever killed it, and is seen by
// every process that shares the file system. Sockets lie in DIR/lock/, one per contender, each under a name used once:
//
//   L1. A socket gets its visible name (`<id>.sock`) by a rename after it listens. So a visible name that refuses a
//       connection belongs to a dead process, and because names are used once, deleting it can hit no live process.
//   L2. First become visible, then look at the others. Of two contenders at least one sees the other.
//   L3. A contender that sees a live one with a smaller id withdraws. One that sees a larger id waits until that
//       one has withdrawn or holds. Waiting goes only from smaller to larger, so it ends, and two never both hold.
//   L4. Holding is a file (`<id>.holder`), written when the decision falls and readable while the holder is busy. It
//       counts only together with its live socket. The socket gives the same line to every process that connects.

import { randomBytes } from "node:crypto";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { connect, createServer, type Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";

/** What is known about the process that holds a store. */
export interface StoreHolder {
  readonly pid: number;
  readonly startedAt: string;
  readonly apiUrl?: string;
}

export class StoreLockedError extends Error {
  override readonly name = "StoreLockedError";
  readonly directory: string;
  /** Null while the other process is still starting. */
  readonly holder: StoreHolder | null;
  constructor(directory: string, holder: StoreHolder | null) {
    const who = holder === null ? "another process that is just starting" : describe(holder);
    const instead = holder?.apiUrl === undefined ? "" : `, or reach it at ${holder.apiUrl}`;
    super(`the store in ${directory} is in use by ${who}; stop that process${instead}, or choose another directory`);
    this.directory = directory;
    this.holder = holder;
  }
}

export interface StoreLock {
  /** Lets refused processes know where to reach this one. */
  announceApi(url: string): void;
  release(): Promise<void>;
}

const RETRY_MS = 25;
/** How long a contender with a larger id may take to withdraw or hold; a stopped process must not hold us for ever. */
const UNDECIDED_MS_MAX = 5_000;
/** Paths of Unix sockets end at 103 bytes on macOS and 107 on Linux. */
const SOCKET_PATH_BYTES_MAX = 100;

/** Takes the lock or throws `StoreLockedError`; waits `waitMs` for a holder to leave. */
export async function lockStore(directory: string, waitMs = 0): Promise<StoreLock> {
  const deadline = performance.now() + waitMs;
  for (;;) {
    const outcome = await elect(directory);
    if ("lock" in outcome) return outcome.lock;
    if (performance.now() >= deadline) throw new StoreLockedError(directory, outcome.holder);
    await delay(RETRY_MS);
  }
}

/** Who holds the store now, or null. */
export async function findStoreHolder(directory: string): Promise<StoreHolder | null> {
  const place = new LockPlace(directory);
  try {
    for (const id of place.visibleIds()) {
      const holder = place.readHolder(id);
      if (holder !== null && (await place.isAlive(id))) return holder;
    }
    return null;
  } finally {
    place.dispose();
  }
}

async function elect(directory: string): Promise<{ lock: StoreLock } | { holder: StoreHolder | null }> {
  const place = new LockPlace(directory);
  const contender = await Contender.enter(place);
  try {
    for (const id of place.visibleIds()) {
      if (id === contender.id) continue;
      const holder = await place.outcomeOf(id, id < contender.id ? 0 : UNDECIDED_MS_MAX); // L3
      if (holder === "gone") continue;
      await contender.release();
      return { holder };
    }
    contender.hold();
    return { lock: contender };
  } catch (error) {
    await contender.release();
    throw error;
  } finally {
    place.dispose();
  }
}

/** The directory of the sockets, under a name that is short enough for a socket. */
class LockPlace {
  readonly path: string;
  readonly #alias: string | null = null;

  constructor(directory: string) {
    this.path = join(directory, "lock");
    if (!existsSync(this.path)) mkdirSync(this.path, { recursive: true, mode: 0o700 });
    if (Buffer.byteLength(this.socketOf("0".repeat(16))) <= SOCKET_PATH_BYTES_MAX) return;
    this.#alias = mkdtempSync(join(tmpdir(), "tsr-"));
    symlinkSync(this.path, join(this.#alias, "d"));
  }

  dispose(): void {
    if (this.#alias !== null) rmSync(this.#alias, { recursive: true, force: true });
  }

  socketOf(id: string, ending = "sock"): string {
    return join(this.#alias === null ? this.path : join(this.#alias, "d"), `${id}.${ending}`);
  }

  visibleIds(): string[] {
    const sockets = readdirSync(this.path).filter((name) => name.endsWith(".sock"));
    return sockets.map((name) => name.slice(0, -".sock".length)).sort();
  }

  readHolder(id: string): StoreHolder | null {
    const file = join(this.path, `${id}.holder`);
    return existsSync(file) ? JSON.parse(readFileSync(file, "utf8")) : null;
  }

  forget(id: string): void {
    for (const ending of ["sock", "new", "holder"]) rmSync(join(this.path, `${id}.${ending}`), { force: true });
  }

  /** Connects; only a refusal or a missing name means dead (L1). */
  async isAlive(id: string): Promise<boolean> {
    return await new Promise((resolve) => {
      const socket = connect(this.socketOf(id));
      socket.once("connect", () => resolve(true));
      socket.once("error", (error: NodeJS.ErrnoException) => {
        resolve(error.code !== "ECONNREFUSED" && error.code !== "ENOENT");
      });
      socket.once("connect", () => socket.destroy());
    });
  }

  /** "gone", or that it holds, or null when it is alive and has not decided within `patienceMs`. */
  async outcomeOf(id: string, patienceMs: number): Promise<"gone" | StoreHolder | null> {
    const deadline = performance.now() + patienceMs;
    for (;;) {
      if (!(await this.isAlive(id))) {
        this.forget(id);
        return "gone";
      }
      const holder = this.readHolder(id);
      if (holder !== null || performance.now() >= deadline) return holder;
      await delay(RETRY_MS);
    }
  }
}

class Contender implements StoreLock {
  readonly id: string;
  readonly #place: LockPlace;
  readonly #server: Server;
  #holder: StoreHolder = { pid: process.pid, startedAt: new Date().toISOString() };

  private constructor(id: string, place: LockPlace) {
    this.id = id;
    this.#place = place;
    this.#server = createServer((socket) => {
      socket.on("error", () => {}); // a client that disconnected early does not matter to the holder
      socket.end(`${JSON.stringify(this.#holder)}\n`);
    });
    this.#server.unref();
  }

  static async enter(place: LockPlace): Promise<Contender> {
    const contender = new Contender(randomBytes(8).toString("hex"), place);
    await contender.#listen(place.socketOf(contender.id, "new"));
    renameSync(join(place.path, `${contender.id}.new`), join(place.path, `${contender.id}.sock`)); // L1, L2
    return contender;
  }

  hold(): void {
    this.#write(this.#holder);
  }

  announceApi(url: string): void {
    this.#write({ ...this.#holder, apiUrl: url });
  }

  async release(): Promise<void> {
    this.#place.forget(this.id);
    await new Promise<void>((resolve) => this.#server.close(() => resolve()));
  }

  #write(holder: StoreHolder): void {
    this.#holder = holder;
    const file = join(this.#place.path, `${this.id}.holder`);
    writeFileSync(`${file}.tmp`, JSON.stringify(holder));
    renameSync(`${file}.tmp`, file); // a reader sees all of it or nothing
  }

  async #listen(path: string): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      this.#server.once("error", (cause) => {
        reject(
          new Error(`cannot lock ${path}: ${cause.message}; the directory must be on a local file system`, { cause }),
        );
      });
      this.#server.listen({ path, exclusive: true }, resolve);
    });
  }
}

function describe(holder: StoreHolder): string {
  return `process ${holder.pid} (since ${holder.startedAt})`;
}
