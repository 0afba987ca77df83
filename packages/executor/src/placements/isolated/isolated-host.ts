// The isolated placement: a tool's code runs in child processes, and nothing it does there can hurt the host.
//
//   I1. A run ends within its limits, whatever its code does, and is answered when its process has stopped (tool's R2):
//       at the deadline the process group is killed first; a canceled run gets a short grace.
//   I2. A child that dies before the handler was called has done nothing: the run starts again in a new child, once.
//   I3. A `once` tool whose child died goes through its reconciler, where it has one, in a new child.
//   I4. Only deaths that the host did not order count as crashes; any answer of a handler, also a failure, is a success of its process.
//   I5. Isolation is for accidents. A child runs as the same user: it can read and write what that user can, the environment
//       of this process under /proc included, unless `hidesProcesses` is set.
//   I6. With `versionsDir` a module has versions: each look at it is one (pinned-sources.ts), and runs get the one that is in
//       use, whatever lies on disk by then. A run that has begun ends in the version it began with.

import { readFile, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { Clock } from "@tessera/kernel/ports";
import { errorOf } from "@tessera/protocol";
import type { ToolInvocation, ToolPolicy } from "@tessera/tool";
import type { RunEnd } from "../run-end.ts";
import { ISOLATED_LIMITS, type IsolatedLimits } from "./isolated-limits.ts";
import { createIsolatedPool, type IsolatedPool, type PooledChild, type PoolRequest } from "./isolated-pool.ts";
import type { ProcessExit, SourcesFile } from "./isolated-process.ts";
import type { WorkerEnd, WorkerHooks, WorkerReady } from "./isolated-worker.ts";
import type { PinnedSources } from "./pinned-sources.ts";

export interface IsolatedHostOptions {
  readonly clock: Clock;
  readonly limits?: Partial<IsolatedLimits>;
  /** Where PATH, LANG and TZ of the children come from. Nothing else of it is handed on. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Where transformed sources are kept between starts; a directory that only this user can write to. */
  readonly cacheDir?: string;
  /** Children see no process but their own; it needs bubblewrap, and without it none starts. */
  readonly hidesProcesses?: boolean | undefined;
  /** I6. A directory that only this user can write to. */
  readonly versionsDir?: string | undefined;
  readonly onWarning: (warning: string) => void;
}

export interface IsolatedCall {
  readonly entry: string;
  readonly export_name: string;
  /** With complete arguments. */
  readonly invocation: ToolInvocation;
  readonly policy: ToolPolicy;
  readonly workdir: string;
  readonly signal: AbortSignal;
  readonly hooks: WorkerHooks;
}

export interface ModuleExports {
  readonly handlers: readonly string[];
  readonly reconcilers: readonly string[];
  /** I6: what was looked at, to be used or dropped. */
  readonly version?: ModuleVersion;
}

export interface ModuleVersion {
  readonly entry: string;
  readonly path: string;
  /** What it was loaded from, packages left out. */
  readonly files: readonly string[];
}

export interface IsolatedHost {
  run(call: IsolatedCall): Promise<RunEnd>;
  /** What a module exports, asked in a child: the module is never loaded here. Throws a TesseraError for one that is unusable. */
  inspect(entry: string, root: string): Promise<ModuleExports>;
  /** From now on runs of the module get this version (I6). */
  use(version: ModuleVersion): void;
  /** Of a version that is not to be used. */
  drop(version: ModuleVersion): void;
  /** Children that exist now. */
  children(): number;
  close(): Promise<void>;
}

const PATH_DEFAULT = "/usr/local/bin:/usr/bin:/bin";
const LANG_DEFAULT = "C.UTF-8";
/** A call that waits for a child may begin one of a version that was dropped meanwhile. */
const DROPPED_KEPT_MAX = 32;
/** The first start, and one more when the child died before the handler was called (I2). */
const STARTS_MAX = 2;
const NEVER = new AbortController().signal;

export function createIsolatedHost(options: IsolatedHostOptions): IsolatedHost {
  const limits = { ...ISOLATED_LIMITS, ...options.limits };
  const roots = new Map<string, string>();
  const inUse = new Map<string, ModuleVersion>();
  let looks = 0;
  const pool = createIsolatedPool({
    clock: options.clock,
    limits,
    env: childEnvironment(options.env ?? {}),
    hidesProcesses: options.hidesProcesses,
    ...(options.cacheDir === undefined ? {} : { cacheDir: options.cacheDir }),
  });
  const host = { clock: options.clock, limits, pool, onWarning: options.onWarning };
  const dropped: string[] = [];
  const drop = ({ entry, path }: Pick<ModuleVersion, "entry" | "path">): void => {
    pool.forget(entry, path);
    dropped.push(path);
    if (dropped.length <= DROPPED_KEPT_MAX) return;
    void rm(dropped.shift() as string, { force: true }).catch(() => undefined); // it goes with its directory
  };
  const sourcesOf = (entry: string): SourcesFile | undefined => {
    const version = inUse.get(entry);
    return version === undefined ? undefined : { path: version.path, isRecorded: false };
  };
  return {
    children: () => pool.size(),
    close: () => pool.close(),
    async run(call) {
      const root = roots.get(call.entry) ?? dirname(call.entry);
      const end = await runSafely(host, call, { root, sources: sourcesOf(call.entry) });
      if (end.kind !== "crashed" || !mayReconcile(call)) return end;
      const reconcile: ToolInvocation = { ...call.invocation, mode: "reconcile" };
      const where = { root, sources: sourcesOf(call.entry) };
      const second = await runSafely(host, { ...call, invocation: reconcile }, where); // I3
      return second.kind === "refused" ? end : second;
    },
    async inspect(entry, root) {
      roots.set(entry, root);
      const { versionsDir } = options;
      const path = versionsDir === undefined ? undefined : join(versionsDir, `${++looks}.json`);
      if (path === undefined) pool.forget(entry);
      const sources = path === undefined ? undefined : { path, isRecorded: true };
      const request = { entry, root, project: null, cwd: dirname(entry), isFresh: false, sources, signal: NEVER };
      const loaded = await takeLoaded(host, request, limits.inspectMs);
      if (loaded.kind === "refused") {
        if (path !== undefined) drop({ entry, path });
        const { message, stack } = loaded;
        // The child is gone, and what it threw with it: its stack stands for it.
        const cause = stack === undefined ? undefined : Object.assign(new Error(message), { stack: stack.join("\n") });
        throw errorOf("E_CONFIG_SCHEMA_INVALID", message, { details: { entry }, cause });
      }
      pool.giveBack(loaded.child, true);
      const { handlers, reconcilers } = loaded.ready;
      if (path === undefined) return { handlers, reconcilers };
      const files = Object.keys(JSON.parse(await readFile(path, "utf8")) as PinnedSources);
      return { handlers, reconcilers, version: { entry, path, files } };
    },
    use(version) {
      const before = inUse.get(version.entry);
      inUse.set(version.entry, version);
      if (before !== undefined && before.path !== version.path) drop(before);
    },
    drop,
  };
}

interface Host {
  readonly clock: Clock;
  readonly limits: IsolatedLimits;
  readonly pool: IsolatedPool;
  readonly onWarning: (warning: string) => void;
}

function mayReconcile({ invocation, policy, signal }: IsolatedCall): boolean {
  return invocation.mode === "run" && invocation.effect === "once" && policy.can_reconcile && !signal.aborted;
}

type Code = Pick<PoolRequest, "root" | "sources">;

async function runSafely(host: Host, call: IsolatedCall, code: Code): Promise<RunEnd> {
  for (let start = 1; ; start++) {
    const end = await runOnce(host, call, code, start > 1);
    if (end !== null) return end;
    if (start >= STARTS_MAX) {
      const message = "the tool's process ended twice before the tool was called";
      return { kind: "refused", code: "tool_crashed", message, retryable: true };
    }
  }
}

/** One try; null when the child died before the handler was called (I2). */
async function runOnce(host: Host, call: IsolatedCall, code: Code, isFresh: boolean): Promise<RunEnd | null> {
  const { entry, workdir: cwd, signal, invocation } = call;
  const loaded = await takeLoaded(
    host,
    { ...code, entry, project: invocation.project_id, cwd, isFresh, signal },
    host.limits.startMs,
  );
  if (loaded.kind === "refused") return loaded.code === "canceled" ? { kind: "canceled" } : loaded;
  const { child } = loaded;
  if (signal.aborted) {
    host.pool.giveBack(child, true);
    return { kind: "canceled" };
  }
  const { end, cut } = await runOn(host, child, call);
  if (end.kind === "died") {
    host.pool.giveBack(child, false);
    return afterDeath(host, { ...call, ...code }, end, cut);
  }
  host.pool.crashLoopOf({ entry, ...code }).succeeded(); // I4
  host.pool.giveBack(child, !end.retire);
  if (signal.aborted) return { kind: "canceled" };
  const { executed, failure } = end;
  return { kind: "executed", executed, ...(failure === undefined ? {} : { failure }) };
}

/** What the host did to a run that would not end by itself. */
type Cut = "timeout" | "canceled" | "not_taken" | null;

async function runOn(host: Host, child: PooledChild, call: IsolatedCall): Promise<{ end: WorkerEnd; cut: Cut }> {
  const { clock, limits } = host;
  const { worker } = child;
  const { export_name, invocation, policy, workdir, signal } = call;
  let cut: Cut = null;
  const cutOff = (why: NonNullable<Cut>) => {
    cut ??= why;
    void worker.kill(); // I1
  };
  const timers = [clock.after(policy.timeout_ms, () => cutOff("timeout"))];
  if (child.isWarm) {
    timers.push(
      clock.after(limits.takeMs, () => {
        if (!worker.hasStarted()) cutOff("not_taken");
      }),
    );
  }
  const onAbort = () => {
    worker.cancel();
    timers.push(clock.after(limits.cancelGraceMs, () => cutOff("canceled")));
  };
  signal.addEventListener("abort", onAbort);
  const run = { invocation, export_name, workdir, error_message_limit: policy.error_message_limit };
  const end = await worker.run(run, call.hooks);
  signal.removeEventListener("abort", onAbort);
  for (const timer of timers) timer.cancel();
  return { end, cut };
}

function afterDeath(
  host: Host,
  call: IsolatedCall & Code,
  end: Extract<WorkerEnd, { kind: "died" }>,
  cut: Cut,
): RunEnd | null {
  if (cut === "timeout") return { kind: "timeout" };
  if (cut === "canceled" || call.signal.aborted) return { kind: "canceled" };
  if (cut !== "not_taken" && end.exit.why !== "killed") host.pool.crashLoopOf(call).crashed(); // I4
  if (!end.hasStarted) return null;
  host.onWarning(`${call.invocation.tool_name}: ${end.exit.text}`);
  if (end.exit.why === "output") return { kind: "flooded", bytesMax: host.limits.outputBytesMax };
  return { kind: "crashed", detail: exitDetail(end.exit), ...(end.stack.length === 0 ? {} : { stack: end.stack }) };
}

type Loaded =
  | { readonly kind: "loaded"; readonly child: PooledChild; readonly ready: Extract<WorkerReady, { kind: "ready" }> }
  | Extract<RunEnd, { kind: "refused" }>;

/** A child whose module is loaded. */
async function takeLoaded(host: Host, request: PoolRequest, limitMs: number): Promise<Loaded> {
  const taken = await host.pool.take(request);
  if (taken.kind !== "child") return refusalOf(taken, host.limits);
  const { child } = taken;
  let isLate = false;
  let isAnswered = false;
  const timer = host.clock.after(limitMs, () => {
    // Its answer may be in the pipe: a host that was busy has to read before it judges.
    setImmediate(() => {
      if (isAnswered) return;
      isLate = true;
      void child.worker.kill();
    });
  });
  const ready = await child.worker.ready;
  isAnswered = true;
  timer.cancel();
  if (ready.kind === "ready") return { kind: "loaded", child, ready };
  host.pool.giveBack(child, false);
  host.pool.crashLoopOf(request).crashed();
  await child.worker.gone;
  if (ready.kind === "unusable") {
    const { message, stack } = ready;
    return { ...refused("internal_error", message, false), ...(stack.length === 0 ? {} : { stack }) };
  }
  const why = isLate ? `its module was not loaded within ${limitMs} ms` : ready.exit.text;
  host.onWarning(`${request.entry}: ${why}`);
  return refused("tool_crashed", `the tool could not be started: ${why}`, true);
}

function refusalOf(
  taken: Exclude<Awaited<ReturnType<IsolatedPool["take"]>>, { kind: "child" }>,
  limits: IsolatedLimits,
): Extract<RunEnd, { kind: "refused" }> {
  switch (taken.kind) {
    case "backoff": {
      const message = `the tool's process died ${taken.crashes} times in a row; the next start is in ${taken.waitMs} ms`;
      return refused("upstream_unavailable", message, true);
    }
    case "busy":
      return refused("upstream_unavailable", `no process was free for the tool within ${limits.queueMs} ms`, true);
    case "canceled":
      return refused("canceled", "the call was canceled", false);
    case "closed":
      return refused("shutting_down", "this process is stopping and starts no tool", true);
  }
}

function refused(
  code: Extract<RunEnd, { kind: "refused" }>["code"],
  message: string,
  retryable: boolean,
): Extract<RunEnd, { kind: "refused" }> {
  return { kind: "refused", code, message, retryable };
}

function exitDetail({ code, signal, text }: ProcessExit): {
  exit_code: number | null;
  signal: string | null;
  why: string;
} {
  return { exit_code: code, signal, why: text };
}

function childEnvironment(env: Readonly<Record<string, string | undefined>>): Record<string, string> {
  return {
    PATH: env.PATH || PATH_DEFAULT,
    LANG: env.LANG || LANG_DEFAULT,
    ...(env.TZ ? { TZ: env.TZ } : {}),
  };
}
