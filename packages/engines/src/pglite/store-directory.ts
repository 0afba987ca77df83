// The files of an embedded store: DIR/lock/ (see store-lock.ts) and DIR/store/, the PGlite data directory.
//
//   S1. What is called `store` is complete: a new one is made under another name, closed, and renamed. So a process
//       killed during its first start leaves only `store.tmp-*`, which the next one removes.
//   S2. A `store` that does not look like a data directory is an error. It is never made afresh: that would be data loss.
//   S3. Everything here happens under the lock.

import { randomBytes } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { promisify } from "node:util";
import { gunzip } from "node:zlib";
import { PGlite } from "@electric-sql/pglite";
import { DatabaseError } from "@tessera/kernel/ports";

export type Snapshot = Uint8Array | Blob;

const UNFINISHED = "store.tmp-";

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
    return await PGlite.create(store);
  } catch (cause) {
    const version = readFileSync(versionFile, "utf8").trim();
    throw new DatabaseError("fatal", `cannot open ${store}, written by PostgreSQL ${version}: ${messageOf(cause)}`, {
      cause,
    });
  }
}

export async function openInMemory(snapshot: Snapshot | undefined): Promise<PGlite> {
  return await PGlite.create(snapshot === undefined ? {} : { loadDataDir: await asTar(snapshot) });
}

/** Level by level: where a file system refuses with ENOENT (/proc does), Node's own recursive mkdir never returns. */
export function makeDirectory(directory: string): void {
  const missing: string[] = [];
  for (let path = resolve(directory); !existsSync(path); path = dirname(path)) missing.unshift(path);
  for (const path of missing) mkdirSync(path, { mode: 0o700 });
}

/** S1 */
async function createStore(directory: string, store: string, snapshot: Snapshot | undefined): Promise<void> {
  const unfinished = join(directory, `${UNFINISHED}${process.pid}-${randomBytes(4).toString("hex")}`);
  const options = snapshot === undefined ? {} : { loadDataDir: await asTar(snapshot) };
  const pglite = await PGlite.create(unfinished, options);
  await pglite.close();
  renameSync(unfinished, store);
}

/** zlib unpacks a snapshot in 65 ms, the stream PGlite would use takes 250; opening gets about 70 ms faster. */
async function asTar(snapshot: Snapshot): Promise<Blob> {
  const bytes = snapshot instanceof Blob ? new Uint8Array(await snapshot.arrayBuffer()) : snapshot;
  const isGzip = bytes[0] === 0x1f && bytes[1] === 0x8b;
  const tar = isGzip ? await promisify(gunzip)(bytes) : bytes;
  return new Blob([new Uint8Array(tar)], { type: "application/x-tar" });
}

function messageOf(cause: unknown): string {
  return cause instanceof Error ? cause.message : String(cause);
}
