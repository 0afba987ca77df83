// A prepared data directory, from its tar to the disk. PGlite can load a tar itself, but only through its own file system
// and by starting the database on it: half of the time that a new store took.
//
//   U1. Only what `dumpSnapshot` writes is understood: plain ustar, files and directories. Anything else is an error, since
//       a store with a file missing is worse than none.
//   U2. Nothing is written outside of `directory`, whatever the names say.
//   U3. Files are their owner's only, as PostgreSQL wants it.
//   U4. A busy disk makes the creation of five hundred files slow: the rest of a start goes on meanwhile.

import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { Snapshot } from "./store-directory.ts";

const BLOCK = 512;
const CHECKSUM = { at: 148, length: 8 };
const WRITES_AT_ONCE = 16;

export async function unpackSnapshot(snapshot: Snapshot, directory: string): Promise<void> {
  const { files, directories } = readTar(snapshot);
  await mkdir(directory, { mode: 0o700 });
  for (const name of directories) await mkdir(join(directory, name), { recursive: true, mode: 0o700 });
  const write = async () => {
    for (let file = files.pop(); file !== undefined; file = files.pop()) {
      await writeFile(join(directory, file.name), file.content, { mode: 0o600 }); // U3
    }
  };
  await Promise.all(Array.from({ length: WRITES_AT_ONCE }, write)); // U4
}

interface TarFile {
  readonly name: string;
  readonly content: Uint8Array;
}

function readTar(snapshot: Snapshot): { files: TarFile[]; directories: ReadonlySet<string> } {
  const tar = Buffer.from(snapshot.buffer, snapshot.byteOffset, snapshot.byteLength);
  const files: TarFile[] = [];
  const directories = new Set<string>();
  for (let at = 0; at < tar.length && tar[at] !== 0; ) {
    const header = tar.subarray(at, at + BLOCK);
    if (!isHeader(header)) throw damaged(at);
    const name = nameOf(header);
    const size = numberAt(header, 124, 12);
    const from = at + BLOCK;
    if (from + size > tar.length) throw damaged(at);
    const kind = header[156];
    if (kind === DIRECTORY) directories.add(name);
    else if (kind === FILE) {
      directories.add(dirname(name));
      files.push({ name, content: tar.subarray(from, from + size) });
    } else throw damaged(at); // U1
    at = from + Math.ceil(size / BLOCK) * BLOCK;
  }
  return { files, directories };
}

const FILE = "0".charCodeAt(0);
const DIRECTORY = "5".charCodeAt(0);

function isHeader(header: Buffer): boolean {
  if (header.length < BLOCK) return false;
  let sum = 0;
  for (let at = 0; at < BLOCK; at++) {
    const isChecksum = at >= CHECKSUM.at && at < CHECKSUM.at + CHECKSUM.length;
    sum += isChecksum ? 0x20 : (header[at] as number);
  }
  return sum === numberAt(header, CHECKSUM.at, CHECKSUM.length);
}

/** U2 */
function nameOf(header: Buffer): string {
  const name = [textAt(header, 345, 155), textAt(header, 0, 100)].filter((part) => part !== "").join("/");
  if (name.split("/").includes("..")) throw new Error(`a snapshot holds the name ${JSON.stringify(name)}`);
  return name;
}

function textAt(header: Buffer, at: number, length: number): string {
  const field = header.subarray(at, at + length);
  const end = field.indexOf(0);
  return field.toString("utf8", 0, end === -1 ? length : end);
}

function numberAt(header: Buffer, at: number, length: number): number {
  return Number.parseInt(textAt(header, at, length).trim() || "0", 8);
}

function damaged(at: number): Error {
  return new Error(`the prepared store is damaged at byte ${at}; delete it from the cache, and it is made anew`);
}
