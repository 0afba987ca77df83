// The agents of a node: their profiles deployed, turns worked on, delegation answered.
//
//   A1. Deploying comes before working, so that a turn that is asked for now finds its agent.
//   A2. Workers, PMO and UI worker are roles of their own; a process may have any of them, and any number of processes may.
//   A3. A new edition of the bundle is prepared beside the one in use: what is wrong with it changes nothing. Using it writes its
//       definitions while no turn is taken up; turns that run go on with what they began with.
//   A4. Extensions keep what they hold in memory where neither their modules nor their configurations changed.

import { join } from "node:path";
import {
  type AgentProfile,
  type AgentWorker,
  type BundleParts,
  bundleFileReader,
  type ConfigModule,
  createModels,
  type DefinedAgent,
  type DefinedModel,
  type DefinedSwarm,
  deployProfiles,
  type ExtensionHost,
  type ExtensionModule,
  extensionsOnDemand,
  profilesOf,
  readSwarmResources,
  type SwarmBundle,
  startAgentWorker,
  startUiWorker,
  UI_WORKER_TARGET,
  WORKER_TARGET_DEFAULT,
} from "@tessera/agent";
import { exportOf, importEntry } from "@tessera/executor";
import type { WhileAtWork } from "@tessera/kernel";
import { startPmo } from "@tessera/pmo";
import { errorOf, isJsonObject } from "@tessera/protocol";
import { errorOfMistakes, type Mistake } from "@tessera/tool/resources";
import type { PrintedEntry } from "../process/open-log.ts";
import type { Node } from "../process/open-node.ts";
import type { ToolEdition, ToolHost } from "../tools/tool-host.ts";

/** What {@link openAgents} takes. */
export interface AgentsOptions {
  readonly node: Node;
  readonly host: ToolHost;
  readonly project: string;
  /** Where models' keys are read. */
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly roles?: readonly ("worker" | "pmo" | "ui")[];
  /** Made in code, besides those of the bundle. */
  readonly resources?: AgentResources | undefined;
  readonly concurrencyMax?: number | undefined;
  readonly leaseMs?: number | undefined;
  readonly whileAtWork?: WhileAtWork | undefined;
  readonly onLog?: ((entry: PrintedEntry) => void) | undefined;
  /** The bundle can be loaded again (tool-code.ts, C4). */
  readonly isReloadable?: boolean | undefined;
  readonly onWarning: (warning: string) => void;
}

/** What `defineModel`, `defineAgent` and `defineSwarm` answer. */
export interface AgentResources {
  /** Made with `defineModel`, besides those of the bundle. */
  readonly models?: readonly DefinedModel[] | undefined;
  /** Made with `defineAgent`, besides those of the bundle. */
  readonly agents?: readonly DefinedAgent[] | undefined;
  /** Made with `defineSwarm`, besides those of the bundle. */
  readonly swarms?: readonly DefinedSwarm[] | undefined;
}

/** A bundle's agents and tools as they were at one time. */
interface AgentEdition {
  readonly tools: ToolEdition;
  readonly profiles: readonly AgentProfile[];
  readonly extensions: ExtensionHost;
  /** What the extensions were made from, and their modules. */
  readonly extensionText: string;
  readonly extensionEntries: readonly string[];
  /** Files that resources name: prompts. */
  readonly files: readonly string[];
}

/** The agents of a node, deployed and at work. */
export interface Agents {
  readonly profiles: readonly AgentProfile[];
  /** The entry of the bundle's only swarm, or of its first; null without one. */
  readonly entryAgent: string | null;
  readonly worker: AgentWorker | null;
  /** In use now. */
  readonly edition: AgentEdition;
  /** Name → the box of the profile that was written for it. */
  readonly deployed: ReadonlyMap<string, string>;
  /** A3. Throws the TesseraError of what is wrong with it. */
  prepare(tools: ToolEdition, options: { readonly hasNewModules: boolean }): Promise<AgentEdition>;
  /** A3. `taken` is called when it is in use. */
  use(edition: AgentEdition, taken: () => void): Promise<void>;
  close(options?: { readonly graceMs?: number }): Promise<void>;
}

const TOLD_MAX = 1_000;

/** Deploys agents to a node and works on their turns. */
export async function openAgents(options: AgentsOptions): Promise<Agents> {
  const { node, host, project, env, roles = ["worker", "pmo", "ui"], onWarning } = options;
  const told = new Set<string>();
  const saidOnce = (warning: string) => {
    if (told.has(warning)) return;
    if (told.size >= TOLD_MAX) told.clear();
    told.add(warning);
    onWarning(warning);
  };
  const own = { ...options, onWarning: saidOnce }; // an edition mostly warns of what the one before it warned of
  let edition = await prepareEdition(own, host.edition, null);
  let deployed = await deploy(edition); // A1
  const { runner, isHosted } = host;

  async function deploy({ profiles }: AgentEdition): Promise<ReadonlyMap<string, string>> {
    const { profiles: written } = await deployProfiles(node.kernel, project, profiles);
    return new Map(written.map(({ name, profile_box_id }) => [name, profile_box_id]));
  }
  const worker = roles.includes("worker")
    ? await startAgentWorker({
        ...node,
        project, // its local tools are the host's, and that is for one project
        ...partsOf(edition),
        models: createModels({ env, clock: node.clock, onWarning }),
        whileAtWork: options.whileAtWork,
        concurrencyMax: options.concurrencyMax,
        leaseMs: options.leaseMs,
        onLog: options.onLog,
        onWarning,
      })
    : null;
  const ui = roles.includes("ui")
    ? await startUiWorker({
        ...{ ...node, project, runner, isHosted },
        whileAtWork: options.whileAtWork,
        onWarning,
      })
    : null;
  const pmo = roles.includes("pmo")
    ? await startPmo({ ...node, executor: `pmo-${node.ids.mint("pmo")}`, onWarning })
    : null;
  return {
    worker,
    get edition() {
      return edition;
    },
    get deployed() {
      return deployed;
    },
    get profiles() {
      return edition.profiles;
    },
    get entryAgent() {
      return entryOf(edition.profiles);
    },
    prepare: (tools, { hasNewModules }) => prepareEdition(own, tools, hasNewModules ? null : edition),
    async use(next, taken) {
      const write = async () => {
        await host.store(next.tools);
        deployed = await deploy(next);
        await host.use(next.tools);
        edition = next;
        taken();
      };
      await (worker === null ? write() : worker.replace(partsOf(next), write));
    },
    async close(grace) {
      await Promise.all([worker?.stop(grace), ui?.stop(grace), pmo?.stop(grace)]);
    },
  };
}

/** `before`: what may be kept of it (A4). */
async function prepareEdition(
  options: AgentsOptions,
  tools: ToolEdition,
  before: AgentEdition | null,
): Promise<AgentEdition> {
  const files: string[] = [];
  const bundle = await readAgents(options, tools, files);
  const profiles = bundle === null ? [] : profilesOf(bundle);
  await options.host.offerBuiltins(
    profiles.flatMap((profile) => profile.allowed_tools ?? []),
    tools,
  );
  const extensionText = JSON.stringify(
    bundle?.extensions.map(({ name, entry, config, onError }) => [name, entry, config, onError]),
  );
  const isKept = before !== null && before.extensionText === extensionText; // A4
  const extensions = isKept ? before.extensions : await loadExtensions(options, bundle, tools);
  tools.useExtensions((invocation) => extensions.toolOf(invocation));
  const extensionEntries = (bundle?.extensions ?? []).map(({ entry }) => entry);
  return { tools, profiles, extensions, extensionText, extensionEntries, files };
}

function partsOf({ tools: { runner, isHosted }, profiles, extensions }: AgentEdition): BundleParts {
  return { runner, isHosted, extensions, workerTargets: workerTargetsOf(profiles) };
}

function entryOf(profiles: readonly AgentProfile[]): string | null {
  return profiles.find((profile) => profile.swarm !== null)?.swarm?.entry_agent ?? profiles[0]?.name ?? null;
}

/** Those of the profiles, without the UI worker's: it takes the turns of its agents itself. */
function workerTargetsOf(profiles: readonly AgentProfile[]): string[] {
  const targets = profiles.map((profile) => profile.worker_target).filter((target) => target !== UI_WORKER_TARGET);
  return [...new Set([WORKER_TARGET_DEFAULT, ...targets])];
}

/** Also without any of its own: profiles that other processes deployed may list built-in ones. */
async function loadExtensions(
  { node, isReloadable, onLog, onWarning }: AgentsOptions,
  bundle: SwarmBundle | null,
  tools: ToolEdition,
): Promise<ExtensionHost> {
  const root = tools.bundle?.root;
  const own = root === undefined ? [] : (bundle?.extensions ?? []);
  const modules = await Promise.all(
    own.map(async (extension): Promise<ExtensionModule | null> => {
      try {
        return await loadExtension(extension, String(root), { isReloadable, onWarning });
      } catch (error) {
        if (extension.onError !== "skip") throw error;
        onWarning(`extension ${extension.name} could not be loaded and is not used: ${String(error)}`);
        return null;
      }
    }),
  );
  const extensions = modules.filter((module) => module !== null);
  return extensionsOnDemand({
    extensions,
    kernel: node.kernel,
    clock: node.clock,
    bundleRoot: root,
    onLog,
    onWarning,
  });
}

async function loadExtension(
  { name, entry, config, onError, file }: SwarmBundle["extensions"][number],
  root: string,
  options: Pick<AgentsOptions, "isReloadable" | "onWarning">,
): Promise<ExtensionModule> {
  const register = exportOf(await importEntry(entry, root, { ...options, namedIn: file }), "register");
  if (typeof register === "function")
    return {
      name,
      config,
      register: register as ExtensionModule["register"],
      ...(onError === undefined ? {} : { onError }),
    };
  throw errorOf("E_EXT_LOAD", `${entry} exports no register(api, config)`, { details: { extension: name } });
}

/** `files`: takes those that are read for it. */
async function readAgents(options: AgentsOptions, tools: ToolEdition, files: string[]): Promise<SwarmBundle | null> {
  const { host, env, resources, onWarning } = options;
  if (tools.bundle === null && resources === undefined) return null;
  const { root = null, others = [] } = tools.bundle ?? {};
  const config = configOf(tools.bundle, resources);
  const bundle = await readSwarmResources(others, {
    builtins: host.builtinNames,
    toolNames: tools.ownNames,
    ...(config === null ? {} : { config }),
    ...(root === null ? {} : { readFile: noting(root, files) }),
    isEnvSet: (name) => Boolean(env[name]),
  });
  if (bundle.mistakes.length > 0) throw errorOfMistakes(bundle.mistakes as readonly [Mistake, ...Mistake[]]);
  for (const { message } of bundle.warnings) onWarning(message);
  return bundle;
}

function noting(root: string, files: string[]): ReturnType<typeof bundleFileReader> {
  const read = bundleFileReader(root);
  return async (path, bytesMax) => {
    files.push(join(root, path));
    return await read(path, bytesMax);
  };
}

/** What is made in code goes the way of a config file, together with the bundle's if it has one. */
function configOf(bundle: ToolEdition["bundle"], resources: AgentsOptions["resources"]): ConfigModule | null {
  const config = (bundle?.config ?? null) as ConfigModule | null;
  if (resources === undefined) return config;
  const own = isJsonObject(config?.exports) ? config.exports : {};
  const exported = (own.default ?? own["module.exports"] ?? {}) as Readonly<Record<string, unknown>>;
  const lists = Object.entries(resources).map(
    ([key, list]) => [key, [...listOf(exported[key]), ...(list ?? [])]] as const,
  );
  return { file: config?.file ?? "the program", exports: { default: { ...exported, ...Object.fromEntries(lists) } } };
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}
