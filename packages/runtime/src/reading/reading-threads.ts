// Threads that read what strangers upload: YAML is parsed and schemas are compiled there, so that a hostile document holds
// up its own project's uploads and nothing else.
//
//   R1. THREADS_MAX at most, begun when they are needed. One project has one thread at a time, so two projects cannot be
//       kept waiting by a third, and QUEUED_MAX.perProject documents that wait; one more is refused with `rate_limited`.
//   R2. A document has what READING_MAX says; one that takes more is refused with `bad_request`, and its thread ends.
//   R3. What comes back is plain data: definitions, or the code, message and details of a refusal.

import { extname } from "node:path";
import { Worker } from "node:worker_threads";
import type { AgentProfile } from "@tessera/agent";
import type { Clock, Timer } from "@tessera/kernel/ports";
import { type ErrorCode, errorOf, TesseraError } from "@tessera/protocol";
import type { ToolUpload, ToolUploadOptions } from "@tessera/tool/resources";

const THREADS_MAX = 2;
const QUEUED_MAX = { all: 64, perProject: 8 };
/** Many times what the largest document takes on a machine that is busy with other things. */
const READING_MAX = { ms: 20_000, mib: 256 };

interface Readings {
  readonly tools: { readonly options: ToolUploadOptions; readonly value: ToolUpload };
  readonly profile: {
    readonly options: { readonly file?: string | undefined };
    readonly value: { readonly profile: AgentProfile };
  };
}

export type ReadingJob = {
  readonly [K in keyof Readings]: {
    readonly kind: K;
    readonly bytes: Uint8Array;
    readonly options: Readings[K]["options"];
  };
}[keyof Readings];

export interface Failure {
  /** Null: a fault of ours. */
  readonly code: ErrorCode | null;
  readonly message: string;
  readonly details: TesseraError["details"];
}

export interface ReadingAnswer {
  readonly value?: unknown;
  readonly failure?: Failure;
  readonly costMs: number;
}

export interface ReadingThreads {
  /** `onCost` is told the milliseconds that the document took, accepted or refused. */
  read<K extends keyof Readings>(
    job: Extract<ReadingJob, { kind: K }>,
    about: { readonly projectId: string; readonly onCost?: ((ms: number) => void) | undefined },
  ): Promise<Readings[K]["value"]>;
  close(): Promise<void>;
}

interface Queued {
  readonly job: ReadingJob;
  readonly projectId: string;
  end(answer: ReadingAnswer | Error): void;
}

interface Thread {
  readonly worker: Worker;
  current: Queued | null;
  timer: Timer | null;
}

export function openReadingThreads(clock: Clock): ReadingThreads {
  const threads = new Set<Thread>();
  const queue: Queued[] = [];
  let isClosed = false;

  function startThread(): Thread {
    const worker = new Worker(new URL(`./reading-thread${extname(import.meta.url)}`, import.meta.url), {
      env: {}, // nothing of it is a document's business
      resourceLimits: { maxOldGenerationSizeMb: READING_MAX.mib },
    });
    worker.unref();
    const thread: Thread = { worker, current: null, timer: null };
    worker.on("message", (message: "began" | ReadingAnswer) => {
      if (message === "began")
        thread.timer = clock.after(READING_MAX.ms, () => void end(thread, tooCostly())); // R2
      else finish(thread, message);
    });
    worker.on("error", (error) => {
      const isMemory = "code" in error && error.code === "ERR_WORKER_OUT_OF_MEMORY";
      void end(thread, isMemory ? tooCostly() : new Error("a document could not be read", { cause: error }));
    });
    worker.on("exit", () => void end(thread, new Error("a document could not be read: its thread ended")));
    threads.add(thread);
    return thread;
  }

  function finish(thread: Thread, answer: ReadingAnswer | Error): void {
    const { current, timer } = thread;
    thread.current = null;
    thread.timer = null;
    timer?.cancel();
    current?.end(answer);
    pump();
  }

  async function end(thread: Thread, error: Error): Promise<void> {
    if (!threads.delete(thread)) return;
    finish(thread, error);
    await thread.worker.terminate();
  }

  /** R1 */
  function pump(): void {
    for (;;) {
      const busy = new Set([...threads].flatMap(({ current }) => current?.projectId ?? []));
      const index = queue.findIndex(({ projectId }) => !busy.has(projectId));
      const next = queue[index];
      if (next === undefined || isClosed) return;
      const idle = [...threads].find(({ current }) => current === null);
      if (idle === undefined && threads.size >= THREADS_MAX) return;
      const thread = idle ?? startThread();
      queue.splice(index, 1);
      thread.current = next;
      thread.worker.postMessage(next.job);
    }
  }

  return {
    read: (job, { projectId, onCost = () => undefined }) =>
      new Promise((resolve, reject) => {
        const waiting = queue.filter((queued) => queued.projectId === projectId).length;
        if (isClosed || queue.length >= QUEUED_MAX.all || waiting >= QUEUED_MAX.perProject) {
          reject(isClosed ? errorOf("shutting_down", "this server is stopping") : tooMany());
          return;
        }
        queue.push({
          job,
          projectId,
          end(answer) {
            if (answer instanceof Error) {
              if (TesseraError.is(answer) && answer.code === "bad_request") onCost(READING_MAX.ms);
              reject(answer);
              return;
            }
            onCost(answer.costMs);
            if (answer.failure === undefined)
              resolve(answer.value as never); // R3
            else reject(errorOfFailure(answer.failure));
          },
        });
        pump();
      }),
    async close() {
      isClosed = true;
      const error = errorOf("shutting_down", "this server is stopping");
      for (const queued of queue.splice(0)) queued.end(error);
      await Promise.all([...threads].map((thread) => end(thread, error)));
    },
  };
}

function errorOfFailure({ code, message, details }: Failure): Error {
  return code === null ? new Error(`a document could not be read: ${message}`) : errorOf(code, message, { details });
}

function tooCostly(): TesseraError {
  return errorOf("bad_request", "reading the document takes too much time or memory; make it smaller");
}

function tooMany(): TesseraError {
  return errorOf("rate_limited", "too many uploaded documents are waiting to be read; send one after the other");
}
