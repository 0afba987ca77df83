// Failures that foreign code leaves behind in this process: rejections that are not awaited, throws in timers and listeners.
//
//   S1. One that was made in code of others (tool's foreign-code.ts) is told under its name, and the process goes on.
//   S2. Every other one ends the process as Node does it without a listener: it is ours or that of the program around us.
//       Listeners of that program come first; where it has some, they decide alone.
//   S3. A program that uses createTessera can do without (`reportStrays: false`), because the process is its own.

import type { EventEmitter } from "node:events";
import { foreignCode, runOwn } from "@tessera/tool/run";

/** The part of `process` that is used. */
export interface FailingProcess extends Pick<EventEmitter, "on" | "off" | "listenerCount"> {
  nextTick(work: () => void): void;
}

/** Parts of a process that asked for it: the listeners are there once. */
const asked = new WeakMap<FailingProcess, { count: number; readonly stop: () => void }>();

/** Answers how to stop listening. */
export function reportStrayFailures(process: FailingProcess): () => void {
  const listening = asked.get(process) ?? { count: 0, stop: listen(process) };
  asked.set(process, listening);
  listening.count += 1;
  let isOver = false;
  return () => {
    if (isOver) return;
    isOver = true;
    listening.count -= 1;
    if (listening.count > 0) return;
    asked.delete(process);
    listening.stop();
  };
}

function listen(process: FailingProcess): () => void {
  const onRejection = (reason: unknown) => {
    if (isTold(reason) || process.listenerCount("unhandledRejection") > 1) return; // S2
    throw reason; // becomes an uncaught exception, as without a listener
  };
  const onException = (error: unknown) => {
    if (isTold(error) || process.listenerCount("uncaughtException") > 1) return; // S2
    stop();
    process.nextTick(() => {
      throw error; // no listener is left: Node prints it and ends the process
    });
  };
  const stop = () => {
    process.off("unhandledRejection", onRejection);
    process.off("uncaughtException", onException);
  };
  process.on("unhandledRejection", onRejection);
  process.on("uncaughtException", onException);
  return stop;
}

/** S1 */
function isTold(error: unknown): boolean {
  const code = foreignCode();
  if (code === undefined) return false;
  runOwn(() => code.onStray(error));
  return true;
}
