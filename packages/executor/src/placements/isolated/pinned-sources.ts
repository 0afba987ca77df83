// The sources of an isolated module as one child of it found them, for every child after it: a file that was saved meanwhile,
// whole or half, changes nothing for the version in use.
//
//   S1. The first child of a version records what it loads, and what it reads meanwhile, in a file. The others are given the
//       sources that are in there instead of those on disk. A file that is gone by then cannot be found, all the same.
//   S2. Only files of the bundle's author: packages (`node_modules`) do not change under a running process.
//   S3. What a handler imports later, while it runs, is what is there then.

import fs from "node:fs";
import { registerHooks } from "node:module";
import { extname, isAbsolute, join } from "node:path";
import { fileURLToPath } from "node:url";
import { isInside } from "../../loader/entry-path.ts";
import { isPackaged } from "../../loader/reloading-jiti.ts";

/** File → its source; null: it was read and is none. */
export type PinnedSources = Readonly<Record<string, string | null>>;

const SOURCES = new Set([".ts", ".mts", ".cts", ".tsx", ".js", ".mjs", ".cjs", ".jsx", ".json"]);
const FILES_MAX = 10_000;
/** Of this product, where it is run from its sources. */
const OWN = join(import.meta.dirname, "../../../..");

/** S1. The answer writes down what was found; what is read after it is not recorded. `not`: directories of this product. */
export function recordSources(path: string, not: readonly string[]): () => void {
  const found = new Map<string, string | null>();
  let isOver = false;
  onRead((file, text) => {
    const isTheirs = !isOver && found.size < FILES_MAX && ![OWN, ...not].some((own) => isInside(file, own));
    if (isTheirs) found.set(file, SOURCES.has(extname(file)) ? text : null);
    return text;
  });
  return () => {
    isOver = true;
    fs.writeFileSync(path, JSON.stringify(Object.fromEntries(found)), { mode: 0o600 });
  };
}

/** S1 */
export function useSources(path: string): void {
  const pinned = JSON.parse(fs.readFileSync(path, "utf8")) as PinnedSources;
  onRead((file, text) => pinned[file] ?? text);
}

type Read = (file: string, text: string) => string;

/** What the loader reads synchronously, and what it leaves to Node. */
function onRead(read: Read): void {
  const original = fs.readFileSync;
  const replaced = (path: unknown, ...rest: readonly unknown[]) => {
    const content = (original as (...args: readonly unknown[]) => string | Buffer)(path, ...rest);
    if (typeof path !== "string" || !isAbsolute(path) || isPackaged(path)) return content; // S2
    const text = content.toString();
    const meant = read(path, text);
    if (meant === text) return content;
    return typeof content === "string" ? meant : Buffer.from(meant);
  };
  fs.readFileSync = replaced as typeof fs.readFileSync;
  registerHooks({
    load(url, context, nextLoad) {
      const loaded = nextLoad(url, context);
      const { source } = loaded;
      if (!url.startsWith("file:") || source === undefined || source === null) return loaded;
      const file = fileURLToPath(url.split("?")[0] ?? url);
      if (isPackaged(file)) return loaded; // S2
      const text = typeof source === "string" ? source : Buffer.from(source as Uint8Array).toString();
      return { ...loaded, source: read(file, text) };
    },
  });
}
