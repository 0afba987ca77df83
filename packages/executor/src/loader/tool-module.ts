// Loads an entry module: TypeScript or JavaScript, ESM or CommonJS, as its author wrote it for Bun, tsc or Node.
//
// jiti does the work: `./x.js` that means `./x.ts`, imports without an ending, index files, `tsconfig.json` paths, enums,
// JSON, top-level await. This file says what is loaded for our own packages, and what a tool module has to export.
//
//   T1. The packages of this product, by their published names, are this installation's, whatever the tool's package holds, so
//       that a ToolError thrown there is the ToolError caught here. `@goondan/types` is its package for tools.
//   T2. Loading runs the module's code. Inline tools are loaded into the host; isolated ones only in their child.
//   T3. A module that cannot be used is a mistake of its bundle: a TesseraError whose message names the entry, never a stack.
//   T4. Transformed sources are kept on disk only where the host names a directory or has Node keep its compiled sources,
//       beside which they lie then. jiti's own default is a directory that every user of the machine can write to.
//   T5. What a module leaves behind when it is loaded into the host is reported with its name.
//   T6. A host that loads its bundle again and again has a loader that can forget (reloading-jiti.ts).

import { access, realpath } from "node:fs/promises";
import module, { createRequire } from "node:module"; // as a whole: an old Node has no getCompileCacheDir
import { dirname, join, relative } from "node:path";
import { cutMessage, ERROR_MESSAGE_CHARS_MAX, errorOf, PACKAGES, SUBPATHS, TesseraError } from "@tessera/protocol";
import type { ToolHandler, ToolReconcile } from "@tessera/tool";
import { placeOf, runForeign, type SourcePlace, stackOf } from "@tessera/tool/run";
import { createJiti } from "jiti";
import { findEntry } from "./entry-path.ts";
import { createReloadingJiti, keepLoaded } from "./reloading-jiti.ts";

export interface ToolModule {
  /** The real path that was loaded. */
  readonly file: string;
  readonly handlers: ReadonlyMap<string, ToolHandler>;
  readonly reconcilers: ReadonlyMap<string, ToolReconcile>;
}

export interface LoadOptions {
  /** The bundle's directory; nothing outside it is an entry. */
  readonly root: string;
  /** Where transformed sources are kept (T4). */
  readonly cacheDir?: string;
  /** Of the host that the module is loaded into; absent in a child, which ends by what the module leaves behind. */
  readonly onWarning?: (warning: string) => void;
  /** T6 */
  readonly isReloadable?: boolean | undefined;
  /** The file that names the entry, relative to the root. */
  readonly namedIn?: string;
}

export async function loadToolModule(entry: string, options: LoadOptions): Promise<ToolModule> {
  const file = await findEntry(entry, options.root, options.namedIn);
  const root = await realpath(options.root);
  const namespace = await importModule(file, { ...options, root });
  const name = relative(root, file);
  try {
    return { file, ...readExports(namespace, name) };
  } catch (error) {
    if (TesseraError.is(error)) throw error;
    throw unusable(name, `has exports that cannot be read: ${messageOf(error)}`, { cause: error }); // a getter or a proxy threw
  }
}

/** Imports a module of a bundle by the path that a resource names, which must stay inside the bundle. */
export async function importEntry(
  entry: string,
  root: string,
  options: Pick<LoadOptions, "onWarning" | "isReloadable" | "namedIn"> = {},
): Promise<unknown> {
  return await importModule(await findEntry(entry, root, options.namedIn), { ...options, root });
}

/** Imports a file of a bundle and hands out what it exports. Both paths are real ones. */
export async function importModule(file: string, options: LoadOptions): Promise<unknown> {
  try {
    const tsconfig = await nearestTsconfig(dirname(file), options.root);
    const create = options.isReloadable === true ? createReloadingJiti : createJiti; // T6
    const jiti = create(file, {
      fsCache: options.cacheDir ?? keptTransformed() ?? false, // T4
      interopDefault: false,
      tsconfigPaths: tsconfig ?? false,
      virtualModules: OWN_MODULES,
    });
    const { onWarning } = options;
    if (onWarning === undefined) return await jiti.import(file);
    const name = `the module ${relative(options.root, file)}`;
    const onStray = (error: unknown) => onWarning(`${name} left an unhandled failure behind: ${stackOf(error)}`);
    return await runForeign({ name, onStray }, () => jiti.import(file)); // T5
  } catch (error) {
    if (placeOf(error) !== null) tellStack(relative(options.root, file), stackOf(error), options.onWarning);
    const why = `cannot be loaded: ${withPlace(messageOf(error), placeOf(error), options.root)}`;
    throw unusable(relative(options.root, file), why, { cause: error });
  }
}

/** A module's message says where it threw; how it came there is for the log (T3). */
export function tellStack(name: string, stack: string, onWarning: LoadOptions["onWarning"]): void {
  onWarning?.(`${name} threw when it was loaded: ${stack}`);
}

/** T4. Loading the transformer takes a quarter of a second, which a source that was transformed before does not need. */
export function keptTransformed(): string | undefined {
  const compiled = module.getCompileCacheDir();
  return compiled === undefined ? undefined : join(dirname(compiled), "transformed");
}

/** T1. Getters, because most tools import only types and need not wait for a package. */
const requireOwn = createRequire(import.meta.url);
const OWN_NAMES = [
  PACKAGES.tool,
  PACKAGES.client,
  PACKAGES.main,
  ...SUBPATHS.map((path) => `${PACKAGES.main}/${path}`),
];
const OWN_MODULES: Record<string, unknown> = Object.defineProperties(
  {},
  Object.fromEntries([
    ["@goondan/types", { get: () => ownModule(PACKAGES.tool) }],
    ...OWN_NAMES.map((name) => [name, { get: () => ownModule(name) }]),
  ]),
);

function ownModule(name: string): unknown {
  keepLoaded(requireOwn.resolve(name));
  return requireOwn(name);
}

async function nearestTsconfig(from: string, root: string): Promise<string | null> {
  for (let directory = from; ; directory = dirname(directory)) {
    const path = join(directory, "tsconfig.json");
    const exists = await access(path).then(
      () => true,
      () => false,
    );
    if (exists) return path;
    if (directory === root || dirname(directory) === directory) return null;
  }
}

function readExports(namespace: unknown, entry: string): Omit<ToolModule, "file"> {
  const source = sourceOf(namespace, "handlers");
  if (source === undefined) {
    const found = typeof namespace === "object" && namespace !== null ? Object.keys(namespace) : [];
    throw unusable(entry, `exports no "handlers"; it exports ${listOf(found)}`, { details: { found } });
  }
  return {
    handlers: functionsOf<ToolHandler>(member(source, "handlers"), entry, "handlers"),
    reconcilers: functionsOf<ToolReconcile>(member(source, "reconcilers") ?? {}, entry, "reconcilers"),
  };
}

/** What a module exports under the name, as ESM or CommonJS; undefined: nothing. */
export function exportOf(namespace: unknown, name: string): unknown {
  return member(sourceOf(namespace, name), name);
}

function sourceOf(namespace: unknown, name: string): unknown {
  return [namespace, member(namespace, "default"), member(namespace, "module.exports")].find(
    (candidate) => member(candidate, name) !== undefined,
  );
}

function functionsOf<F>(map: unknown, entry: string, name: string): ReadonlyMap<string, F> {
  if (typeof map !== "object" || map === null || Array.isArray(map)) {
    throw unusable(entry, `exports "${name}" that is no object with a function for each export`);
  }
  const functions = new Map<string, F>();
  for (const [key, value] of Object.entries(map)) {
    if (typeof value !== "function") throw unusable(entry, `exports ${name}.${key} that is no function`);
    functions.set(key, value as F);
  }
  return functions;
}

function member(value: unknown, name: string): unknown {
  if (typeof value !== "object" || value === null) return undefined;
  return (value as Record<string, unknown>)[name];
}

/** Refuses a module that lacks a declared export's handler, naming what it has and what it should have. */
export function requireExports(
  module: { readonly handlers: Iterable<string>; readonly reconcilers: Iterable<string> },
  declared: readonly { readonly name: string; readonly canReconcile: boolean }[],
  entry: string,
): void {
  const found = [...module.handlers];
  const expected = declared.map(({ name }) => name);
  const missing = expected.filter((name) => !found.includes(name));
  if (missing.length > 0) {
    const text = `has no handler for ${listOf(missing)}; its handlers are ${listOf(found)}, the resource declares ${listOf(expected)}`;
    throw unusable(entry, text, { details: { missing, found, expected } });
  }
  const reconcilers = [...module.reconcilers];
  const unanswered = declared.filter(({ name, canReconcile }) => canReconcile && !reconcilers.includes(name));
  if (unanswered.length > 0) {
    const names = unanswered.map(({ name }) => name);
    throw unusable(entry, `declares reconcile for ${listOf(names)} and exports no such reconcilers`, {
      details: { missing: names },
    });
  }
}

export function unusable(
  entry: string,
  why: string,
  { details = {}, cause }: { readonly details?: Readonly<Record<string, unknown>>; readonly cause?: unknown } = {},
): TesseraError {
  const message = cutMessage(`the module ${entry} ${why}`, ERROR_MESSAGE_CHARS_MAX);
  return errorOf("E_CONFIG_SCHEMA_INVALID", message, { details: { entry, ...details }, cause }); // T3
}

const NAMES_SHOWN_MAX = 20;

function listOf(names: readonly string[]): string {
  if (names.length === 0) return "nothing";
  const shown = names.slice(0, NAMES_SHOWN_MAX).join(", ");
  return names.length > NAMES_SHOWN_MAX ? `${shown} and ${names.length - NAMES_SHOWN_MAX} more` : shown;
}

/** Where it is: jiti says the place of a syntax error on a second line, with columns that count from 0; what a module throws
 *  has a stack. */
function withPlace(message: string, thrownAt: SourcePlace | null, root: string): string {
  const said = /\s*\n\s*(\/\S+|[A-Z]:\S+):(\d+):(\d+)\s*$/.exec(message);
  if (said !== null) {
    const [, file = "", line, column] = said;
    return `${message.slice(0, said.index)} (${relative(root, file)}:${line}:${Number(column) + 1})`;
  }
  if (thrownAt === null) return message;
  const { file, line, column } = thrownAt;
  return `${message} (${relative(root, file)}:${line}:${column})`;
}

function messageOf(error: unknown): string {
  try {
    if (error instanceof Error) return String(error.message).split("\nRequire stack:")[0] ?? "";
    return typeof error === "string" ? error : `it threw a value of type ${typeof error}`;
  } catch {
    return "it threw an error that cannot be read";
  }
}
