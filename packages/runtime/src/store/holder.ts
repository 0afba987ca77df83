// How a directory that is held by a running process is reached: the holder serves the API and says where.
//
//   D1. A directory has one holder. Everything that others want from its store goes through the holder's API, so whatever process
//       holds one for longer than a command serves it.
//   D2. DIR/key and DIR/url are readable by their owner only, written once the API is up and removed when it closes.
//   D3. The files count only with a live lock that names the same address: after `kill -9` they are left behind, and the
//       next holder of the directory may be a process that serves nothing.
//   D4. Looking for a holder makes nothing: no directory, no lock.

import { existsSync } from "node:fs";
import { readFile, rm, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { BadRequest } from "@tessera/protocol";
import type { Store } from "./open-store.ts";

/** Where the process that holds a directory serves its API, and the key for it. */
export interface Holder {
  readonly url: string;
  readonly key: string;
}

const OWNER_ONLY = 0o600;
const ANSWER_MS_MAX = 3_000;

/** Leaves the address and the key for other commands of this user; answers how to take them away. Nothing to do elsewhere. */
export async function announceHolder(store: Store, { url, key }: Holder): Promise<() => Promise<void>> {
  if (store.place.kind !== "directory") return async () => undefined;
  const files = filesOf(store.place.directory);
  const forget = async () => {
    for (const file of [files.url, files.key]) await clear(file);
  };
  await forget(); // a mode counts only when the file is made (D2)
  try {
    await writeFile(files.key, `${key}\n`, { mode: OWNER_ONLY, flag: "wx" });
    await writeFile(files.url, `${url}\n`, { mode: OWNER_ONLY, flag: "wx" });
  } catch (error) {
    await forget();
    throw error;
  }
  store.announceApi(url); // D3
  return forget;
}

/** The process that holds a directory; `reached` is null unless this user reaches its API. */
export interface FoundHolder {
  readonly pid: number;
  readonly startedAt: string;
  readonly reached: Holder | null;
}

/** The process that holds this directory and answers, or null: then the directory can be opened, or its holder serves nothing. */
export async function reachHolder(dataDir: string): Promise<Holder | null> {
  return (await findHolder(dataDir))?.reached ?? null;
}

/** Null: no process holds it. */
export async function findHolder(dataDir: string): Promise<FoundHolder | null> {
  const directory = resolve(dataDir);
  if (!existsSync(join(directory, "lock"))) return null; // D4
  const { findStoreHolder } = await import("@tessera/engines/pglite");
  const locked = await findStoreHolder(directory);
  if (locked === null) return null;
  const { pid, startedAt } = locked;
  return { pid, startedAt, reached: locked.apiUrl === undefined ? null : await reach(directory, locked.apiUrl) };
}

/** D3 */
async function reach(directory: string, apiUrl: string): Promise<Holder | null> {
  const files = filesOf(directory);
  const [url, key] = await Promise.all([readLine(files.url), readLine(files.key)]);
  if (url !== apiUrl || key === null) return null;
  return (await isAnswering(url)) ? { url, key } : null;
}

function filesOf(directory: string): { readonly key: string; readonly url: string } {
  return { key: join(directory, "key"), url: join(directory, "url") };
}

async function clear(file: string): Promise<void> {
  try {
    await rm(file, { force: true });
  } catch (cause) {
    const what = "a running process leaves its address and its key for other commands there";
    throw new BadRequest(`${file} is in the way and cannot be removed; move it away: ${what}`, { cause });
  }
}

async function readLine(file: string): Promise<string | null> {
  try {
    return (await readFile(file, "utf8")).trim() || null;
  } catch {
    return null; // gone meanwhile, or not ours to read
  }
}

async function isAnswering(url: string): Promise<boolean> {
  try {
    const answer = await fetch(new URL("/health/live", url), { signal: AbortSignal.timeout(ANSWER_MS_MAX) });
    await answer.body?.cancel();
    return answer.ok;
  } catch {
    return false;
  }
}
