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
  WORKER_TARGET_DEFAULT,
} from "@tessera/agent";
import { importEntry } from "@tessera/executor";
import { startPmo } from "@tessera/pmo";
import { errorOf, isJsonObject } from "@tessera/protocol";
import type { ToolLogEntry } from "@tessera/tool";
import { errorOfMistakes, type Mistake } from "@tessera/tool/resources";
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
  readonly onLog?: ((entry: ToolLogEntry) => void) | undefined;
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
  if (extensions !== undefined) host.useExtensions((invocation) => extensions.toolOf(invocation));
  const worker = roles.includes("worker")
    ? await startAgentWorker({
        ...node,
        project, // its local tools are the host's, and that is for one project
        workerTargets: [...new Set([WORKER_TARGET_DEFAULT, ...profiles.map((profile) => profile.worker_target)])],
        models: createModels({ env, clock: node.clock, onWarning }),
        runner: host.runner,
        isHosted: host.isHosted,
        ...(extensions === undefined ? {} : { extensions }),
        ...(options.concurrencyMax === undefined ? {} : { concurrencyMax: options.concurrencyMax }),
        ...(options.leaseMs === undefined ? {} : { leaseMs: options.leaseMs }),
        ...(options.onLog === undefined ? {} : { onLog: options.onLog }),
        onWarning,
      })
    : null;
  const ui = roles.includes("ui")
    ? await startUiWorker({ ...node, project, runner: host.runner, isHosted: host.isHosted, onWarning })
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

/** Undefined without any: then the loop has no layers to go through. */
async function loadExtensions(
  { node, host, onWarning }: AgentsOptions,
  bundle: SwarmBundle | null,
): Promise<ExtensionHost | undefined> {
  if (bundle === null || host.bundle === null || bundle.extensions.length === 0) return undefined;
  const { root } = host.bundle;
  const modules = await Promise.all(
    bundle.extensions.map(async ({ name, entry, config }): Promise<ExtensionModule> => {
      const exported = (await importEntry(entry, root)) as Partial<ExtensionModule>;
      if (typeof exported.register === "function") return { name, config, register: exported.register };
      throw errorOf("E_EXT_LOAD", `${entry} exports no register(api, config)`, { details: { extension: name } });
    }),
  );
  return createExtensionHost({ extensions: modules, kernel: node.kernel, onWarning });
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
