// Finds the resource files of a bundle (docs/protocol/documents.md#goondan).
//
//   S1. By name only: a YAML file with another name belongs to other software. Links are not followed.
//   S2. Bounded: so many files, so deep; of each no more bytes than it takes to see that it is too large.

import { open, readdir } from "node:fs/promises";
import { join } from "node:path";
import { BUNDLE_FILE_BYTES_MAX, errorOf } from "@tessera/protocol";
import type { BundleFile } from "@tessera/tool/resources";

const BASE_NAME =
  /^(?:tessera|goondan|models?|agents?|tools?|extensions?|connectors?|connections?|swarms?|resources)\.ya?ml$/;
const SKIPPED = new Set(["dist", "node_modules", ".git"]);
const DEPTH_MAX = 16;
const FILES_MAX = 1_000;

/** Sorted by path, relative to `root` with `/` between the parts. */
export async function readBundleFiles(root: string): Promise<BundleFile[]> {
  const paths = await findFiles(root, "", 0);
  if (paths.length > FILES_MAX) {
    throw errorOf("E_CONFIG_TOO_MANY_DOCUMENTS", `the bundle has more than ${FILES_MAX} resource files`);
  }
  return await Promise.all(paths.sort().map((path) => readBundleFile(root, path)));
}

/** `path` is relative to `root`. */
export async function readBundleFile(root: string, path: string): Promise<BundleFile> {
  return { path, text: await readStart(join(root, path)) };
}

async function findFiles(root: string, under: string, depth: number): Promise<string[]> {
  const entries = await readdir(join(root, under), { withFileTypes: true });
  const found: string[] = [];
  for (const entry of entries) {
    const path = under === "" ? entry.name : `${under}/${entry.name}`;
    if (entry.isFile() && BASE_NAME.test(entry.name)) found.push(path); // S1
    if (entry.isDirectory() && !SKIPPED.has(entry.name) && depth < DEPTH_MAX) {
      found.push(...(await findFiles(root, path, depth + 1)));
    }
    if (found.length > FILES_MAX) break; // S2
  }
  return found;
}

async function readStart(path: string): Promise<Uint8Array> {
  const file = await open(path);
  try {
    const { size } = await file.stat();
    const buffer = Buffer.alloc(Math.min(size, BUNDLE_FILE_BYTES_MAX + 1));
    const { bytesRead } = await file.read(buffer, 0, buffer.length, 0);
    return buffer.subarray(0, bytesRead);
  } finally {
    await file.close();
  }
}
