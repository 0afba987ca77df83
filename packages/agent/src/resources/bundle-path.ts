// Files that a resource names: inside its own bundle, links included, and no larger than allowed.

import { open, realpath } from "node:fs/promises";
import { join, sep } from "node:path";
import { isPathInside } from "@tessera/tool/resources";

/** Bytes of a file by its path from the root of the bundle, at most `bytesMax + 1` of them; null: there is none. */
export type ReadBundleFile = (path: string, bytesMax: number) => Promise<Uint8Array | null>;

export function bundleFileReader(root: string): ReadBundleFile {
  return async (path, bytesMax) => {
    if (!isPathInside(path)) return null;
    try {
      const [base, real] = await Promise.all([realpath(root), realpath(join(root, path))]);
      if (!real.startsWith(base + sep)) return null; // a link that leads out
      const file = await open(real);
      try {
        const { size } = await file.stat();
        const buffer = Buffer.alloc(Math.min(size, bytesMax + 1));
        const { bytesRead } = await file.read(buffer, 0, buffer.length, 0);
        return buffer.subarray(0, bytesRead);
      } finally {
        await file.close();
      }
    } catch (error) {
      if (isAbsence(error)) return null;
      throw error;
    }
  };
}

const ABSENT: ReadonlySet<unknown> = new Set(["ENOENT", "ENOTDIR", "EISDIR", "ELOOP", "EACCES", "ENAMETOOLONG"]);

function isAbsence(error: unknown): boolean {
  return error instanceof Error && ABSENT.has((error as NodeJS.ErrnoException).code);
}
