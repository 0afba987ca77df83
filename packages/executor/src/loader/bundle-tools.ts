// The tools of a bundle: what its YAML declares and its config defines in code, with their code found and checked.
//
//   B1. Every mistake is reported, with file:line:col; a tool with a mistake is left out.
//   B2. An isolated module is looked at in a child. Only what runs inline is loaded here, and with `inspectOnly` not even that.
//   B3. A name is given once, whether YAML or code gives it.
//   B4. What the registry would refuse of a tool in code is a mistake of the bundle, as it is of one in YAML, whose reader finds it.

import { access, realpath } from "node:fs/promises";
import { join } from "node:path";
import { type ErrorCode, TesseraError } from "@tessera/protocol";
import type { RegisteredTool, ToolCode } from "@tessera/tool";
import { ToolRegistry } from "@tessera/tool/catalog";
import {
  type BundleFile,
  type BundleResource,
  type DocumentTool,
  type IgnoredKey,
  type Mistake,
  mistakeOf,
  readToolBundle,
  type UnreadResource,
} from "@tessera/tool/resources";
import { loadApis } from "../openapi/index.ts";
import type { IsolatedHost } from "../placements/isolated/isolated-host.ts";
import { readBundleFile, readBundleFiles } from "./bundle-files.ts";
import { readConfigTools } from "./config-tools.ts";
import { findEntry } from "./entry-path.ts";
import { importModule, loadToolModule, requireExports, tellStack } from "./tool-module.ts";

export interface BundleLoadOptions {
  readonly isolated: Pick<IsolatedHost, "inspect">;
  readonly cacheDir?: string;
  /** Takes what modules that are loaded here leave behind, and how they came to throw. */
  readonly onWarning?: (warning: string) => void;
  /** The only resource file to read, whatever its name, instead of those found by name. */
  readonly file?: string;
  /** Nothing but the config is loaded here: inline modules, too, are looked at in a child, and have no code then. */
  readonly inspectOnly?: boolean;
  /** The bundle is loaded again later (tool-module.ts, T6). */
  readonly isReloadable?: boolean | undefined;
}

export interface LoadedBundle {
  /** The real path of the bundle. */
  readonly root: string;
  readonly tools: readonly RegisteredTool[];
  /** The resource files, and the tools as they say them, with their places. */
  readonly files: readonly BundleFile[];
  readonly declared: readonly DocumentTool[];
  readonly others: readonly BundleResource[];
  readonly unread: readonly UnreadResource[];
  /** What the config file exports, for the reader of its agents; null without one. */
  readonly config: { readonly file: string; readonly exports: unknown } | null;
  readonly ignored: readonly IgnoredKey[];
  readonly mistakes: readonly Mistake[];
}

/** Modules that are looked at side by side; each may need a process. */
const LOADS_AT_ONCE = 4;
const CONFIG_FILES = ["tessera.config.ts", "tessera.config.js", "tessera.config.mjs"];

export async function loadBundleTools(directory: string, options: BundleLoadOptions): Promise<LoadedBundle> {
  const root = await realpath(directory);
  const files = options.file === undefined ? await readBundleFiles(root) : [await readBundleFile(root, options.file)];
  const bundle = readToolBundle(files);
  const mistakes: Mistake[] = [...bundle.mistakes];
  const groups = groupByModule(bundle.tools);
  const loaded: RegisteredTool[] = [];
  for (let at = 0; at < groups.length; at += LOADS_AT_ONCE) {
    const some = groups.slice(at, at + LOADS_AT_ONCE).map((group) => loadGroup(group, { ...options, root }, mistakes));
    loaded.push(...(await Promise.all(some)).flat());
  }
  const described = await loadApis(bundle.apis, root, mistakes);
  const tools: RegisteredTool[] = [...loaded, ...described];
  const names = new Set([...bundle.tools, ...described].map(({ definition }) => definition.tool_name));
  const config = options.file === undefined ? await loadConfig(root, options, mistakes) : null;
  for (const tool of config === null ? [] : configTools(config, mistakes)) {
    if (names.has(tool.definition.tool_name)) {
      const message = `the tool ${tool.definition.tool_name} is already defined; rename one`;
      mistakes.push(mistakeOf("E_CONFIG_DUPLICATE_NAME", atStart(config?.file ?? ""), message)); // B3
      continue;
    }
    names.add(tool.definition.tool_name);
    tools.push(tool);
  }
  const { tools: declared, others, unread, ignored } = bundle;
  return { root, tools, files, declared, others, unread, config, ignored, mistakes };
}

type Group = readonly [DocumentTool, ...DocumentTool[]];

/** Tools that share a module and a placement are loaded together; a tool without an entry stands alone. */
function groupByModule(tools: readonly DocumentTool[]): readonly Group[] {
  const groups = new Map<string, [DocumentTool, ...DocumentTool[]]>();
  for (const tool of tools) {
    const isInline = tool.definition.options.placement === "inline";
    const key = JSON.stringify([tool.file, tool.entry ?? tool.definition.tool_name, isInline]);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [tool]);
    else group.push(tool);
  }
  return [...groups.values()];
}

async function loadGroup(
  group: Group,
  options: BundleLoadOptions & { readonly root: string },
  mistakes: Mistake[],
): Promise<RegisteredTool[]> {
  const [first] = group;
  if (first.entry === undefined) return group.map(({ definition }) => ({ definition, code: null }));
  const isInline = first.definition.options.placement === "inline" && options.inspectOnly !== true;
  try {
    const codeOf = isInline
      ? await inlineCode(first.entry, group, options)
      : await moduleCode(first.entry, group, options);
    return group.map((tool) => ({ definition: tool.definition, code: codeOf(tool) }));
  } catch (error) {
    if (!TesseraError.is(error)) throw error;
    mistakes.push(mistakeOf(error.code, { ...first, ...first.entryPlace }, error.message)); // B1
    return [];
  }
}

type CodeOf = (tool: DocumentTool) => ToolCode;

async function inlineCode(
  entry: string,
  group: Group,
  options: BundleLoadOptions & { readonly root: string },
): Promise<CodeOf> {
  const module = await loadToolModule(entry, { ...options, namedIn: group[0].file });
  requireExports({ handlers: module.handlers.keys(), reconcilers: module.reconcilers.keys() }, declared(group), entry);
  return (tool) => {
    const name = tool.export_name;
    const handler = module.handlers.get(name);
    if (handler === undefined) throw new Error(`requireExports let ${name} pass`);
    const reconcile = module.reconcilers.get(name);
    return { kind: "function", handler, ...(reconcile === undefined ? {} : { reconcile }) };
  };
}

async function moduleCode(
  entry: string,
  group: Group,
  options: BundleLoadOptions & { readonly root: string },
): Promise<CodeOf> {
  const file = await findEntry(entry, options.root, group[0].file);
  const exports = await options.isolated.inspect(file, options.root).catch((error: unknown) => {
    const cause = TesseraError.is(error) ? error.cause : undefined;
    if (cause instanceof Error) tellStack(entry, cause.stack ?? "", options.onWarning); // as the child wrote it
    throw error;
  });
  requireExports(exports, declared(group), entry); // B2
  return (tool) => ({ kind: "module", entry: file, export_name: tool.export_name });
}

function declared(group: Group): { name: string; canReconcile: boolean }[] {
  return group.map((tool) => ({
    name: tool.export_name,
    canReconcile: tool.definition.options.reconcile === true,
  }));
}

async function loadConfig(
  root: string,
  options: BundleLoadOptions,
  mistakes: Mistake[],
): Promise<LoadedBundle["config"]> {
  for (const file of CONFIG_FILES) {
    const path = join(root, file);
    const exists = await access(path).then(
      () => true,
      () => false,
    );
    if (!exists) continue;
    try {
      return { file, exports: await importModule(path, { ...options, root }) };
    } catch (error) {
      if (!TesseraError.is(error)) throw error;
      mistakes.push(mistakeOf(error.code as ErrorCode, atStart(file), error.message));
      return null;
    }
  }
  return null;
}

function configTools(config: NonNullable<LoadedBundle["config"]>, mistakes: Mistake[]): RegisteredTool[] {
  try {
    return readConfigTools(config.exports, config.file).filter((tool) => isUsable(tool, config.file, mistakes));
  } catch (error) {
    if (!TesseraError.is(error)) throw error;
    mistakes.push(mistakeOf(error.code as ErrorCode, atStart(config.file), error.message));
    return [];
  }
}

/** B4 */
function isUsable(tool: RegisteredTool, file: string, mistakes: Mistake[]): boolean {
  try {
    new ToolRegistry().register(tool);
    return true;
  } catch (error) {
    if (!TesseraError.is(error)) throw error;
    mistakes.push(mistakeOf("E_CONFIG_SCHEMA_INVALID", atStart(file), error.message));
    return false;
  }
}

function atStart(file: string): { file: string; line: number; column: number } {
  return { file, line: 1, column: 1 };
}
