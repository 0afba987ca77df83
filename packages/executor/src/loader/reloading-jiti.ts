// The loader of a process that loads the same files again and again (`tessera dev`): each time as they are now, without what
// was loaded before staying in memory.
//
//   J1. Node keeps an ES module that it imported for as long as the process lives, and another URL for each version would keep
//       them all. So the modules of a bundle are never imported by Node: those that the loader would leave to it are evaluated
//       like the others, which puts them into the cache of CommonJS, and what is taken out of there is collected.
//   J2. Packages (`node_modules`) are Node's as ever: they are loaded once.
//   J3. Code that is in use holds its own modules. Forgetting them changes nothing for it, but what it imports later, while it
//       runs, is what is there then.

import { readFileSync } from "node:fs";
import module, { createRequire } from "node:module"; // as a whole: an old Node has no findPackageJSON
import { dirname, extname, isAbsolute, join, sep } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import type { createJiti as CreateJiti, JitiOptions } from "jiti";

const require = createRequire(import.meta.url);
const PACKAGES = `${sep}node_modules${sep}`;

type NativeImport = (id: string) => Promise<unknown>;
type BaseJiti = (
  id: string,
  options: JitiOptions,
  host: { onError(error: unknown): never; nativeImport: NativeImport; createRequire: typeof createRequire },
) => ReturnType<typeof CreateJiti>;

let files: { readonly createJiti: BaseJiti; readonly transform: NonNullable<JitiOptions["transform"]> } | null = null;

/** As jiti's own entry does it, but for the import that it leaves to Node (J1). */
export function createReloadingJiti(id: string, options: JitiOptions): ReturnType<typeof CreateJiti> {
  files ??= jitiFiles();
  return files.createJiti(
    id,
    { transform: files.transform, ...options },
    {
      onError(error) {
        throw error;
      },
      nativeImport,
      createRequire,
    },
  );
}

/** The files of bundles that are loaded now, packages left out. */
export function loadedFiles(): string[] {
  return Object.keys(require.cache).filter((file) => isAbsolute(file) && !isPackaged(file) && !OWN.has(file));
}

/** What is imported next is read from its file again (J3). */
export function forgetLoaded(): void {
  for (const file of loadedFiles()) delete require.cache[file];
}

export function isPackaged(file: string): boolean {
  return file.includes(PACKAGES);
}

/** Loaded by `require` in tool-module.ts, and this process's own for good. */
const OWN = new Set<string>();
export function keepLoaded(file: string): void {
  OWN.add(file);
}

async function nativeImport(id: string): Promise<unknown> {
  const file = id.startsWith("file:") ? fileURLToPath(id) : id;
  if (!isAbsolute(file) || isPackaged(file)) return await import(id); // J2
  if (isEsm(file)) throw new Error("evaluated by the loader"); // J1: jiti goes on to do that
  return namespaceOf(createRequire(file)(file));
}

/** What Node makes of a CommonJS module that is imported. */
function namespaceOf(exports: unknown): Readonly<Record<string, unknown>> {
  const named = typeof exports === "object" || typeof exports === "function" ? { ...exports } : {};
  return { ...named, default: exports, "module.exports": exports };
}

function isEsm(file: string): boolean {
  const extension = extname(file);
  if (extension !== ".js") return extension === ".mjs" || extension === ".mts";
  const manifest = module.findPackageJSON(pathToFileURL(file).href);
  if (manifest === undefined) return false;
  return (JSON.parse(readFileSync(manifest, "utf8")) as { type?: unknown }).type === "module";
}

function jitiFiles() {
  const dist = join(dirname(require.resolve("jiti/package.json")), "dist");
  let transform: NonNullable<JitiOptions["transform"]> | null = null;
  return {
    createJiti: require(join(dist, "jiti.cjs")) as BaseJiti,
    transform: (given: Parameters<NonNullable<JitiOptions["transform"]>>[0]) => {
      transform ??= require(join(dist, "babel.cjs")) as NonNullable<JitiOptions["transform"]>;
      return transform(given);
    },
  };
}
