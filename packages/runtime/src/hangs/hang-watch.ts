// The event loop's side of the watch for hangs: it answers the thread (hang-thread.ts), and says which turns are at work.
//
//   H1. A turn's code runs in an asynchronous context that has its slot, whatever it awaits: free while nothing hangs.
//   H2. Of a turn that lost a process before, each change of context is noted where the thread reads it without asking, which
//       makes every await four times as long: what blocks in a system call cannot be asked.

import { AsyncLocalStorage, createHook } from "node:async_hooks";
import { url as debuggerUrl } from "node:inspector";
import { extname } from "node:path";
import { Worker } from "node:worker_threads";
import { compileCache } from "@tessera/executor";
import type { WhileAtWork } from "@tessera/kernel";
import type { StorePlace } from "../store/store-place.ts";
import {
  BEATS,
  CURRENT_TURN,
  IS_DEBUGGED,
  SHARED_LENGTH,
  SLOT,
  type ThreadData,
  type ThreadMessage,
  TRACKED,
} from "./shared.ts";

export interface HangWatch {
  readonly whileAtWork: WhileAtWork;
  close(): Promise<void>;
}

const TICKS = 20;
const TICK_MS_MIN = 25;
const TICK_MS_MAX = 500;

const current = new AsyncLocalStorage<number>();
Reflect.set(globalThis, Symbol.for(CURRENT_TURN), () => current.getStore());
let slots = 0;

/** Ends this process when its event loop stands still for so long. */
export function startHangWatch(options: {
  readonly blockedMs: number;
  readonly place: StorePlace;
  readonly onWarning: (warning: string) => void;
}): HangWatch {
  const { blockedMs, place, onWarning } = options;
  const shared = new Int32Array(new SharedArrayBuffer(SHARED_LENGTH * Int32Array.BYTES_PER_ELEMENT));
  const tickMs = Math.min(TICK_MS_MAX, Math.max(TICK_MS_MIN, Math.round(blockedMs / TICKS)));
  const workerData: ThreadData = { shared, blockedMs, tickMs, place };
  const thread = new Worker(new URL(`./hang-thread${extname(import.meta.url)}`, import.meta.url), {
    workerData,
    env: { ...process.env, ...compileCache() },
    name: "tessera-hangs",
  });
  const tell = (message: ThreadMessage) => thread.postMessage(message);
  const tracker = createHook({
    before() {
      shared[SLOT] = current.getStore() ?? 0;
    },
    after() {
      shared[SLOT] = 0;
    },
  });
  thread.on("message", () => {
    Atomics.store(shared, IS_DEBUGGED, debuggerUrl() === undefined ? 0 : 1);
    Atomics.add(shared, BEATS, 1);
  });
  thread.on("error", (error) => onWarning(`nothing watches for hangs any more: ${String(error)}`));
  thread.unref();
  return {
    async whileAtWork(turn, work) {
      slots += 1;
      const slot = slots;
      tell({ enters: slot, turn });
      if (turn.isSuspect && Atomics.add(shared, TRACKED, 1) === 0) tracker.enable(); // H2
      try {
        return await current.run(slot, work); // H1
      } finally {
        if (turn.isSuspect && Atomics.sub(shared, TRACKED, 1) === 1) tracker.disable();
        tell({ leaves: slot });
      }
    },
    async close() {
      await thread.terminate();
    },
  };
}
