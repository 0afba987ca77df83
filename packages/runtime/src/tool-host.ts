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

import { createAgentRuntime } from "@tessera/agent";
import {
  builtinTools,
  createGuardedAgent,
  createOpenApiHost,
  createToolRunner,
  credentialGrants,
  jinaKeyGrants,
  type LoadedBundle,
  openWorkspaces,
  readCredentialGrant,
  type ShellOptions,
  startToolService,
} from "@tessera/executor";
import type { CommandService, WhileAtWork } from "@tessera/kernel";
import { isJsonObject, parseTargetSubject } from "@tessera/protocol";
import {
  type RegisteredTool,
  type ToolInvocation,
  type ToolLogEntry,
  type ToolRunner,
  toolPolicy,
} from "@tessera/tool";
import { ToolRegistry } from "@tessera/tool/catalog";
import type { Node } from "./open-node.ts";
import { createResolve } from "./resolve-tool.ts";
import { storeTools } from "./store-tools.ts";
import { openToolCode, type ToolCode } from "./tool-code.ts";

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
  readonly shell?: ShellOptions | undefined;
  /** Targets whose HTTP-described tools are run here. */
  readonly openApiTargets?: readonly string[] | undefined;
  /** How their requests go out; default: to public addresses only. Whoever gives one closes it. */
  readonly dispatcher?: ReturnType<typeof createGuardedAgent>;
  readonly workspaces?: string | undefined;
  /** Where `envs` and credentials are read. */
  readonly env: Readonly<Record<string, string | undefined>>;
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

export interface ToolHost {
  readonly runner: ToolRunner;
  /** Everything this process can run. */
  readonly registry: ToolRegistry;
  /** What else the bundle holds: agents and their like. */
  readonly bundle: LoadedBundle | null;
  /** Names of the tools of the bundle and of `tools`. */
  readonly ownNames: readonly string[];
  /** Names of the built-in tools, offered here or not. */
  readonly builtinNames: readonly string[];
  /** Offers built-in tools in the project, by name: those that an agent of it refers to. */
  offerBuiltins(toolNames: readonly string[]): Promise<void>;
  readonly services: readonly CommandService[];
  readonly targets: readonly string[];
  isHosted(toolName: string): boolean;
  /** Lets tools that extensions registered be run here, too. */
  useExtensions(toolOf: (invocation: ToolInvocation) => RegisteredTool | null): void;
  close(options?: { readonly graceMs?: number }): Promise<void>;
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
export const OPENAPI_TARGETS: readonly string[] = ["openapi", "jina"];

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
    const builtins = builtinTools({ clock, ...(options.shell === undefined ? {} : { shell: options.shell }) });
    const bundle = await code.bundle();
    const loaded = [...(bundle?.tools ?? []), ...(options.tools ?? [])];
    const registry = new ToolRegistry();
    const wanted = new Set(options.builtins ?? []);
    const own = new Set(loaded.map(({ definition }) => definition.tool_name));
    const offered = [
      ...loaded,
      ...builtins.filter(
        ({ definition }) => wanted.has(toolPolicy(definition).resource) && !own.has(definition.tool_name), // H6
      ),
    ];
    for (const tool of offered) registry.register(tool);
    const dispatcher = options.dispatcher ?? createGuardedAgent();
    if (options.dispatcher === undefined) closing.push(() => dispatcher.close());
    const openApi = createOpenApiHost({
      dispatcher,
      env,
      grants: [
        ...jinaKeyGrants(),
        ...(options.credentials ?? []).map(readCredentialGrant),
        ...loaded.flatMap(({ definition }) => credentialGrants(definition)),
      ], // H4
      clock,
      onWarning,
    });
    const ownTool = createResolve({ project, registry, openApi, envAllowList: options.envAllowList });
    let extensionTool: Parameters<ToolHost["useExtensions"]>[0] = () => null;
    const resolve = (invocation: ToolInvocation) => extensionTool(invocation) ?? ownTool(invocation);
    const environment = { env, ...(options.envAllowList === undefined ? {} : { allowList: options.envAllowList }) };
    const workspaces = await openWorkspaces(code.workspaceRoot);
    const runner = createToolRunner({ resolve, isolated, workspaces, environment, clock, onWarning });
    closing.push(() => runner.close());
    await storeTools(
      node,
      project,
      offered.map(({ definition }) => definition),
    ); // H1
    const targets = options.serve === false ? [] : servedTargets(loaded, options.openApiTargets ?? OPENAPI_TARGETS);
    const services: CommandService[] = [];
    closing.push(async () => void (await Promise.all(services.map((service) => service.stop(stopOptions)))));
    for (const [target, versions] of targets) {
      services.push(
        await startToolService({
          ...node,
          project, // tools of another project are another host's, whatever they are called
          target,
          versions: [...versions],
          runner,
          executor: options.executor,
          whileAtWork: options.whileAtWork,
          ...(options.concurrencyMax === undefined ? {} : { concurrencyMax: options.concurrencyMax }),
          ...(options.leaseMs === undefined ? {} : { leaseMs: options.leaseMs }),
          runtimeFor: (call) => createAgentRuntime({ kernel: node.kernel, clock, caller: call }),
          ...(options.onLog === undefined ? {} : { onLog: options.onLog }),
          onWarning,
        }),
      );
    }
    return {
      runner,
      registry,
      bundle,
      ownNames: [...own],
      builtinNames: builtins.map(({ definition }) => definition.tool_name),
      async offerBuiltins(names) {
        const more = builtins.filter(({ definition }) => {
          return names.includes(definition.tool_name) && registry.get(definition.tool_name) === undefined;
        });
        for (const tool of more) registry.register(tool);
        await storeTools(
          node,
          project,
          more.map(({ definition }) => definition),
        );
      },
      services,
      targets: targets.map(([target]) => target),
      useExtensions(toolOf) {
        extensionTool = toolOf;
      },
      isHosted: (name) => (registry.get(name)?.code ?? null) !== null,
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
function servedTargets(tools: readonly RegisteredTool[], openApiTargets: readonly string[]) {
  const targets = new Map<string, Set<"v1r4" | "v1r3">>(openApiTargets.map((target) => [target, new Set(["v1r4"])]));
  for (const { definition, code } of tools) {
    const isHttp = isJsonObject(definition.options.jina) || isJsonObject(definition.options.openapi);
    if (toolPolicy(definition).placement !== "service" || (code === null && !isHttp)) continue;
    const { target, version } = parseTargetSubject(definition.target_subject);
    targets.set(target, (targets.get(target) ?? new Set()).add(version));
  }
  return [...targets];
}
