// The agents of a node: their profiles deployed, turns worked on, delegation answered.
//
//   A1. Deploying comes before working, so that a turn that is asked for now finds its agent.
//   A2. Workers, PMO and UI worker are roles of their own; a process may have any of them, and any number of processes may.

import {
  type AgentProfile,
  type AgentWorker,
  bundleFileReader,
  type ConfigModule,
  createExtensionHost,
  createModels,
  type DefinedAgent,
  type DefinedModel,
  type DefinedSwarm,
  deployProfiles,
  type ExtensionHost,
  type ExtensionModule,
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
import type { PrintedEntry } from "./open-log.ts";
import type { Node } from "./open-node.ts";
import type { ToolHost } from "./tool-host.ts";

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
  readonly onWarning: (warning: string) => void;
}

/** What `defineModel`, `defineAgent` and `defineSwarm` answer. */
export interface AgentResources {
  readonly models?: readonly DefinedModel[];
  readonly agents?: readonly DefinedAgent[];
  readonly swarms?: readonly DefinedSwarm[];
}

export interface Agents {
  readonly profiles: readonly AgentProfile[];
  /** The entry of the bundle's only swarm, or of its first; null without one. */
  readonly entryAgent: string | null;
  readonly worker: AgentWorker | null;
  close(options?: { readonly graceMs?: number }): Promise<void>;
}

export async function openAgents(options: AgentsOptions): Promise<Agents> {
  const { node, host, project, env, roles = ["worker", "pmo", "ui"], onWarning } = options;
  const bundle = await readAgents(options);
  const profiles = bundle === null ? [] : profilesOf(bundle);
  await host.offerBuiltins(profiles.flatMap((profile) => profile.allowed_tools ?? []));
  await deployProfiles(node.kernel, project, profiles); // A1
  const extensions = await loadExtensions(options, bundle);
  host.useExtensions((invocation) => extensions.toolOf(invocation));
  const { runner, isHosted } = host;
  const worker = roles.includes("worker")
    ? await startAgentWorker({
        ...node,
        project, // its local tools are the host's, and that is for one project
        workerTargets: workerTargetsOf(profiles),
        models: createModels({ env, clock: node.clock, onWarning }),
        runner,
        isHosted,
        extensions,
        whileAtWork: options.whileAtWork,
        ...(options.concurrencyMax === undefined ? {} : { concurrencyMax: options.concurrencyMax }),
        ...(options.leaseMs === undefined ? {} : { leaseMs: options.leaseMs }),
        ...(options.onLog === undefined ? {} : { onLog: options.onLog }),
        onWarning,
      })
    : null;
  const ui = roles.includes("ui")
    ? await startUiWorker({ ...node, project, runner, isHosted, whileAtWork: options.whileAtWork, onWarning })
    : null;
  const pmo = roles.includes("pmo")
    ? await startPmo({ ...node, executor: `pmo-${node.ids.mint("pmo")}`, onWarning })
    : null;
  return {
    profiles,
    entryAgent: profiles.find((profile) => profile.swarm !== null)?.swarm?.entry_agent ?? profiles[0]?.name ?? null,
    worker,
    async close(grace) {
      await Promise.all([worker?.stop(grace), ui?.stop(grace), pmo?.stop(grace)]);
    },
  };
}

/** Those of the profiles, without the UI worker's: it takes the turns of its agents itself. */
function workerTargetsOf(profiles: readonly AgentProfile[]): string[] {
  const targets = profiles.map((profile) => profile.worker_target).filter((target) => target !== UI_WORKER_TARGET);
  return [...new Set([WORKER_TARGET_DEFAULT, ...targets])];
}

/** Also without any of its own: profiles that other processes deployed may list built-in ones. */
async function loadExtensions(
  { node, host, onLog, onWarning }: AgentsOptions,
  bundle: SwarmBundle | null,
): Promise<ExtensionHost> {
  const root = host.bundle?.root;
  const own = root === undefined ? [] : (bundle?.extensions ?? []);
  const modules = await Promise.all(
    own.map(async (extension): Promise<ExtensionModule | null> => {
      try {
        return await loadExtension(extension, String(root), onWarning);
      } catch (error) {
        if (extension.onError !== "skip") throw error;
        onWarning(`extension ${extension.name} could not be loaded and is not used: ${String(error)}`);
        return null;
      }
    }),
  );
  const extensions = modules.filter((module) => module !== null);
  return createExtensionHost({
    extensions,
    kernel: node.kernel,
    clock: node.clock,
    bundleRoot: root,
    onLog,
    onWarning,
  });
}

async function loadExtension(
  { name, entry, config, onError }: SwarmBundle["extensions"][number],
  root: string,
  onWarning: (warning: string) => void,
): Promise<ExtensionModule> {
  const register = exportOf(await importEntry(entry, root, { onWarning }), "register");
  if (typeof register === "function")
    return {
      name,
      config,
      register: register as ExtensionModule["register"],
      ...(onError === undefined ? {} : { onError }),
    };
  throw errorOf("E_EXT_LOAD", `${entry} exports no register(api, config)`, { details: { extension: name } });
}

async function readAgents(options: AgentsOptions): Promise<SwarmBundle | null> {
  const { host, env, resources, onWarning } = options;
  if (host.bundle === null && resources === undefined) return null;
  const { root = null, others = [] } = host.bundle ?? {};
  const config = configOf(options);
  const bundle = await readSwarmResources(others, {
    builtins: host.builtinNames,
    toolNames: host.ownNames,
    ...(config === null ? {} : { config }),
    ...(root === null ? {} : { readFile: bundleFileReader(root) }),
    isEnvSet: (name) => Boolean(env[name]),
  });
  if (bundle.mistakes.length > 0) throw errorOfMistakes(bundle.mistakes as readonly [Mistake, ...Mistake[]]);
  for (const { message } of bundle.warnings) onWarning(message);
  return bundle;
}

/** What is made in code goes the way of a config file, together with the bundle's if it has one. */
function configOf({ host, resources }: AgentsOptions): ConfigModule | null {
  const config = (host.bundle?.config ?? null) as ConfigModule | null;
  if (resources === undefined) return config;
  const own = isJsonObject(config?.exports) ? config.exports : {};
  const exported = (own.default ?? own["module.exports"] ?? {}) as Readonly<Record<string, unknown>>;
  const lists = Object.entries(resources).map(([key, list]) => [key, [...listOf(exported[key]), ...list]] as const);
  return { file: config?.file ?? "the program", exports: { default: { ...exported, ...Object.fromEntries(lists) } } };
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}
