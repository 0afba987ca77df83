// Prepared stores, kept between runs: making one takes seconds, loading one about 0.2 s. An installed build brings one along.
//
//   C1. A file appears under its name complete or not at all.
//   C2. The name holds the version of PGlite and the caller's key (a digest of the schema); a change of either makes
//       a new file. A file that is damaged can be deleted at any time.
//   C3. A cache that cannot be written costs time at the next start and nothing else: the snapshot is there.
//   C4. What was brought along goes by the same name, and so belongs to this PGlite and this schema or is not found.

import { randomBytes } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { readFile, rename, writeFile } from "node:fs/promises";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { brotliCompress, brotliDecompress } from "node:zlib";
import { makeDirectory, type Snapshot } from "./store-directory.ts";

/** Beside the code of this package once it is built (scripts/release/build.ts); the repository has none. */
const BROUGHT = new URL("../../prepared/", import.meta.url);
const KEY = /^[A-Za-z0-9_-]{1,128}$/;

/** The snapshot stored under `key`, or the one that was brought along or that `make` makes, which is then stored. */
export async function cachedSnapshot(
  key: string,
  make: () => Promise<Snapshot>,
  brought: URL = BROUGHT,
): Promise<Snapshot> {
  const name = snapshotName(key);
  const directory = cacheDirectory();
  const file = join(directory, name);
  if (existsSync(file)) return await readFile(file);
  const snapshot = (await broughtSnapshot(new URL(compressedName(key), brought))) ?? (await make());
  try {
    makeDirectory(directory);
    const unfinished = `${file}.${process.pid}-${randomBytes(4).toString("hex")}`;
    await writeFile(unfinished, snapshot);
    await rename(unfinished, file); // C1
  } catch (error) {
    if (!isFileError(error)) throw error; // C3
  }
  return snapshot;
}

/** What an installed build looks for (C4): its name, and its content. */
export async function compressedSnapshot(key: string, snapshot: Snapshot): Promise<{ name: string; content: Buffer }> {
  return { name: compressedName(key), content: await promisify(brotliCompress)(snapshot) };
}

async function broughtSnapshot(file: URL): Promise<Snapshot | null> {
  if (!existsSync(file)) return null;
  return new Uint8Array(await promisify(brotliDecompress)(await readFile(file)));
}

/** C2 */
function snapshotName(key: string): string {
  if (!KEY.test(key)) throw new Error(`a snapshot key is 1 to 128 of A-Z a-z 0-9 _ -, not ${JSON.stringify(key)}`);
  return `pglite-${pgliteVersion()}-${key}.tar`;
}

function compressedName(key: string): string {
  return `${snapshotName(key)}.br`;
}

function isFileError(error: unknown): boolean {
  return error instanceof Error && "syscall" in error;
}

function cacheDirectory(): string {
  const chosen = process.env.TESSERA_CACHE_DIR;
  if (chosen) return chosen;
  if (process.platform === "darwin") return join(homedir(), "Library", "Caches", "tessera");
  return join(process.env.XDG_CACHE_HOME || join(homedir(), ".cache"), "tessera");
}

let version: string | null = null;

export function pgliteVersion(): string {
  if (version !== null) return version;
  const entry = fileURLToPath(import.meta.resolve("@electric-sql/pglite"));
  version = String(JSON.parse(readFileSync(join(dirname(entry), "..", "package.json"), "utf8")).version);
  return version;
}
