// A child process as its host uses it: loaded once, then one call after the other.
//
//   V1. One call at a time. Frames of an earlier call are dropped.
//   V2. An answer counts only when it has the shape of an executed call; anything else ends the child.
//   V3. A run ends exactly once: settled, or died with `hasStarted` telling whether the handler was called.
//   V4. After its answer a child reports whether the call left work behind. One that did, or that does not report in time,
//       is to be retired; the answer stands.

import type { Clock } from "@tessera/kernel/ports";
import { gateJson } from "@tessera/protocol";
import type { AgentToolRuntime, ToolLogEntry, ToolProgress } from "@tessera/tool";
import { type ExecutedCall, type FailureStack, PROGRESS_UPDATES_MAX, type ThrownFailure } from "@tessera/tool/run";
import { readExecuted, readFailure, readStack } from "./executed-frame.ts";
import {
  type ChildRun,
  decodeDates,
  encodeDates,
  type FromChild,
  RUNTIME_METHODS,
  type RuntimeError,
  type RuntimeMethod,
  type RuntimeReply,
} from "./frames.ts";
import {
  type IsolatedProcess,
  type ProcessExit,
  type ProcessOptions,
  startIsolatedProcess,
} from "./isolated-process.ts";
import { createOutputLines } from "./output-lines.ts";

export type WorkerReady =
  | { readonly kind: "ready"; readonly handlers: readonly string[]; readonly reconcilers: readonly string[] }
  | { readonly kind: "unusable"; readonly message: string; readonly stack: FailureStack }
  | { readonly kind: "died"; readonly exit: ProcessExit };

export type WorkerEnd =
  | {
      readonly kind: "settled";
      readonly executed: ExecutedCall;
      readonly failure: ThrownFailure | undefined;
      readonly retire: boolean;
    }
  | {
      readonly kind: "died";
      readonly exit: ProcessExit;
      readonly hasStarted: boolean;
      /** Of the uncaught error; empty where it ended in another way. */
      readonly stack: FailureStack;
    };

export interface WorkerHooks {
  readonly onLog: (level: ToolLogEntry["level"], message: string) => void;
  readonly onProgress: (update: ToolProgress) => void;
  /** The tool read a variable that it does not see. */
  readonly onMissingVariable: (name: string) => void;
  readonly runtime: AgentToolRuntime | null;
}

export interface IsolatedWorker {
  readonly pid: number | null;
  readonly ready: Promise<WorkerReady>;
  readonly gone: Promise<ProcessExit>;
  isGone(): boolean;
  run(run: Omit<ChildRun, "call" | "has_runtime">, hooks: WorkerHooks): Promise<WorkerEnd>;
  /** The handler of the current run was called. */
  hasStarted(): boolean;
  /** Aborts `ctx.signal` of the current run. */
  cancel(): void;
  kill(): Promise<ProcessExit>;
}

export interface WorkerOptions extends ProcessOptions {
  readonly clock: Clock;
  readonly restMs: number;
}

/** Requests to other agents that one call may have open. */
const ASKS_OPEN_MAX = 64;
const VARIABLE_CHARS_MAX = 128;
/** Turns of the event loop after an answer in which output that was printed before it is still read. */
const OUTPUT_TURNS = 4;

interface CurrentRun {
  readonly call: number;
  readonly hooks: WorkerHooks;
  hasStarted: boolean;
  uncaught: FailureStack;
  asksOpen: number;
  updatesLeft: number;
  settle(end: WorkerEnd): void;
  rest(retire: boolean): void;
}

export function startIsolatedWorker(options: WorkerOptions): IsolatedWorker {
  let calls = 0;
  let current: CurrentRun | null = null;
  const { promise: firstFrame, resolve: answerReady } = Promise.withResolvers<WorkerReady>();
  const lines = (level: ToolLogEntry["level"]) => createOutputLines((line) => current?.hooks.onLog(level, line));
  const output = { stdout: lines("info"), stderr: lines("error") };

  const child: IsolatedProcess = startIsolatedProcess(options, {
    onOutput: (stream, chunk) => output[stream].push(chunk),
    onFrame(frame) {
      if (frame.type === "ready") answerReady(readyOf(frame));
      else if (frame.type === "unusable") {
        answerReady({ kind: "unusable", message: String(frame.message), stack: readStack(frame.stack) });
      } else if (current !== null && frame.call === current.call) take(frame, current); // V1
    },
  });

  const take = (frame: Exclude<FromChild, { type: "ready" | "unusable" }>, run: CurrentRun) => {
    switch (frame.type) {
      case "started":
        run.hasStarted = true;
        return;
      case "log":
        return run.hooks.onLog(levelOf(frame.level), String(frame.message));
      case "progress":
        return progress(frame.update, run);
      case "uncaught":
        run.uncaught = readStack(frame.stack);
        return;
      case "missing_variable":
        return run.hooks.onMissingVariable(String(frame.name).slice(0, VARIABLE_CHARS_MAX));
      case "ask":
        return void answer(frame, run);
      case "settled": {
        const executed = readExecuted(frame.executed);
        if (executed === null)
          void child.kill("protocol"); // V2
        else {
          const failure = executed.status === "error" ? readFailure(frame.failure) : undefined;
          run.settle({ kind: "settled", executed, failure, retire: frame.retire === true });
        }
        return;
      }
      case "rested":
        return run.rest(frame.retire === true);
      default:
        void child.kill("protocol"); // an unknown type: the child is not what it should be
    }
  };

  const answer = async (frame: Extract<FromChild, { type: "ask" }>, run: CurrentRun) => {
    run.asksOpen++;
    const reply = run.asksOpen > ASKS_OPEN_MAX ? tooManyAsks() : await askRuntime(run.hooks.runtime, frame);
    run.asksOpen--;
    if (current === run) child.send({ type: "reply", call: run.call, ask: frame.ask, reply });
  };

  const progress = (update: unknown, run: CurrentRun) => {
    if (run.updatesLeft === 0 || typeof update !== "object" || update === null) return;
    run.updatesLeft--;
    run.hooks.onProgress(update as ToolProgress);
  };

  const ready = Promise.race([firstFrame, child.gone.then((exit): WorkerReady => ({ kind: "died", exit }))]);

  return {
    pid: child.pid,
    ready,
    gone: child.gone,
    isGone: child.isGone,
    hasStarted: () => current?.hasStarted ?? false,
    async run(given, hooks) {
      const call = ++calls;
      child.resetOutput();
      const { promise: settled, resolve: settle } = Promise.withResolvers<WorkerEnd>();
      const { promise: rested, resolve: rest } = Promise.withResolvers<boolean>();
      const run: CurrentRun = {
        call,
        hooks,
        hasStarted: false,
        uncaught: [],
        asksOpen: 0,
        updatesLeft: PROGRESS_UPDATES_MAX,
        settle,
        rest,
      };
      current = run;
      const died = child.gone.then(
        (exit): WorkerEnd => ({ kind: "died", exit, hasStarted: run.hasStarted, stack: run.uncaught }), // V3
      );
      child.send({ type: "run", run: { ...given, call, has_runtime: hooks.runtime !== null } });
      const end = await Promise.race([settled, died]);
      const timer = options.clock.after(options.restMs, () => rest(true));
      const leftWork = await Promise.race([rested, died.then(() => true)]); // V4
      timer.cancel();
      for (let turn = 0; turn < OUTPUT_TURNS; turn++) await new Promise((resolve) => setImmediate(resolve));
      output.stdout.end();
      output.stderr.end();
      current = null;
      return end.kind === "settled" ? { ...end, retire: end.retire || leftWork } : end;
    },
    cancel() {
      if (current !== null) child.send({ type: "cancel", call: current.call });
    },
    kill: () => child.kill(),
  };
}

async function askRuntime(
  runtime: AgentToolRuntime | null,
  frame: Extract<FromChild, { type: "ask" }>,
): Promise<RuntimeReply> {
  const method = RUNTIME_METHODS.find((known) => known === frame.method);
  if (runtime === null || method === undefined || !Array.isArray(frame.args)) {
    return { ok: false, error: { name: "Error", message: "ctx.runtime has no such method", code: "E_TOOL" } };
  }
  try {
    const ask = runtime[method] as (...args: unknown[]) => Promise<unknown>;
    const value = encodeDates(await ask.apply(runtime, decodeDates(frame.args) as unknown[]));
    return { ok: true, value: value === undefined ? null : gateJson(value) };
  } catch (error) {
    return { ok: false, error: errorFields(error, method) };
  }
}

function errorFields(error: unknown, method: RuntimeMethod): RuntimeError {
  if (!(error instanceof Error)) return { name: "Error", message: `ctx.runtime.${method} failed` };
  const { code, suggestion, helpUrl, retryable } = error as Partial<Record<keyof RuntimeError, unknown>>;
  return {
    name: error.name,
    message: error.message,
    ...(typeof code === "string" ? { code } : {}),
    ...(typeof suggestion === "string" ? { suggestion } : {}),
    ...(typeof helpUrl === "string" ? { helpUrl } : {}),
    ...(typeof retryable === "boolean" ? { retryable } : {}),
  };
}

function tooManyAsks(): RuntimeReply {
  const message = `a call may have ${ASKS_OPEN_MAX} requests to other agents open, not more`;
  return { ok: false, error: { name: "Error", message, code: "E_TOOL" } };
}

function readyOf(frame: Extract<FromChild, { type: "ready" }>): WorkerReady {
  return { kind: "ready", handlers: namesOf(frame.handlers), reconcilers: namesOf(frame.reconcilers) };
}

function namesOf(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((name) => typeof name === "string") : [];
}

function levelOf(level: unknown): ToolLogEntry["level"] {
  return level === "debug" || level === "warn" || level === "error" ? level : "info";
}
