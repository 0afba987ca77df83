// The children of a host: started when they are needed, kept warm, ended when idle.
//
//   L1. A child serves one entry module and one project; only a child that ran nothing yet belongs to no project.
//   L2. Never more children than the limits say, those included that are on their way out.
//   L3. While a module is in a crash loop no child of it starts; its callers get the time of the next start.
//   L4. Callers wait in order, for a bounded time, in a bounded queue.
//   L5. Where a module has versions (isolated-host.ts, I6), a child serves the one that it loaded. A child that only looks at a
//       new one waits for no place: the others may all be at work.

import type { Clock, Timer } from "@tessera/kernel/ports";
import { type CrashLoop, createCrashLoop } from "./crash-loop.ts";
import type { IsolatedLimits } from "./isolated-limits.ts";
import type { SourcesFile } from "./isolated-process.ts";
import { type IsolatedWorker, startIsolatedWorker } from "./isolated-worker.ts";

export interface PoolRequest {
  readonly entry: string;
  readonly root: string;
  /** Null when nothing is run: the child is only asked what it exports. */
  readonly project: string | null;
  readonly cwd: string;
  /** True: a child not used before. */
  readonly isFresh: boolean;
  /** Of the version that is meant (L5). */
  readonly sources?: SourcesFile | undefined;
  readonly signal: AbortSignal;
}

type Taken =
  | { readonly kind: "child"; readonly child: PooledChild }
  | { readonly kind: "backoff"; readonly waitMs: number; readonly crashes: number }
  | { readonly kind: "busy" }
  | { readonly kind: "canceled" }
  | { readonly kind: "closed" };

export interface PooledChild {
  readonly worker: IsolatedWorker;
  readonly entry: string;
  readonly isWarm: boolean;
}

export interface IsolatedPool {
  take(request: PoolRequest): Promise<Taken>;
  /** Ends the use of a child; one that is not to be used again is killed. */
  giveBack(child: PooledChild, isUsable: boolean): void;
  /** No child that loaded the module before serves a later caller: the file may have changed. With `version` only those that
   *  loaded that one. */
  forget(entry: string, version?: string): void;
  crashLoopOf(request: Pick<PoolRequest, "entry" | "sources">): CrashLoop;
  /** Children that exist. */
  size(): number;
  close(): Promise<void>;
}

export interface PoolOptions {
  readonly clock: Clock;
  readonly limits: IsolatedLimits;
  readonly env: Readonly<Record<string, string>>;
  readonly cacheDir?: string;
  readonly hidesProcesses?: boolean | undefined;
}

interface Child {
  readonly worker: IsolatedWorker;
  readonly entry: string;
  readonly version: string | undefined;
  project: string | null;
  calls: number;
  isBusy: boolean;
  isEnding: boolean;
  idleTimer: Timer | null;
}

interface Waiter {
  readonly request: PoolRequest;
  answer(taken: Taken): void;
}

export function createIsolatedPool(options: PoolOptions): IsolatedPool {
  const { clock, limits } = options;
  const children = new Set<Child>();
  const crashLoops = new Map<string, CrashLoop>();
  const waiting = new Set<Waiter>();
  let isClosed = false;

  const crashLoopOf = ({ entry, sources }: Pick<PoolRequest, "entry" | "sources">): CrashLoop => {
    const key = keyOf(entry, sources?.path);
    const known = crashLoops.get(key) ?? createCrashLoop(clock);
    crashLoops.set(key, known);
    return known;
  };

  const retire = (child: Child): void => {
    child.idleTimer?.cancel();
    child.isEnding = true;
    void child.worker.kill();
  };

  const start = (request: PoolRequest): Child => {
    const worker = startIsolatedWorker({
      entry: request.entry,
      root: request.root,
      cwd: request.cwd,
      env: { ...options.env, HOME: request.cwd },
      heapMb: limits.heapMb,
      memoryBytesMax: limits.memoryBytesMax,
      outputBytesMax: limits.outputBytesMax,
      restMs: limits.restMs,
      hidesProcesses: options.hidesProcesses,
      clock,
      ...(options.cacheDir === undefined ? {} : { cacheDir: options.cacheDir }),
      sources: request.sources,
    });
    const child: Child = {
      worker,
      entry: request.entry,
      version: request.sources?.path,
      project: null,
      calls: 0,
      isBusy: false,
      isEnding: false,
      idleTimer: null,
    };
    children.add(child);
    void worker.gone.then(() => {
      child.idleTimer?.cancel();
      children.delete(child);
      serve(); // L2: its place is free
    });
    return child;
  };

  const idleChild = (request: PoolRequest): Child | undefined =>
    [...children].find(
      (child) =>
        child.entry === request.entry &&
        child.version === request.sources?.path &&
        isIdle(child) &&
        !(request.isFresh && child.calls > 0) &&
        (child.project === null || child.project === request.project), // L1
    );

  /** An answer, or null while the caller has to wait. */
  const tryTake = (request: PoolRequest): Taken | null => {
    const idle = idleChild(request);
    if (idle !== undefined) return use(idle, request);
    const loop = crashLoopOf(request);
    const waitMs = loop.waitMs();
    if (waitMs > 0) return { kind: "backoff", waitMs, crashes: loop.crashes }; // L3
    const siblings = [...children].filter((child) => child.entry === request.entry).length;
    const isLooking = request.project === null && request.sources !== undefined; // L5
    if (isLooking || (siblings < limits.childrenPerEntryMax && children.size < limits.childrenMax))
      return use(start(request), request);
    makeRoom(request, siblings);
    return null;
  };

  /** Ends an idle child that stands in the way; its place is given to the first who waits when it is gone (L2). */
  const makeRoom = (request: PoolRequest, siblings: number): void => {
    const isOwn = siblings >= limits.childrenPerEntryMax;
    const inTheWay = [...children].filter((child) => !isOwn || child.entry === request.entry);
    if (inTheWay.some((child) => child.isEnding)) return; // a place will be free soon
    const idle = inTheWay.find(isIdle);
    if (idle !== undefined) retire(idle);
  };

  const use = (child: Child, request: PoolRequest): Taken => {
    const isWarm = child.calls > 0;
    child.idleTimer?.cancel();
    child.isBusy = true;
    child.project ??= request.project;
    if (request.project !== null) child.calls++;
    return { kind: "child", child: { worker: child.worker, entry: child.entry, isWarm } };
  };

  /** Serves the waiting requests, in order (L4). */
  const serve = (): void => {
    for (const waiter of waiting) {
      const taken = isClosed ? ({ kind: "closed" } as const) : tryTake(waiter.request);
      if (taken !== null) waiter.answer(taken);
    }
  };

  return {
    crashLoopOf,
    forget(entry, version) {
      if (version !== undefined) crashLoops.delete(keyOf(entry, version));
      for (const child of children) {
        if (child.entry !== entry || (version !== undefined && child.version !== version)) continue;
        if (isIdle(child)) retire(child);
        else child.calls = limits.callsPerChildMax; // ended when it is given back
      }
    },
    size: () => children.size,
    take(request) {
      if (isClosed) return Promise.resolve({ kind: "closed" });
      if (request.signal.aborted) return Promise.resolve({ kind: "canceled" });
      const taken = tryTake(request);
      if (taken !== null) return Promise.resolve(taken);
      if (waiting.size >= limits.queueMax) return Promise.resolve({ kind: "busy" });
      return new Promise((resolve) => {
        const waiter: Waiter = {
          request,
          answer(answered) {
            waiting.delete(waiter);
            timer.cancel();
            request.signal.removeEventListener("abort", onAbort);
            resolve(answered);
          },
        };
        const onAbort = () => waiter.answer({ kind: "canceled" });
        const timer = clock.after(limits.queueMs, () => waiter.answer({ kind: "busy" }));
        request.signal.addEventListener("abort", onAbort);
        waiting.add(waiter);
      });
    },
    giveBack({ worker }, isUsable) {
      const child = [...children].find((candidate) => candidate.worker === worker);
      if (child === undefined) return;
      if (isClosed || !isUsable || worker.isGone() || child.calls >= limits.callsPerChildMax) return retire(child);
      child.isBusy = false;
      child.idleTimer = clock.after(limits.idleMs, () => retire(child));
      serve();
    },
    async close() {
      isClosed = true;
      serve();
      const ending = [...children];
      ending.forEach(retire);
      await Promise.all(ending.map(({ worker }) => worker.gone));
    },
  };
}

function keyOf(entry: string, version: string | undefined): string {
  return version === undefined ? entry : `${entry}\n${version}`;
}

function isIdle(child: Child): boolean {
  return !child.isBusy && !child.isEnding && !child.worker.isGone();
}
