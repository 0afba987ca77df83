// One child process that runs the handlers of one entry module, one call at a time.
//
// Why a process and not a worker thread: a thread shares the address space (a native crash or an exhausted heap takes the
// agent with it), `process.exit` and `process.kill` mean the whole process, and what a thread started cannot be killed.
//
//   P1. The child leads a process group of its own. Whatever ends it ends the group, so that its own children go too.
//       One that makes a session of its own escapes; untrusted code belongs in a sandbox.
//   P2. `gone` resolves when the process is reaped and its pipes are read out, and only then is a call answered.
//   P3. The child sees PATH, HOME, LANG and TZ. It never sees the host's environment.
//       NODE_COMPILE_CACHE, if this process keeps compiled sources, is gone before code of a tool is loaded: it makes a
//       start three times as fast.
//       Nor has it a descriptor that this process was handed (spawn-child.ts).
//   P4. With `hidesProcesses` it has a process namespace of its own (bubblewrap): of this machine's processes it sees those
//       that it started, so neither this one nor its environment, and all of them end with it.
//   P5. What it prints is counted; beyond the limit it is killed.

import type { ChildProcess } from "node:child_process";
import { constants } from "node:os";
import { extname } from "node:path";
import type { Readable, Writable } from "node:stream";
import { fileURLToPath } from "node:url";
import { BWRAP_PATH_DEFAULT } from "../../shell/sandbox.ts";
import { compileCache } from "../compile-cache.ts";
import { CHILD_IN_FD, CHILD_OUT_FD } from "./child-pipes.ts";
import { createFrameReader, encodeFrame, type FromChild, type ToChild } from "./frames.ts";
import { spawnChild } from "./spawn-child.ts";

export interface ProcessOptions {
  readonly entry: string;
  readonly root: string;
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  /** V8's heap. */
  readonly heapMb: number;
  /** The whole process. */
  readonly memoryBytesMax: number;
  readonly outputBytesMax: number;
  readonly cacheDir?: string;
  /** The sources of its module (pinned-sources.ts); absent: they are those on disk. */
  readonly sources?: SourcesFile | undefined;
  /** P4 */
  readonly hidesProcesses?: boolean | undefined;
}

export interface SourcesFile {
  readonly path: string;
  /** True: they are those on disk, and are written to the file. */
  readonly isRecorded: boolean;
}

export interface ProcessListener {
  onFrame(frame: FromChild): void;
  onOutput(stream: "stdout" | "stderr", chunk: Buffer): void;
}

/** `why` is the host's reason, when it was the host that ended it. */
export interface ProcessExit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly why: "output" | "protocol" | "killed" | null;
  readonly text: string;
}

export interface IsolatedProcess {
  readonly pid: number | null;
  readonly gone: Promise<ProcessExit>;
  isGone(): boolean;
  send(frame: ToChild): void;
  /** Starts to count what the child prints anew. */
  resetOutput(): void;
  /** Ends the whole group at once; resolves like `gone`. */
  kill(why?: "killed" | "protocol"): Promise<ProcessExit>;
}

/** After the exit, turns of the event loop in which the rest of the pipes is read. A group member that survived could
 *  hold them open for ever. */
const DRAIN_TURNS_MAX = 32;

/** P4. Everything else is as outside: the same files, the same network, the same user. */
const NAMESPACE = [
  ...[BWRAP_PATH_DEFAULT, "--die-with-parent", "--unshare-pid"],
  ...["--dev-bind", "/", "/", "--proc", "/proc", "--"],
] as const;

// In the repository the sources run as they are, installed they are JavaScript.
const CHILD_FILE = fileURLToPath(new URL(`./isolated-child${extname(import.meta.url)}`, import.meta.url));

export function startIsolatedProcess(options: ProcessOptions, listener: ProcessListener): IsolatedProcess {
  const [file, ...before] = [...(options.hidesProcesses === true ? NAMESPACE : []), process.execPath];
  const child = spawnChild(
    file,
    [
      ...before,
      `--max-old-space-size=${options.heapMb}`,
      "--disable-proto=delete",
      "--no-warnings",
      CHILD_FILE,
      options.entry,
      options.root,
      String(options.memoryBytesMax),
      options.cacheDir ?? "",
      ...(options.sources === undefined ? [] : [options.sources.path, options.sources.isRecorded ? "record" : "use"]),
    ],
    {
      cwd: options.cwd,
      env: { ...options.env, ...compileCache() }, // P3
      detached: true, // P1
      stdio: ["ignore", "pipe", "pipe", "pipe", "pipe", "pipe"],
    },
  );
  let why: ProcessExit["why"] = null;
  let isGone = false;
  let outputBytes = 0;
  const killGroup = () => {
    if (child.pid === undefined) return;
    try {
      process.kill(-child.pid, "SIGKILL");
    } catch {
      // the group is empty already
    }
  };
  const end = (reason: NonNullable<ProcessExit["why"]>) => {
    if (isGone) return;
    why ??= reason;
    killGroup();
  };

  const read = createFrameReader({
    onFrame: (frame) => {
      if (isFrame(frame)) listener.onFrame(frame);
      else end("protocol");
    },
    onBroken: () => end("protocol"),
  });
  const count = (bytes: number) => {
    outputBytes += bytes;
    if (outputBytes > options.outputBytesMax) end("output"); // P5
  };
  for (const stream of ["stdout", "stderr"] as const) {
    child[stream]?.on("data", (chunk: Buffer) => {
      count(chunk.length);
      if (why === null) listener.onOutput(stream, chunk);
    });
  }
  (child.stdio[CHILD_OUT_FD] as Readable | undefined)?.on("data", (chunk: Buffer) => {
    count(chunk.length);
    if (why === null) read(chunk);
  });
  for (const pipe of child.stdio) pipe?.on("error", () => {}); // the other side is dead; `gone` tells

  const gone = ended(child, killGroup, options.hidesProcesses === true).then((exit) => {
    isGone = true;
    return { ...exit, why, text: exitText(exit, why) };
  });
  return {
    pid: child.pid ?? null,
    gone,
    isGone: () => isGone || child.exitCode !== null || child.signalCode !== null,
    send: (frame) => void (child.stdio[CHILD_IN_FD] as Writable | undefined)?.write(encodeFrame(frame)),
    resetOutput: () => {
      outputBytes = 0;
    },
    kill: (reason = "killed") => {
      end(reason);
      return gone;
    },
  };
}

async function ended(
  child: ChildProcess,
  killGroup: () => void,
  isWrapped: boolean,
): Promise<{ code: number | null; signal: NodeJS.Signals | null; spawnError: string | null }> {
  const closed = new Promise<void>((resolve) => child.once("close", () => resolve()));
  const exit = await new Promise<{ code: number | null; signal: NodeJS.Signals | null; spawnError: string | null }>(
    (resolve) => {
      child.once("exit", (code, signal) =>
        resolve({ ...(isWrapped ? endOf(code, signal) : { code, signal }), spawnError: null }),
      );
      child.once("error", (error) => {
        if (child.pid === undefined) resolve({ code: null, signal: null, spawnError: error.message });
      });
    },
  );
  if (exit.spawnError !== null) return exit;
  killGroup(); // P1: what the child started and left behind
  let isClosed = false;
  void closed.then(() => {
    isClosed = true;
  });
  for (let turn = 0; turn < DRAIN_TURNS_MAX && !isClosed; turn++) await new Promise((resolve) => setImmediate(resolve));
  for (const pipe of child.stdio) pipe?.destroy(); // P2
  return exit;
}

/** A sandbox reports the signal that ended its first process as shells do. */
function endOf(code: number | null, signal: NodeJS.Signals | null) {
  const name = Object.entries(constants.signals).find(([, number]) => code === 128 + number)?.[0];
  return name === undefined ? { code, signal } : { code: null, signal: name as NodeJS.Signals };
}

function exitText(
  exit: { readonly code: number | null; readonly signal: string | null; readonly spawnError: string | null },
  why: ProcessExit["why"],
): string {
  if (exit.spawnError !== null) return `its process could not be started: ${exit.spawnError}`;
  if (why === "output") return "it printed more than it may and was ended";
  if (why === "protocol") return "it broke the protocol with its host and was ended";
  if (exit.signal === "SIGABRT") return "its process was aborted (out of memory, most likely)";
  if (exit.signal !== null) return `its process was ended by ${exit.signal}`;
  return `its process ended with exit code ${exit.code}`;
}

function isFrame(frame: unknown): frame is FromChild {
  return typeof frame === "object" && frame !== null && typeof (frame as { type?: unknown }).type === "string";
}
