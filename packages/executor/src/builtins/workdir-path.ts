// Paths inside a workdir. A model may name any path; what it gets to is inside, or nothing.
//
//   W1. A path is resolved first: links inside the workdir may be used as long as they stay inside it. The answer is a
//       list of names from the workdir's real path on, without any link or `..`.
//   W2. What is opened is reached from the workdir's descriptor name by name, no link followed. A name that was swapped for
//       a link after W1 therefore fails to open instead of leading out, and nothing outside is created or cut short. Only
//       Linux can do this (`/proc/self/fd/<n>/<name>`); elsewhere the path is used, and W3 is all there is.
//   W3. The open descriptor is checked again: it must be exactly the file that W1 meant.
//   W4. Regular files and directories only: a FIFO would wait for ever, a device would do something.
//   W5. A file with a second name (hard link) is refused for reading and writing: it cannot be known whether the other name is
//       outside, and writing here would write there.

import { constants } from "node:fs";
import { type FileHandle, lstat, mkdir, open, readlink, realpath, stat } from "node:fs/promises";
import { basename, dirname, isAbsolute, join, resolve, sep } from "node:path";
import { type ErrorCode, errorOf, type TesseraError } from "@tessera/protocol";

const PATH_CHARS_MAX = 4_096;
const NAME_BYTES_MAX = 255;
const LINUX = "/proc/self/fd";
const DIRECTORY = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW;
const NEW_DIRECTORY_MODE = 0o755;
const NEW_FILE_MODE = 0o644;

export interface InsidePath {
  /** The workdir's real path. */
  readonly root: string;
  /** From the root on; none for the workdir itself. */
  readonly names: readonly string[];
  /** The same for people and models: relative, `.` for the workdir. */
  readonly shown: string;
}

/** Where the given path leads (W1). It need not exist. */
export async function resolveInside(workdir: string, given: string): Promise<InsidePath> {
  if (given === "" || given.length > PATH_CHARS_MAX || given.includes("\0")) {
    throw errorOf("invalid_path", `a path has 1 to ${PATH_CHARS_MAX} characters and no NUL`);
  }
  if (given.split("/").some((name) => Buffer.byteLength(name) > NAME_BYTES_MAX)) {
    throw errorOf("invalid_path", `a name in a path has at most ${NAME_BYTES_MAX} bytes`);
  }
  const root = await realpath(workdir);
  // An absolute path may be written with the workdir's own name, which may hold links of the operator's.
  const wanted =
    isAbsolute(given) && isWithin(given, resolve(workdir)) ? given.slice(resolve(workdir).length + 1) : given;
  const target = resolve(root, wanted);
  if (!isWithin(target, root)) throw outside(given);
  const real = await realpathOfDeepest(target, given);
  if (!isWithin(real, root)) throw outside(given);
  const names = real
    .slice(root.length)
    .split(sep)
    .filter((name) => name !== "");
  return { root, names, shown: names.length === 0 ? "." : names.join("/") };
}

/** Opens a regular file (W2–W5) with `flags`, which must not cut it short: that is done after the check, by the caller. */
export async function openFile(place: InsidePath, flags: number): Promise<FileHandle> {
  const name = place.names.at(-1);
  if (name === undefined) throw notAFile(place);
  const parent = await openDirectory(
    { ...place, names: place.names.slice(0, -1) },
    { create: (flags & constants.O_CREAT) !== 0 },
  );
  try {
    const path = childPath(parent, pathOf(place, -1), name);
    const found = await lstat(path).catch(unlessMissing);
    if (found?.isSymbolicLink()) throw outside(place.shown); // swapped since W1
    if (found !== undefined && !found.isFile()) throw notAFile(place); // W4: before it is opened
    const file = await open(path, flags | constants.O_NOFOLLOW | constants.O_NONBLOCK, NEW_FILE_MODE);
    try {
      await checkOpened(file, place);
      return file;
    } catch (error) {
      await file.close();
      throw error;
    }
  } catch (error) {
    throw asPathError(error, place.shown);
  } finally {
    await parent.close();
  }
}

/** Opens a directory from the root on, name by name (W2); with `create`, makes what is missing. */
export async function openDirectory(place: InsidePath, options: { readonly create: boolean }): Promise<FileHandle> {
  let handle = await open(place.root, DIRECTORY);
  let path = place.root;
  try {
    for (const name of place.names) {
      const child = childPath(handle, path, name);
      if (options.create) await mkdir(child, NEW_DIRECTORY_MODE).catch(unlessThere);
      const next = await open(child, DIRECTORY);
      await handle.close();
      handle = next;
      path = join(path, name);
    }
    await checkSame(handle, path, place.shown);
    return handle;
  } catch (error) {
    await handle.close();
    throw asPathError(error, place.shown);
  }
}

/** The path by which a child of an open directory is reached (W2). */
export function childPath(directory: FileHandle, path: string, name: string): string {
  return process.platform === "linux" ? `${LINUX}/${directory.fd}/${name}` : join(path, name);
}

/** The real path of a place, or of one of its ancestors (`up` = -1 for the parent). */
export function pathOf(place: InsidePath, up = 0): string {
  return join(place.root, ...place.names.slice(0, place.names.length + up));
}

async function checkOpened(file: FileHandle, place: InsidePath): Promise<void> {
  const opened = await file.stat();
  if (!opened.isFile()) throw notAFile(place); // W4
  if (opened.nlink > 1) {
    throw errorOf("path_outside_workdir", `${place.shown} has a second name that may be outside; copy it first`); // W5
  }
  await checkSame(file, pathOf(place), place.shown);
}

/** W3. A directory that was moved out of the workdir while it was walked shows here. */
async function checkSame(handle: FileHandle, path: string, shown: string): Promise<void> {
  if (process.platform === "linux") {
    if ((await readlink(`${LINUX}/${handle.fd}`)) !== path) throw outside(shown);
    return;
  }
  const [opened, named] = [await handle.stat(), await stat(path)];
  const isSame = opened.dev === named.dev && opened.ino === named.ino && (await realpath(path)) === path;
  if (!isSame) throw outside(shown);
}

/** The real path of what exists of `target`, with the missing names after it. */
async function realpathOfDeepest(target: string, given: string): Promise<string> {
  const missing: string[] = [];
  for (let path = target; ; path = dirname(path)) {
    try {
      return join(await realpath(path), ...missing);
    } catch (error) {
      if (codeOf(error) !== "ENOENT") throw asPathError(error, given);
      // Opening a link to nowhere for writing would make the file where it points.
      if ((await lstat(path).catch(unlessMissing))?.isSymbolicLink()) throw outside(given);
      missing.unshift(basename(path));
    }
  }
}

/** `workdir-evil` is not inside `workdir`, though its text begins alike. */
function isWithin(path: string, root: string): boolean {
  return path === root || path.startsWith(root.endsWith(sep) ? root : root + sep);
}

const CODES: Readonly<Record<string, readonly [ErrorCode, string]>> = {
  ENOENT: ["not_found", "does not exist"],
  ENOTDIR: ["invalid_path", "is not, or is not in, a directory"],
  EISDIR: ["invalid_path", "is a directory"],
  ELOOP: ["path_outside_workdir", "leads through a link"],
  ENXIO: ["invalid_path", "is not a regular file"],
  ENAMETOOLONG: ["invalid_path", "has a name that is too long"],
  EACCES: ["forbidden", "may not be opened"],
  EPERM: ["forbidden", "may not be opened"],
  ENOSPC: ["storage_full", "cannot be written: the disk is full"],
  EDQUOT: ["storage_full", "cannot be written: the disk is full"],
};

/** The error of a path that could not be used; other errors pass. Says nothing of where the workdir is. */
export function asPathError(error: unknown, shown: string): unknown {
  const known = CODES[codeOf(error)];
  return known === undefined ? error : errorOf(known[0], `${shown.slice(0, 300)} ${known[1]}`, { cause: error });
}

function outside(shown: string): TesseraError {
  return errorOf("path_outside_workdir", `${shown.slice(0, 300)} is not inside the working directory`);
}

function notAFile(place: InsidePath): TesseraError {
  return errorOf("invalid_path", `${place.shown} is not a regular file`);
}

function unlessMissing(error: unknown): undefined {
  if (codeOf(error) !== "ENOENT") throw error;
}

function unlessThere(error: unknown): undefined {
  if (codeOf(error) !== "EEXIST") throw error;
}

function codeOf(error: unknown): string {
  return error instanceof Error && "code" in error ? String(error.code) : "";
}
