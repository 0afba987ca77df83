// The files of an embedded store: DIR/lock/ (see store-lock.ts) and DIR/store/, the PGlite data directory.
//
//   S1. What is called `store` is complete: a new one is made under another name and renamed when it is there. So a
//       process killed during its first start leaves only `store.tmp-*`, which the next one removes.
//   S2. A `store` that does not look like a data directory is an error. It is never made afresh: that would be data loss.
//   S3. Everything here happens under the lock.
//   S4. A store is small: what opening one costs is mostly the copying of its bytes and the clearing of its memory.
//   S5. A copy is the files of a database right after a checkpoint, as a killed process leaves them, and is opened like
//       those. To open and close it once before its first use would take as long as all the rest.

import { randomBytes } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { PGlite, type PGliteOptions } from "@electric-sql/pglite";
import { DatabaseError } from "@tessera/kernel/ports";
import { unpackSnapshot } from "./unpack-snapshot.ts";

/** A data directory as a tar. */
export type Snapshot = Uint8Array<ArrayBuffer>;

const UNFINISHED = "store.tmp-";
/** S4. The log: segments of 1 MB instead of 16, and none kept to be used again, would otherwise be most of a new store. */
const NEW_CLUSTER = ["--wal-segsize=1", "-c", "wal_recycle=off"];
/** PGlite clears them at every start; its own choice of 128 MB costs a tenth of a second each time (S4). */
const SHARED_BUFFERS = { directory: "32MB", memory: "4MB" };

export async function openStore(directory: string, snapshot: Snapshot | undefined): Promise<PGlite> {
  const store = join(directory, "store");
  for (const name of readdirSync(directory)) {
    if (name.startsWith(UNFINISHED)) rmSync(join(directory, name), { recursive: true, force: true }); // S1
  }
  if (!existsSync(store)) await createStore(directory, store, snapshot);
  const versionFile = join(store, "PG_VERSION");
  if (!existsSync(versionFile)) {
    throw new DatabaseError("fatal", `${store} is no database (PG_VERSION is missing); restore it or move it away`); // S2
  }
  try {
    return await PGlite.create(store, { startParams: startParams("directory") });
  } catch (cause) {
    const version = readFileSync(versionFile, "utf8").trim();
    throw new DatabaseError("fatal", `cannot open ${store}, written by PostgreSQL ${version}: ${messageOf(cause)}`, {
      cause,
    });
  }
}

export async function openInMemory(snapshot: Snapshot | undefined): Promise<PGlite> {
  return await PGlite.create({ startParams: startParams("memory"), ...contentOf(snapshot) });
}

/** What only `create database` needs and what the log still holds is no part of a snapshot (S4). */
export const BEFORE_SNAPSHOT = [
  "update pg_database set datistemplate = false where datname <> current_database()",
  "drop database if exists template0",
  "drop database if exists template1",
  "checkpoint",
];

/** Level by level: where a file system refuses with ENOENT (/proc does), Node's own recursive mkdir never returns. */
export function makeDirectory(directory: string): void {
  const missing: string[] = [];
  for (let path = resolve(directory); !existsSync(path); path = dirname(path)) missing.unshift(path);
  for (const path of missing) mkdirSync(path, { mode: 0o700 });
}

/** S1, S5 */
async function createStore(directory: string, store: string, snapshot: Snapshot | undefined): Promise<void> {
  const unfinished = join(directory, `${UNFINISHED}${process.pid}-${randomBytes(4).toString("hex")}`);
  if (snapshot === undefined) {
    const pglite = await PGlite.create(unfinished, {
      startParams: startParams("directory"),
      initDbStartParams: NEW_CLUSTER,
    });
    await pglite.close();
  } else await unpackSnapshot(snapshot, unfinished);
  renameSync(unfinished, store);
}

function contentOf(snapshot: Snapshot | undefined): Pick<PGliteOptions, "initDbStartParams" | "loadDataDir"> {
  if (snapshot === undefined) return { initDbStartParams: NEW_CLUSTER };
  return { loadDataDir: new Blob([snapshot], { type: "application/x-tar" }) };
}

function startParams(place: "directory" | "memory"): string[] {
  return [...PGlite.defaultStartParams, "-c", `shared_buffers=${SHARED_BUFFERS[place]}`];
}

function messageOf(cause: unknown): string {
  return cause instanceof Error ? cause.message : String(cause);
}
