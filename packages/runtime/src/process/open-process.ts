// One process of Tessera with its roles, whatever they are: `tessera run`, `start` and `dev`, and createTessera.
//
//   P1. Started in the order store, bus, kernel and sweeper, tools, agents, tool caller, PMO, API. A start that fails half
//       way closes what it had opened. The bundle is read beside the store (tool-code.ts); its mistakes are told after the
//       store's.
//   P2. Workers run inline and isolated tools themselves, so they load the bundle, too; only the role tools serves targets.
//       Tool calls without an agent are worked on wherever tools are loaded.
//   P3. Told to stop, it first says so: readiness is `unready`. Then nothing new is taken, and what runs has the grace to
//       finish. The API answers until then, because executors elsewhere report through it; then the rest ends in reverse.
//   P4. Told a second time, it gives no grace at all.
//   P5. The process that holds a directory serves the API (holder.ts, D1), also without the role: on loopback, on a free port.
//   P6. Every part of the stop is bounded (stop-bounds.ts): close() settles within the grace and STOP_MS_MAX, and names what did
//       not end.
//   P7. Where a newer build brings the store to a schema that this one cannot work on, it takes nothing new from then on, gives what runs
//       the grace, and stays unready; `outdated` says so to the owner of the process.
//   P8. An event loop that stands still for good answers no request and no signal: a thread ends the process then (hangs/). It
//       watches from the moment that the store is open until all else has ended.
//   P9. A process with a worker and a bundle may load it again (reload/). A process that is told to stop does not.

import { startToolCaller } from "@tessera/agent";
import { systemClock } from "@tessera/engines/system";
import { startPmo } from "@tessera/pmo";
import type { TesseraError } from "@tessera/protocol";
import type { Health } from "@tessera/server";
import type { RegisteredTool, ToolProgress } from "@tessera/tool";
import { type AgentResources, type Agents, openAgents } from "../agents/open-agents.ts";
import { type Api, type ApiOptions, loadServer, openApi } from "../api/open-api.ts";
import { startHangWatch } from "../hangs/hang-watch.ts";
import { type BundleReload, createBundleReload } from "../reload/reload-bundle.ts";
import { ROLES, type Role } from "../roles.ts";
import { watchSchema } from "../store/schema-watch.ts";
import { storePlace } from "../store/store-place.ts";
import { openToolCode, type ToolCode } from "../tools/tool-code.ts";
import { openToolHost, type ToolHost, type ToolHostOptions } from "../tools/tool-host.ts";
import { createHealth } from "./health.ts";
import type { PrintedEntry } from "./open-log.ts";
import { type Node, type NodeOptions, openNode } from "./open-node.ts";
import { bounded, STOP_MS, throwFailures, withinBound } from "./stop-bounds.ts";

type HostOptions = Pick<
  ToolHostOptions,
  "builtins" | "shell" | "workspaces" | "envAllowList" | "credentials" | "dispatcher" | "openApiTargets"
>;

/** What {@link openProcess} takes. */
export interface ProcessOptions extends Omit<NodeOptions, "sweep" | "warnsOfBroker">, HostOptions {
  /** Default: all of them. */
  readonly roles?: readonly Role[];
  readonly project: string;
  /** The directory of a bundle: its models, agents, swarms, tools and extensions are loaded, too. */
  readonly bundle?: string | undefined;
  /** Isolated tools see no process but their own (bubblewrap). */
  readonly hidesProcesses?: boolean | undefined;
  /** Made in code, besides those of the bundle. */
  readonly tools?: readonly RegisteredTool[] | undefined;
  readonly resources?: AgentResources | undefined;
  /** Where tools' variables and models' keys are read. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** This process's name in claims. */
  readonly executor: string;
  /** Turns of agents at once, and calls of each target at once. */
  readonly concurrencyMax?: number | undefined;
  /** How soon a killed worker or executor is noticed. */
  readonly leaseMs?: number | undefined;
  /** The process is ended when its event loop stands still for so long; default and 0: never. */
  readonly hangMs?: number | undefined;
  /** Where the API listens. False: there is none, and the directory cannot be reached while this process runs. */
  readonly api?:
    | Omit<ApiOptions, "node" | "onWarning" | "isDraining" | "envAllowList" | "isAnnounced">
    | false
    | undefined;
  /** How long what runs may take to finish once the process is too old for its store (P7); default 30 s. */
  readonly graceMs?: number | undefined;
  /** A look at the store before work on it begins. */
  /** The bundle can be loaded again (P9). */
  readonly isReloadable?: boolean | undefined;
  readonly beforeWork?: ((node: Node) => Promise<void>) | undefined;
  readonly onLog?: ((entry: PrintedEntry) => void) | undefined;
  /** Of tool calls without an agent that run here. */
  readonly onProgress?: ((toolCallId: string, update: ToolProgress) => void) | undefined;
}

/** How a process is stopped. */
export interface StopOptions {
  /** How long what runs may take to finish; default 30 s. */
  readonly graceMs?: number;
}

/** A process with its roles, until it is closed. */
export interface Process {
  readonly node: Node;
  readonly roles: readonly Role[];
  /** Null: none of the roles needs tools. */
  readonly host: ToolHost | null;
  /** Null: this process has no agents. */
  readonly agents: Agents | null;
  /** Null: neither the role nor a directory asks for one. */
  readonly api: Api | null;
  /** Null: there is nothing that could be loaded again (P9). */
  readonly reload: BundleReload | null;
  health(): Promise<Health>;
  /** Resolves, with what to tell, when this process is too old for its store (P7); else never. */
  readonly outdated: Promise<TesseraError>;
  /** P3; a second call ends the grace (P4). Resolves when nothing of this process is running. */
  close(options?: StopOptions): Promise<void>;
}

interface Working {
  readonly name: string;
  readonly stop: (options: StopOptions) => Promise<void>;
}
const GRACE_DEFAULT_MS = 30_000;

/** Opens a process with its roles: a node with tools, agents, delegation and the API. */
export async function openProcess(options: ProcessOptions): Promise<Process> {
  const { onWarning } = options;
  const roles = ROLES.filter((role) => (options.roles ?? ROLES).includes(role));
  const hasTools = roles.includes("tools") || roles.includes("worker");
  const hasApi = options.api !== false && (roles.includes("api") || options.data !== undefined); // P5
  /** What takes work and may need time to finish it, and what is closed behind it, each in the order of its start. */
  const working: Working[] = [];
  const opened: (() => Promise<void>)[] = [];
  let isDraining = false;
  let closed: Promise<void> | null = null;
  const close = ({ graceMs = GRACE_DEFAULT_MS }: StopOptions = {}) => {
    if (closed !== null) hurry(working); // P4
    isDraining = true; // P3
    closed ??= closeAll(working, opened, { graceMs });
    return closed;
  };
  try {
    const code = hasTools ? await openToolCode({ ...options, place: storePlace(options), clock: systemClock }) : null;
    opened.push(bounded(systemClock, "the tools' code", async () => await code?.close())); // again after the host's, which is nothing, or for want of a host (P1)
    // Loading the server keeps this thread busy: best while children start. What comes of it is told by openApi.
    if (hasApi) void Promise.resolve(code?.begun).then(() => loadServer().catch(() => undefined));
    const node = await openNode({ ...options, sweep: roles.includes("kernel"), warnsOfBroker: true });
    opened.push(() => node.close()); // each of its parts has its bound
    const { hangMs: blockedMs = 0 } = options;
    const hangs = blockedMs > 0 ? startHangWatch({ blockedMs, place: node.store.place, onWarning }) : null; // P8
    if (hangs !== null) opened.unshift(() => hangs.close());
    const whileAtWork = hangs?.whileAtWork;
    await options.beforeWork?.(node);
    const host =
      code !== null
        ? await openToolHost({ ...options, node, code, whileAtWork, serve: roles.includes("tools") }) // P2
        : null;
    if (host !== null) {
      opened.push(bounded(systemClock, "the tools", () => host.close({ graceMs: 0 })));
      working.push({ name: "the tool services", stop: (grace) => host.stopServices(grace) });
    }
    const agents =
      host !== null && roles.includes("worker")
        ? await openAgents({ ...options, node, host, whileAtWork, roles: ["worker", "ui"] })
        : null;
    if (agents !== null) working.push({ name: "the worker", stop: (grace) => agents.close(grace) });
    if (host !== null) {
      const { runner, isHosted } = host;
      const caller = await startToolCaller({ ...node, ...callerOptions(options), whileAtWork, runner, isHosted });
      working.push({ name: "the tool caller", stop: (grace) => caller.stop(grace) });
    }
    if (roles.includes("pmo")) {
      const pmo = await startPmo({ ...node, executor: `pmo-${node.ids.mint("pmo")}`, onWarning });
      working.push({ name: "the PMO", stop: (grace) => pmo.stop(grace) });
    }
    const outdated = Promise.withResolvers<TesseraError>();
    const watch = watchSchema({
      database: node.store.database,
      clock: node.clock,
      onOutdated(error) {
        isDraining = true; // P7
        onWarning(error.message);
        const ends = [
          ...working.map(({ stop }) => stop({ graceMs: options.graceMs ?? GRACE_DEFAULT_MS })),
          node.sweeper?.stop(),
        ];
        void Promise.allSettled(ends);
        outdated.resolve(error);
      },
    });
    opened.push(bounded(systemClock, "the watch of the schema", () => watch.stop()));
    const health = createHealth({ node, isDraining: () => isDraining });
    const api = hasApi ? await openApiOf(options, node, roles.includes("api"), () => isDraining) : null;
    if (api !== null) opened.push(bounded(systemClock, "the API", () => api.close()));
    const reload = reloadOf(options, { node, code, host, agents });
    if (reload !== null) opened.push(async () => reload.stop());
    return { node, roles, host, agents, api, reload, health, outdated: outdated.promise, close };
  } catch (error) {
    await close({ graceMs: 0 }).catch((cause) => onWarning(`closing after a failed start: ${String(cause)}`)); // P1
    throw error;
  }
}

/** P9 */
function reloadOf(
  { bundle, isReloadable, project, env, onWarning }: ProcessOptions,
  { node, code, host, agents }: Pick<Process, "node" | "host" | "agents"> & { readonly code: ToolCode | null },
): BundleReload | null {
  if (isReloadable !== true || bundle === undefined || code === null || host === null || agents === null) return null;
  return createBundleReload({ node, project, bundle, code, host, agents, env, onWarning });
}

function callerOptions({ project, concurrencyMax, leaseMs, onLog, onProgress, onWarning }: ProcessOptions) {
  return {
    project,
    concurrencyMax,
    leaseMs,
    onLog,
    onProgress,
    onWarning,
  };
}

/** P5 */
async function openApiOf(
  { api, envAllowList, onWarning }: ProcessOptions,
  node: Node,
  isAsked: boolean,
  isDraining: () => boolean,
): Promise<Api> {
  const place = isAsked ? api : { ...api, host: undefined, port: 0 };
  return await openApi({ ...place, node, envAllowList, isDraining, onWarning });
}

/** P3, P6. One that fails does not keep the others open. */
async function closeAll(
  working: readonly Working[],
  opened: (() => Promise<void>)[],
  { graceMs = 0 }: StopOptions,
): Promise<void> {
  const ms = graceMs + STOP_MS["the work in progress"];
  const stops = working.map(({ name, stop }) => withinBound(systemClock, { name, ms }, () => stop({ graceMs })));
  const ended = await Promise.allSettled(stops);
  const failures = ended.flatMap((each) => (each.status === "rejected" ? [each.reason] : []));
  for (const stop of opened.splice(0).reverse()) await stop().catch((error: unknown) => void failures.push(error));
  throwFailures(failures);
}

/** P4: asked again with no grace, it lets go of the rest. What comes of it is answered to the first call. */
function hurry(working: readonly Working[]): void {
  void Promise.allSettled(working.map(({ stop }) => stop({ graceMs: 0 })));
}
