// The tools of a node: loaded, registered in their project, and run in their placements.
//
//   H1. Definitions are written to the project before anything runs, so that a call pins what it was made with. The same
//       definition again changes nothing.
//   H2. A tool of placement `service` whose code is here is served here: one service for each target. Others serve the rest.
//   H3. A host is for one project: it hears, looks for and runs nothing of another (resolve-tool.ts). Definitions that are
//       nothing but a description of an HTTP API (`options.jina`, `options.openapi`) need no code; the service of their
//       target runs them.
//   H4. A credential goes out only with the operations that tools of this bundle describe, with Jina's search and reader
//       (its own key), and with what the operator writes.
//   H5. Code that was opened for it is closed with it.
//   H6. A name means one tool in a project: a tool of the bundle that is named like a built-in takes its place (`validate` says
//       so), and a reference to the built-in beside it is refused (agent's tool-refs T1).
//   H7. A host has one edition of its bundle in use, and may be given another. Who began with an edition keeps its code; a tool
//       that only a later one has is found there. Everybody else is served from the one in use.
//   H8. A target that the new edition has no tools for goes on being served: calls that wait for it are told that their tool is
//       gone. One whose tools another process runs is let go.

import { createAgentRuntime } from "@tessera/agent";
import {
  builtinTools,
  createLazyAgent,
  createOpenApiHost,
  createToolRunner,
  grantsFor,
  type HostToolRunner,
  isRequestDefinition,
  type LoadedBundle,
  type Outgoing,
  openWorkspaces,
  type ShellOptions,
  startToolService,
} from "@tessera/executor";
import type { CommandService, WhileAtWork } from "@tessera/kernel";
import { parseTargetSubject } from "@tessera/protocol";
import {
  type RegisteredTool,
  type ToolInvocation,
  type ToolLogEntry,
  type ToolRunner,
  toolPolicy,
} from "@tessera/tool";
import { ToolRegistry } from "@tessera/tool/catalog";
import type { Node } from "../process/open-node.ts";
import { type StoredTool, storeTools } from "../store/store-tools.ts";
import { createResolve } from "./resolve-tool.ts";
import { openToolCode, type ToolCode } from "./tool-code.ts";

/** What {@link openToolHost} takes. */
export interface ToolHostOptions {
  readonly node: Node;
  /** Opened before the node was there; default: it is opened here. */
  readonly code?: ToolCode | undefined;
  readonly project: string;
  /** A directory with `tessera.yaml`, `goondan.yaml` or `tessera.config.ts`. */
  readonly bundle?: string | undefined;
  /** Tools made with `defineTool`, besides those of the bundle. */
  readonly tools?: readonly RegisteredTool[] | undefined;
  /** Built-in resources to offer in the project, by name: `bash`, `file-system`, … */
  readonly builtins?: readonly string[] | undefined;
  /** What the built-in shell tool may do; absent: it is not offered. */
  readonly shell?: ShellOptions | undefined;
  /** Targets whose HTTP-described tools are run here. */
  readonly openApiTargets?: readonly string[] | undefined;
  /** How their requests go out; default: to public addresses only. The caller closes the one that it gives. */
  readonly dispatcher?: Outgoing;
  /** Where the workspaces of agents are; default: beside the store. */
  readonly workspaces?: string | undefined;
  /** Where `envs` and credentials are read. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The variables that definitions of others may read. Absent: only those that a bundle or the program names. */
  readonly envAllowList?: readonly string[] | undefined;
  /** Operations that a credential may go out with, besides H4: `API_TOKEN GET|POST api.example.com/v1/** in x-api-key`. */
  readonly credentials?: readonly string[] | undefined;
  readonly executor: string;
  /** False: load and register, but start no service. */
  readonly serve?: boolean;
  readonly concurrencyMax?: number | undefined;
  /** Of the calls it serves; how soon a killed executor is noticed. */
  readonly leaseMs?: number | undefined;
  readonly whileAtWork?: WhileAtWork | undefined;
  readonly onLog?: ((entry: ToolLogEntry) => void) | undefined;
  readonly onWarning: (warning: string) => void;
}

/** The tools of a bundle as it was at one time (H7). */
export interface ToolEdition {
  /** Runs what this edition has, and what later ones have besides. */
  readonly runner: ToolRunner;
  isHosted(toolName: string): boolean;
  /** Everything this process can run. */
  readonly registry: ToolRegistry;
  /** What else the bundle holds: agents and their like. */
  readonly bundle: LoadedBundle | null;
  /** Names of the tools of the bundle and of `tools`. */
  readonly ownNames: readonly string[];
  readonly targets: readonly string[];
  /** Lets tools that extensions registered be run here, too. */
  useExtensions(toolOf: (invocation: ToolInvocation) => RegisteredTool | null): void;
}

/** The tools of a node, loaded and served. */
export interface ToolHost extends Omit<ToolEdition, "useExtensions"> {
  /** In use now. What the host says besides is of this one. */
  readonly edition: ToolEdition;
  /** Names of the built-in tools, offered here or not. */
  readonly builtinNames: readonly string[];
  /** An edition that is not used yet. Nothing is written; throws the TesseraError of a definition that cannot be used. */
  prepare(bundle: LoadedBundle): ToolEdition;
  /** Writes the definitions of an edition (H1), the built-in ones that it offers included. */
  store(edition: ToolEdition): Promise<void>;
  /** What this host wrote last, by name. */
  readonly stored: Map<string, StoredTool>;
  use(edition: ToolEdition): Promise<void>;
  /** Offers built-in tools by name: those that an agent of the edition refers to. They are written with it, or with this. */
  offerBuiltins(toolNames: readonly string[], edition?: ToolEdition): Promise<void>;
  readonly services: readonly CommandService[];
  /** Takes no more calls from the bus, and lets those that run finish. */
  stopServices(options?: { readonly graceMs?: number }): Promise<void>;
  close(options?: { readonly graceMs?: number }): Promise<void>;
}

interface Edition extends ToolEdition {
  readonly loaded: readonly RegisteredTool[];
  readonly versions: ReadonlyMap<string, ReadonlySet<"v1r4" | "v1r3">>;
  toolOf(invocation: ToolInvocation): RegisteredTool | null;
}

/** The built-in tools by resource. */
export const BUILTIN_RESOURCES: readonly string[] = [
  "agents",
  "bash",
  "file-system",
  "http-fetch",
  "json-query",
  "text-transform",
  "wait",
];
/** The targets of tools that are descriptions of HTTP APIs. */
export const OPENAPI_TARGETS: readonly string[] = ["openapi", "jina"];

/** Loads the tools of a node, registers and serves them. */
export async function openToolHost(options: ToolHostOptions): Promise<ToolHost> {
  const { node, project, env, onWarning } = options;
  const { clock } = node;
  const closing: (() => Promise<void>)[] = [];
  let stopOptions: { readonly graceMs?: number } = {};
  const close = async () => {
    for (const step of closing.splice(0).reverse()) await step();
  };
  try {
    const code = options.code ?? (await openToolCode({ ...options, place: node.store.place, clock }));
    closing.push(() => code.close()); // H5
    const { isolated } = code;
    const builtins = builtinTools({ clock, shell: options.shell });
    const bundle = await code.bundle();
    const agent = createLazyAgent();
    const dispatcher = options.dispatcher ?? agent.dispatcher;
    closing.push(() => agent.close());
    const environment = { env, allowList: options.envAllowList };
    const workspaces = await openWorkspaces(code.workspaceRoot);
    const resolve = (invocation: ToolInvocation) => now.toolOf(invocation);
    const runner: HostToolRunner = createToolRunner({ resolve, isolated, workspaces, environment, clock, onWarning });
    closing.push(() => runner.close());

    const grantsOf = await grantsFor(options.credentials ?? []);
    function editionOf(bundle: LoadedBundle | null): Edition {
      const loaded = [...(bundle?.tools ?? []), ...(options.tools ?? [])];
      const registry = new ToolRegistry();
      const wanted = new Set(options.builtins ?? []);
      const own = new Set(loaded.map(({ definition }) => definition.tool_name));
      const offered = builtins.filter(
        ({ definition }) => wanted.has(toolPolicy(definition).resource) && !own.has(definition.tool_name), // H6
      );
      for (const tool of [...loaded, ...offered]) registry.register(tool);
      const openApi = createOpenApiHost({
        dispatcher,
        env,
        grants: grantsOf(loaded.map(({ definition }) => definition)), // H4
        clock,
        onWarning,
      });
      const ownTool = createResolve({ project, registry, openApi, envAllowList: options.envAllowList });
      const versions = servedTargets(loaded, options.openApiTargets ?? OPENAPI_TARGETS);
      let extensionTool: Parameters<ToolEdition["useExtensions"]>[0] = () => null;
      const toolOf = (invocation: ToolInvocation) => extensionTool(invocation) ?? ownTool(invocation);
      const isLater = (name: string) => registry.get(name) === undefined && now.registry.get(name) !== undefined; // H7
      return {
        ...{ loaded, versions, registry, bundle, toolOf },
        ownNames: [...own],
        targets: options.serve === false ? [] : [...versions.keys()],
        runner: runner.resolving((invocation) => (isLater(invocation.tool_name) ? now : { toolOf }).toolOf(invocation)),
        isHosted: (name) => ((isLater(name) ? now.registry : registry).get(name)?.code ?? null) !== null,
        useExtensions(own) {
          extensionTool = own;
        },
      };
    }

    let now = editionOf(bundle);
    const stored = new Map<string, StoredTool>();
    const storeAll = async (tools: readonly RegisteredTool[]) => {
      const definitions = tools.map(({ definition }) => definition);
      for (const tool of await storeTools(node, project, definitions)) stored.set(tool.tool_name, tool);
    };
    const store: ToolHost["store"] = ({ registry }) => storeAll(registry.list());
    await store(now); // H1
    const served = new Map<string, { readonly service: CommandService; readonly versions: string }>();
    /** Services that end what they run (H8). */
    const letGo = new Set<Promise<void>>();
    let isStopped = false;
    const stopServices = async (grace: { readonly graceMs?: number } = {}) => {
      isStopped = true;
      await Promise.all([...served.values()].map(({ service }) => service.stop(grace)));
      await Promise.all(letGo);
    };
    closing.push(() => stopServices(stopOptions));

    async function serve({ loaded, versions }: Edition): Promise<void> {
      if (options.serve === false) return;
      const targets = new Set(loaded.map(({ definition }) => parseTargetSubject(definition.target_subject).target));
      for (const [target, { service, versions: heard }] of served) {
        const isSame = [...(versions.get(target) ?? [])].join() === heard;
        if (isSame || (!versions.has(target) && !targets.has(target))) continue; // H8
        served.delete(target);
        const stopped = service.stop().finally(() => letGo.delete(stopped));
        letGo.add(stopped);
      }
      for (const [target, heard] of versions) {
        if (served.has(target) || isStopped) continue;
        served.set(target, { service: await serviceOf(target, heard), versions: [...heard].join() });
      }
    }

    async function serviceOf(target: string, versions: ReadonlySet<"v1r4" | "v1r3">): Promise<CommandService> {
      return await startToolService({
        ...node,
        project, // tools of another project are another host's, whatever they are called
        target,
        versions: [...versions],
        runner,
        executor: options.executor,
        whileAtWork: options.whileAtWork,
        concurrencyMax: options.concurrencyMax,
        leaseMs: options.leaseMs,
        runtimeFor: (call) => createAgentRuntime({ kernel: node.kernel, clock, caller: call }),
        onLog: options.onLog,
        onWarning,
      });
    }

    await serve(now);
    return {
      runner,
      get edition() {
        return now;
      },
      get registry() {
        return now.registry;
      },
      get bundle() {
        return now.bundle;
      },
      get ownNames() {
        return now.ownNames;
      },
      get targets() {
        return now.targets;
      },
      get services() {
        return [...served.values()].map(({ service }) => service);
      },
      isHosted: (name) => now.isHosted(name),
      builtinNames: builtins.map(({ definition }) => definition.tool_name),
      prepare: editionOf,
      store,
      stored,
      async use(edition) {
        now = edition as Edition;
        await serve(now);
      },
      async offerBuiltins(names, { registry } = now) {
        const more = builtins.filter(({ definition }) => {
          return names.includes(definition.tool_name) && registry.get(definition.tool_name) === undefined;
        });
        for (const tool of more) registry.register(tool);
        if (registry !== now.registry) return; // written with its edition
        await storeAll(more);
      },
      stopServices,
      async close(grace = {}) {
        stopOptions = grace;
        await close();
      },
    };
  } catch (error) {
    await close().catch((cause) => onWarning(`closing after a failed start: ${String(cause)}`));
    throw error;
  }
}

/** H2, H3: target → the protocol versions of its commands. */
function servedTargets(
  tools: readonly RegisteredTool[],
  openApiTargets: readonly string[],
): Map<string, Set<"v1r4" | "v1r3">> {
  const targets = new Map<string, Set<"v1r4" | "v1r3">>(openApiTargets.map((target) => [target, new Set(["v1r4"])]));
  for (const { definition, code } of tools) {
    const isServed = code !== null || isRequestDefinition(definition);
    if (toolPolicy(definition).placement !== "service" || !isServed) continue;
    const { target, version } = parseTargetSubject(definition.target_subject);
    targets.set(target, (targets.get(target) ?? new Set()).add(version));
  }
  return targets;
}
