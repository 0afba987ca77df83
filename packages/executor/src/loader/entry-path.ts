// Finds the file that a resource's `entry` means.
//
//   E1. The file lies inside the bundle after every link is followed: a bundle cannot make its host load something else.
//   E2. The file that is named comes first. What tsc or a bundler would have made of it, or made it from, is tried next,
//       because a package is published with either.
//   E3. Entries are named from the bundle's directory. Where one is named from its resource's own, the mistake says so.

import { realpath, stat } from "node:fs/promises";
import { dirname, join, relative, resolve, sep } from "node:path";
import { errorOf, type TesseraError } from "@tessera/protocol";

const EXTENSIONS = [".ts", ".mts", ".cts", ".js", ".mjs", ".cjs"];
const COUNTERPARTS: Readonly<Record<string, readonly string[]>> = {
  ".ts": [".js", ".mjs", ".cjs"],
  ".mts": [".mjs"],
  ".cts": [".cjs"],
  ".js": [".ts"],
  ".mjs": [".mts"],
  ".cjs": [".cts"],
};

/** The real path of `entry`, which is relative to `root`; `E_CONFIG_ENTRY_NOT_FOUND` otherwise. `namedIn`: the file that names it,
 *  relative to `root` (E3). */
export async function findEntry(entry: string, root: string, namedIn?: string): Promise<string> {
  if (entry === "" || entry.includes("\0")) throw notFound(entry, "is not a path");
  const realRoot = await realpath(root).catch(() => {
    throw notFound(entry, "has no directory to be found in");
  });
  for (const candidate of candidatesOf(resolve(realRoot, entry))) {
    const found = await realFile(candidate);
    if (found === null) continue;
    if (!isInside(found, realRoot)) throw notFound(entry, "lies outside the bundle"); // E1
    return found;
  }
  throw notFound(entry, `does not exist${await hintOf(entry, realRoot, namedIn)}`);
}

/** E3 */
async function hintOf(entry: string, realRoot: string, namedIn: string | undefined): Promise<string> {
  if (namedIn === undefined || dirname(namedIn) === ".") return "";
  const meant = resolve(realRoot, dirname(namedIn), entry);
  const found = isInside(meant, realRoot) ? await realFile(meant) : null;
  if (found === null || !isInside(found, realRoot)) return "";
  const name = relative(realRoot, meant).split(sep).join("/");
  return `: an entry is named from the bundle's directory, where this file is "./${name}"`;
}

export function isInside(path: string, directory: string): boolean {
  const way = relative(directory, path);
  return way !== "" && way !== ".." && !way.startsWith(`..${sep}`) && resolve(directory, way) === path;
}

function candidatesOf(path: string): string[] {
  const extension = EXTENSIONS.find((known) => path.endsWith(known));
  if (extension !== undefined) {
    const stem = path.slice(0, -extension.length);
    return [path, ...(COUNTERPARTS[extension] ?? []).map((other) => stem + other)]; // E2
  }
  return [path, ...EXTENSIONS.map((known) => path + known), ...EXTENSIONS.map((known) => join(path, `index${known}`))];
}

async function realFile(path: string): Promise<string | null> {
  try {
    const real = await realpath(path);
    return (await stat(real)).isFile() ? real : null;
  } catch {
    return null; // missing, or not reachable: either way there is nothing to load
  }
}

function notFound(entry: string, why: string): TesseraError {
  return errorOf("E_CONFIG_ENTRY_NOT_FOUND", `the entry ${JSON.stringify(entry.slice(0, 200))} ${why}`, {
    details: { entry },
  });
}
