// Everything about a bundle that can be known without running it.
//
//   V1. Nothing of the bundle runs but the top level of its modules: tools' and extensions' in a child process, the config
//       file's here, because what it defines is its exports. The report says so.
//   V2. What loading the bundle would refuse is an error. What it would pass over, or what needs another process at run time,
//       is a warning or a note.
//   V3. One mistake is reported once: a reference to a Tool that is there and has mistakes is no mistake.

import { readFile, realpath, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { bundleFileReader, readSwarmResources, type SwarmBundle } from "@tessera/agent";
import { systemClock } from "@tessera/engines/system";
import {
  builtinTools,
  createIsolatedHost,
  type IsolatedHost,
  type LoadedBundle,
  loadBundleTools,
} from "@tessera/executor";
import { errorOf, TesseraError } from "@tessera/protocol";
import type { Mistake } from "@tessera/tool/resources";
import { readSettingsFile } from "../settings/file.ts";
import { resolveSettings } from "../settings/resolve.ts";
import { unreadFindings } from "./validate-files.ts";
import {
  compareFindings,
  type Finding,
  findingOf,
  mistakeFinding,
  placedInCode,
  placedInModule,
  START,
  warningFinding,
} from "./validate-finding.ts";
import { scriptFindings } from "./validate-scripts.ts";
import {
  builtinNameFindings,
  extensionFindings,
  hasTools,
  type ToolDocument,
  toolDocuments,
  toolFindings,
} from "./validate-tools.ts";

/** What {@link validateBundle} takes. */
export interface ValidateOptions {
  /** Where variables that the bundle names are looked for. */
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** What is in a bundle, and what is wrong with it. */
export interface BundleReport {
  /** The directory that the findings' files are relative to. */
  readonly root: string;
  readonly counts: {
    readonly agents: number;
    readonly tools: number;
    readonly models: number;
    readonly swarms: number;
    readonly extensions: number;
  };
  readonly findings: readonly Finding[];
}

/** `path` is a bundle's directory, or one YAML file that is read as a bundle of its own. */
export async function validateBundle(path: string, { env }: ValidateOptions): Promise<BundleReport> {
  const isolated = createIsolatedHost({ clock: systemClock, env, onWarning: () => {} });
  try {
    const { isFile, loaded } = await load(path, isolated);
    return await reportOn(loaded, { path, isFile, isolated, env });
  } finally {
    await isolated.close();
  }
}

export interface LoadedAs extends ValidateOptions {
  /** What it was loaded from. */
  readonly path: string;
  readonly isFile: boolean;
  readonly isolated: Pick<IsolatedHost, "inspect">;
  readonly isReloadable?: boolean;
}

/** What there is to say about a bundle that was loaded. */
export async function reportOn(loaded: LoadedBundle, as: LoadedAs): Promise<BundleReport> {
  const { path, isFile, isolated, env } = as;
  const documents = toolDocuments(loaded);
  const swarm = await readSwarm(loaded, documents, env);
  const findings = [
    ...[...loaded.mistakes, ...swarm.mistakes].map(mistakeFinding),
    ...loaded.ignored.map((key) =>
      warningFinding({
        ...key,
        message: `${JSON.stringify(lastKey(key.pointer))} does nothing here`,
      }),
    ),
    ...swarm.warnings.map(warningFinding),
    ...(await extensionFindings(swarm, loaded.root, isolated)),
    ...(await toolFindings(loaded, documents, env)),
    ...builtinNameFindings(loaded, builtinNames()),
    ...scriptFindings(loaded, swarm),
    ...(isFile ? [] : await unreadFindings(loaded)),
    ...wholeFindings(loaded, swarm),
    ...(await settingFindings(path, as)),
  ];
  return {
    root: loaded.root,
    counts: countsOf(loaded, swarm, documents),
    findings: withoutRepeats((await placed(findings, loaded)).map(placedInModule)).toSorted(compareFindings),
  };
}

async function load(
  path: string,
  isolated: IsolatedHost,
): Promise<{ readonly isFile: boolean; readonly loaded: LoadedBundle }> {
  try {
    const real = await realpath(path);
    const isFile = (await stat(real)).isFile();
    const options = { isolated, inspectOnly: true, ...(isFile ? { file: basename(real) } : {}) }; // V1
    const loaded = await loadBundleTools(isFile ? dirname(real) : real, options);
    if (loaded.files.length > 0 || loaded.config !== null || loaded.mistakes.length > 0) return { isFile, loaded };
    throw await emptyBundle(path, isFile, loaded);
  } catch (error) {
    if (TesseraError.is(error) || !(error instanceof Error) || !("errno" in error)) throw error;
    const { code } = error as NodeJS.ErrnoException;
    const details = { kind: "missing_bundle", errno: code };
    throw errorOf("E_CONFIG_ENTRY_NOT_FOUND", `there is no bundle at ${path}: ${code}`, { details });
  }
}

/** As `tessera run` refuses it. A file that only has the wrong name is named. */
async function emptyBundle(path: string, isFile: boolean, loaded: LoadedBundle): Promise<TesseraError> {
  const [unread] = isFile ? [] : await unreadFindings(loaded);
  const why =
    unread === undefined ? "it holds no resource file and no config file" : `${unread.file}: ${unread.message}`;
  const details = { kind: "missing_bundle" };
  return errorOf("E_CONFIG_ENTRY_NOT_FOUND", `there is no bundle at ${path}: ${why}`, { details });
}

function builtinNames(): readonly string[] {
  return builtinTools({ clock: systemClock }).map(({ definition }) => definition.tool_name);
}

async function readSwarm(
  loaded: LoadedBundle,
  documents: readonly ToolDocument[],
  env: ValidateOptions["env"],
): Promise<SwarmBundle> {
  const builtins = builtinNames();
  const { root, others, tools, declared, config } = loaded;
  const toolNames = [...declared, ...tools].map(({ definition }) => definition.tool_name);
  const toolsWithout = documents
    .filter(({ name }) => !hasTools(name, toolNames) && !loaded.unread.some((each) => each.name === name))
    .map(({ name, document: { file, locate } }) => ({ kind: "Tool", name, file, line: locate("").line }));
  return await readSwarmResources(others, {
    builtins,
    toolNames,
    unread: [...loaded.unread, ...toolsWithout], // V3
    ...(config === null ? {} : { config: config as never }),
    readFile: bundleFileReader(root),
    isEnvSet: (name) => Boolean(env[name]),
  });
}

function wholeFindings(
  { files, tools, declared, others, config, mistakes }: LoadedBundle,
  swarm: SwarmBundle,
): Finding[] {
  const found: Finding[] = [];
  if (config !== null) {
    const message = `${config.file} was imported to read what it exports, which runs its code; nothing else of the bundle ran`;
    found.push(findingOf("info", "config_imported", { file: config.file, ...START, message }));
  }
  const isEmpty = [tools, declared, others, mistakes, swarm.agents, swarm.models].every((list) => list.length === 0);
  const first = files[0]?.path ?? config?.file ?? ".";
  if (isEmpty) {
    const message = "there is no resource here: a resource has apiVersion: tessera/v1, a kind and a metadata.name";
    found.push(findingOf("warning", "no_resources", { file: first, ...START, message }));
  }
  const [agent] = swarm.agents;
  if (agent !== undefined && !others.some(({ kind }) => kind === "Swarm") && swarm.swarms.length === 0) {
    const message = `there is no Swarm, so the first agent, ${agent.name}, gets the tasks that name none`;
    found.push(findingOf("info", "no_swarm", { ...agent, message }));
  }
  return found;
}

/** The bundle's own settings: keys that are none, and values that do not fit. */
async function settingFindings(path: string, how: Pick<LoadedAs, "isReloadable">): Promise<Finding[]> {
  try {
    const file = await readSettingsFile(path, how);
    return resolveSettings({ file }).problems.map(({ from, message }) => {
      const [, name = "", line = "1", column = "1"] = /^(.+?):(\d+):(\d+)/.exec(from) ?? [];
      const at = { file: name, line: Number(line), column: Number(column) };
      return findingOf("error", "E_CONFIG_SCHEMA_INVALID", { ...at, message: message.replace(/^\S+:\d+:\d+ /, "") });
    });
  } catch (error) {
    if (!TesseraError.is(error)) throw error;
    return Array.isArray(error.details.mistakes) ? (error.details.mistakes as Mistake[]).map(mistakeFinding) : [];
  }
}

function countsOf(
  { tools, declared, others }: LoadedBundle,
  swarm: SwarmBundle,
  documents: readonly ToolDocument[],
): BundleReport["counts"] {
  const names = new Set([...tools, ...declared].map(({ definition }) => definition.tool_name));
  const unread = documents.filter(({ name }) => !hasTools(name, [...names]));
  const count = (kind: string, read: readonly { readonly name: string }[]) =>
    new Set([...others.filter((resource) => resource.kind === kind), ...read].map(({ name }) => name)).size;
  return {
    agents: count("Agent", swarm.agents),
    tools: names.size + unread.length,
    models: count("Model", swarm.models),
    swarms: count("Swarm", swarm.swarms),
    extensions: count("Extension", swarm.extensions),
  };
}

/** What is about a config file, at the line it is about. */
async function placed(findings: readonly Finding[], { root, files }: LoadedBundle): Promise<Finding[]> {
  const yaml = new Set(files.map(({ path }) => path));
  const texts = new Map<string, string>();
  for (const { file } of findings) {
    if (yaml.has(file) || texts.has(file)) continue;
    texts.set(file, await readFile(join(root, file), "utf8").catch(() => ""));
  }
  return findings.map((finding) => {
    const text = texts.get(finding.file);
    return text === undefined ? finding : placedInCode(finding, text);
  });
}

/** V3: also where two readers say the same of one place. */
function withoutRepeats(findings: readonly Finding[]): Finding[] {
  const seen = new Set<string>();
  return findings.filter(({ severity, file, line, column, message }) => {
    const isDefaultExport = /no default export that is an object$/.test(message);
    const key = JSON.stringify([severity, file, line, column, isDefaultExport ? "default export" : message]);
    const isNew = !seen.has(key);
    seen.add(key);
    return isNew;
  });
}

function lastKey(pointer: string): string {
  return (pointer.split("/").at(-1) ?? "").replaceAll("~1", "/").replaceAll("~0", "~");
}
