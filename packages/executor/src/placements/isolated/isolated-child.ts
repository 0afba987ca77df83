// The program of an isolated child: loads one entry module, then runs its handlers, one call after the other.
//
//   H1. Nothing but frames is written to the host's pipe, and synchronously: what was sent has arrived even if the
//       handler ends the process in the next line.
//   H2. `started` is written before the handler is called (frames.ts, F3).
//   H3. An uncaught error ends the process, as Node does it: the host turns that into the call's end. Its stack is
//       sent before. Stacks are deep enough to reach the tool's own code through a library.
//   H4. What one call leaves behind in globals is seen by later calls of the same tool and project, never by any
//       other. A handler that changed a built-in prototype is not given another call.
//   H5. A call is settled after what it printed has left this process, so that a flood is its own and not the next call's.
//   H6. A timer, a socket or a process that a call left open may end or disturb this process at any later moment. After
//       the answer and one turn of the event loop, in which things close, `rested` reports to the host whether there is one.
//   H7. A variable that is read and not there is reported to the host, once for a call: also one that the module read when it
//       was loaded, with each call.

import { flushCompileCache, syncBuiltinESMExports } from "node:module";
import { Socket } from "node:net";
import { dirname, extname } from "node:path";
import { Worker } from "node:worker_threads";
import { TesseraError } from "@tessera/protocol";
import {
  buildToolContext,
  createCallLogger,
  executeHandler,
  failureOf,
  failureStack,
  placeOf,
  type ThrownFailure,
} from "@tessera/tool/run";
import { loadToolModule, type ToolModule } from "../../loader/tool-module.ts";
import { compileCache } from "../compile-cache.ts";
import { watchEnvironment } from "../watched-environment.ts";
import { writeAll, writeOutputSynchronously } from "./child-output.ts";
import { CHILD_IN_FD, CHILD_OUT_FD } from "./child-pipes.ts";
import { type ChildRuntime, createChildRuntime } from "./child-runtime.ts";
import { type ChildRun, createFrameReader, encodeFrame, type FromChild, type ToChild } from "./frames.ts";
import { recordSources, useSources } from "./pinned-sources.ts";

delete process.env.NODE_COMPILE_CACHE; // meant for the sources above only (isolated-process.ts, P3)
const [entry = "", root = "", memoryBytesMax = "", cacheDir = "", sources = "", use = ""] = process.argv.slice(2);
const watchdog = new URL(`./isolated-watchdog${extname(import.meta.url)}`, import.meta.url);
new Worker(watchdog, { env: compileCache(), workerData: { memoryBytesMax: Number(memoryBytesMax) } }).unref();

writeOutputSynchronously(); // H5

Error.stackTraceLimit = 30; // H3
process.on("uncaughtExceptionMonitor", (error) => {
  if (current !== null) send({ type: "uncaught", call: current.call, stack: failureStack(error) });
});

const PROTOTYPES = [Object, Array, Function, String, Number, Boolean, Promise, Map, Set, Date, RegExp, Error].map(
  ({ prototype }) => prototype as object,
);

interface CurrentCall {
  readonly call: number;
  readonly abort: AbortController;
  readonly runtime: ChildRuntime;
}

let current: CurrentCall | null = null;
const readAtLoad = new Set<string>();
let readInCall = new Set<string>();

/** H7 */
function tellMissing(name: string): void {
  if (current === null) readAtLoad.add(name);
  else if (!readInCall.has(name)) {
    readInCall.add(name);
    send({ type: "missing_variable", call: current.call, name });
  }
}

function send(frame: FromChild): void {
  writeAll(CHILD_OUT_FD, Buffer.from(encodeFrame(frame))); // H1
}

async function runExport(module: ToolModule, run: ChildRun): Promise<void> {
  const { call, invocation } = run;
  const abort = new AbortController();
  const runtime = createChildRuntime((ask, method, args) => send({ type: "ask", call, ask, method, args }));
  current = { call, abort, runtime };
  readInCall = new Set();
  for (const name of readAtLoad) tellMissing(name);
  process.chdir(run.workdir);
  process.env.HOME = run.workdir;
  const { project_id, tool_call_id, tool_name, attempt } = invocation;
  const logger = createCallLogger(({ level, message }) => send({ type: "log", call, level, message }), {
    project_id,
    tool_call_id,
    tool_name,
    attempt,
  });
  const ctx = buildToolContext(invocation, {
    workdir: run.workdir,
    logger,
    signal: abort.signal,
    progress: (update) => send({ type: "progress", call, update }),
    ...(run.has_runtime ? { runtime: runtime.runtime } : {}),
  });
  const handler = module.handlers.get(run.export_name);
  const reconcile = module.reconcilers.get(run.export_name);
  const keysBefore = builtinKeys();
  const workBefore = openWork();
  let failure: ThrownFailure | undefined;
  send({ type: "started", call }); // H2
  const executed = await executeHandler({
    code: {
      handler: handler ?? missingHandler(run.export_name),
      ...(reconcile === undefined ? {} : { reconcile }),
    },
    ctx,
    input: structuredClone(invocation.arguments), // the message is built when the handler reads it, of what came
    toolName: tool_name,
    errorMessageLimit: run.error_message_limit,
    mode: invocation.mode,
    idempotencyKey: invocation.idempotency_key,
    onThrown: (thrown) => {
      failure = failureOf(thrown);
    },
  });
  runtime.close();
  current = null;
  const why = failure === undefined ? {} : { failure };
  send({ type: "settled", call, executed, ...why, retire: builtinKeys() !== keysBefore }); // H4
  await new Promise((resolve) => setImmediate(resolve));
  send({ type: "rested", call, retire: hasMore(openWork(), workBefore) }); // H6
}

function missingHandler(name: string): () => never {
  return () => {
    throw Object.assign(new Error(`the module has no handler ${name}`), { code: "E_TOOL_NOT_FOUND" });
  };
}

/** How many properties the built-in prototypes have: adding one is how pollution is done. */
function builtinKeys(): number {
  return PROTOTYPES.reduce((sum, prototype) => sum + Reflect.ownKeys(prototype).length, 0);
}

/** What keeps the event loop alive, counted by kind. */
function openWork(): Map<string, number> {
  const counts = new Map<string, number>();
  for (const kind of process.getActiveResourcesInfo()) counts.set(kind, (counts.get(kind) ?? 0) + 1);
  return counts;
}

function hasMore(now: ReadonlyMap<string, number>, before: ReadonlyMap<string, number>): boolean {
  return [...now].some(([kind, count]) => count > (before.get(kind) ?? 0));
}

function obey(module: ToolModule, frame: ToChild): void {
  if (frame.type === "run") void runExport(module, frame.run);
  else if (current === null || frame.call !== current.call) return;
  else if (frame.type === "cancel") current.abort.abort(new Error("the call was canceled"));
  else current.runtime.onReply(frame.ask, frame.reply);
}

try {
  const options = { root: root || dirname(entry), ...(cacheDir === "" ? {} : { cacheDir }) };
  process.env = watchEnvironment(process.env, tellMissing);
  syncBuiltinESMExports(); // for `import { env } from "node:process"`
  const recorded = use === "record" ? recordSources(sources, cacheDir === "" ? [] : [cacheDir]) : undefined;
  if (use === "use") useSources(sources);
  const module = await loadToolModule(entry, options);
  recorded?.();
  const commands = new Socket({ fd: CHILD_IN_FD, readable: true, writable: false });
  const read = createFrameReader({
    onFrame: (frame) => obey(module, frame as ToChild),
    onBroken: () => process.exit(1),
    parse: (line) => JSON.parse(line),
  });
  commands.on("data", read);
  commands.on("end", () => process.exit(0));
  send({ type: "ready", handlers: [...module.handlers.keys()], reconcilers: [...module.reconcilers.keys()] });
  flushCompileCache(); // now, because this process ends by a kill more often than not
} catch (error) {
  // A refusal of ours says what is wrong; what the module threw, if any of it ran, is behind it.
  const thrown = TesseraError.is(error) ? error.cause : error;
  const stack = placeOf(thrown) === null ? [] : failureStack(thrown);
  send({ type: "unusable", message: error instanceof Error ? error.message : String(error), stack });
  process.exit(1);
}
