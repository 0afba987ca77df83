// One command, from start to the death of everything it started.
//
//   R1. The answer comes when the command's first process has ended. What it left behind is killed: a background child that
//       holds stdout open cannot hold the call open.
//   R2. At the timeout, and when the call is canceled, the whole group gets SIGTERM and KILL_DELAY_MS later SIGKILL.
//       Confined, the second one goes to process 1 of the sandbox, and the kernel kills all that is in it, whatever
//       group, session or signal handler it made for itself. Unconfined, a process that left the group survives.
//   R3. A timeout is an answer. So is a command that prints without end: it is killed at OUTPUT_KILL_BYTES.
//   R4. So is one whose processes have too much together (watch.ts, control-group.ts): it is killed, and the answer says of
//       what.

import type { ChildProcess } from "node:child_process";
import { constants } from "node:os";
import type { Readable, Writable } from "node:stream";
import type { Clock } from "@tessera/kernel/ports";
import { errorOf, type TesseraError } from "@tessera/protocol";
import { captureOutput } from "../builtins/output-capture.ts";
import { spawnChild } from "../placements/isolated/spawn-child.ts";
import { type ControlGroup, makeControlGroup } from "./control-group.ts";
import { FILTER_FD, INFO_FD, type SpawnPlan } from "./sandbox.ts";
import { systemCallFilter } from "./system-call-filter.ts";
import { type ExceededTotal, type TotalLimits, WATCH_MS, watchTotals } from "./watch.ts";

const KILL_DELAY_MS = 100;
/** How long output that is still in the pipes is read after the end. */
const DRAIN_MS = 100;
/** A card holds both, three times over (output-capture.ts O2), with room for the rest. */
const STDOUT_BYTES_MAX = 192 * 1024;
const STDERR_BYTES_MAX = 64 * 1024;
const OUTPUT_KILL_BYTES = 64 * 1024 ** 2;
const INNER_PID_BYTES_MAX = 4_096;
/** Those that end a process that does not handle them (signal(7)). */
const FATAL_SIGNALS = [
  ...(["SIGHUP", "SIGINT", "SIGQUIT", "SIGILL", "SIGTRAP", "SIGABRT", "SIGBUS", "SIGFPE", "SIGKILL"] as const),
  ...(["SIGUSR1", "SIGSEGV", "SIGUSR2", "SIGPIPE", "SIGALRM", "SIGTERM", "SIGXCPU", "SIGXFSZ", "SIGSYS"] as const),
];

export interface ShellOutcome {
  readonly stdout: string;
  readonly stderr: string;
  readonly stdoutTruncated: boolean;
  readonly stderrTruncated: boolean;
  /** -1 when a signal ended it. */
  readonly exitCode: number;
  readonly signal: string | null;
  readonly timedOut: boolean;
  readonly outputLimitExceeded: boolean;
  /** What all its processes together had too much of (R4). */
  readonly limitExceeded: ExceededTotal | null;
  readonly durationMs: number;
}

export interface ShellRunOptions {
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  readonly clock: Clock;
  readonly limits: TotalLimits;
}

type EndReason = "timeout" | "canceled" | "output" | ExceededTotal;
/** Enters the groups whose files are named first, then becomes the command. */
const ENTER = 'n=$1; shift; while [ "$n" -gt 0 ]; do echo $$ > "$1" || exit 126; shift; n=$((n - 1)); done; exec "$@"';

export async function runShell(plan: SpawnPlan, options: ShellRunOptions): Promise<ShellOutcome> {
  if (options.signal.aborted) throw canceled();
  const group = await makeControlGroup(options.limits, options.clock);
  try {
    return await runInGroup(plan, group, options);
  } finally {
    void group?.remove(); // the answer does not wait until the last process of it is reaped
  }
}

async function runInGroup(
  plan: SpawnPlan,
  group: ControlGroup | null,
  options: ShellRunOptions,
): Promise<ShellOutcome> {
  if (options.signal.aborted) throw canceled();
  const { clock } = options;
  const startedMs = clock.monotonicMs();
  const child = start(plan, group);
  const innerPid = plan.isConfined ? readInnerPid(child) : () => null;
  const stdout = captureOutput(STDOUT_BYTES_MAX);
  const stderr = captureOutput(STDERR_BYTES_MAX);
  let reason: EndReason | null = null;
  let hasEnded = false;

  const send = (signal: "SIGTERM" | "SIGKILL") => {
    killAll(child, innerPid(), signal);
  };
  const killTimers = [clock.after(options.timeoutMs, () => end("timeout"))];
  const end = (why: EndReason) => {
    if (reason !== null || hasEnded) return;
    reason = why;
    send(why === "timeout" || why === "canceled" ? "SIGTERM" : "SIGKILL");
    killTimers.push(clock.after(KILL_DELAY_MS, () => send("SIGKILL"))); // R2
  };
  const totals = watchTotals(options.limits, plan);
  const watch = async () => {
    const root = innerPid() ?? child.pid;
    const exceeded = root === undefined ? null : await totals.exceeded(root);
    if (hasEnded) return;
    if (exceeded !== null) end(exceeded); // R4
    killTimers[1] = clock.after(WATCH_MS, () => void watch());
  };
  killTimers.push(clock.after(WATCH_MS, () => void watch()));
  const onCancel = () => end("canceled");
  options.signal.addEventListener("abort", onCancel, { once: true });
  const collect = (stream: Readable | null, into: typeof stdout) =>
    stream?.on("data", (chunk: Buffer) => {
      into.add(chunk);
      if (stdout.bytes + stderr.bytes > OUTPUT_KILL_BYTES) end("output"); // R3
    });
  collect(child.stdout, stdout);
  collect(child.stderr, stderr);

  try {
    const { code, signal } = await exitOf(child, plan.file);
    hasEnded = true;
    killAll(child, null, "SIGKILL"); // R1
    await drained(child, clock);
    const why = reason as EndReason | null;
    if (why === "canceled") throw canceled();
    return {
      stdout: stdout.text(),
      stderr: stderr.text(),
      stdoutTruncated: stdout.isTruncated,
      stderrTruncated: stderr.isTruncated,
      ...exitShown(code, signal, plan),
      timedOut: why === "timeout",
      outputLimitExceeded: why === "output",
      limitExceeded: totalOf(why) ?? ((await group?.ranOutOfMemory()) === true ? "memory" : null),
      durationMs: Math.round(clock.monotonicMs() - startedMs),
    };
  } finally {
    hasEnded = true;
    for (const timer of killTimers) timer.cancel();
    options.signal.removeEventListener("abort", onCancel);
  }
}

function start(plan: SpawnPlan, group: ControlGroup | null): ChildProcess {
  const entries = group?.entries ?? [];
  const argv = [plan.file, ...plan.args];
  const [file = plan.file, ...args] =
    entries.length === 0 ? argv : ["/bin/sh", "-c", ENTER, "sh", String(entries.length), ...entries, ...argv];
  const child = spawnChild(file, args, {
    cwd: plan.cwd,
    env: { ...plan.env },
    detached: true, // a group of its own, to be killed as a whole (R2)
    stdio: plan.isConfined ? ["ignore", "pipe", "pipe", "pipe", "pipe"] : ["ignore", "pipe", "pipe"],
  });
  if (!plan.isConfined) return child;
  const filter = child.stdio[FILTER_FD] as Writable | null | undefined;
  filter?.on("error", () => {}); // the sandbox did not start, and its exit says so
  filter?.end(systemCallFilter() ?? undefined);
  return child;
}

function totalOf(reason: EndReason | null): ExceededTotal | null {
  return reason === "memory" || reason === "disk" || reason === "processes" ? reason : null;
}

function canceled(): TesseraError {
  return errorOf("canceled", "the command was ended: its call was canceled");
}

/**
 * R5. A sandbox's own exit status is that of its command, or 128 and the number of the signal that killed it, as shells say
 * it. A command that itself exits with such a number cannot be distinguished from one that was killed.
 */
function exitShown(code: number | null, signal: string | null, { isConfined }: SpawnPlan) {
  if (code === null) return { exitCode: -1, signal };
  const name = isConfined ? FATAL_SIGNALS.find((each) => code === 128 + constants.signals[each]) : undefined;
  return name === undefined ? { exitCode: code, signal: null } : { exitCode: -1, signal: name };
}

function exitOf(
  child: ChildProcess,
  file: string,
): Promise<{ readonly code: number | null; readonly signal: string | null }> {
  return new Promise((resolve, reject) => {
    child.once("exit", (code, signal) => resolve({ code, signal }));
    child.once("error", (error: NodeJS.ErrnoException) =>
      reject(errorOf("internal_error", `${file} cannot be started (${error.code ?? "unknown"})`, { cause: error })),
    );
  });
}

/** Until the pipes are closed, or for DRAIN_MS: a process that survived may hold them (R1). */
function drained(child: ChildProcess, clock: Clock): Promise<void> {
  return new Promise((resolve) => {
    const streams = [child.stdout, child.stderr];
    const done = () => {
      timer.cancel();
      for (const stream of streams) stream?.destroy();
      resolve();
    };
    const timer = clock.after(DRAIN_MS, done);
    if (streams.every((stream) => stream === null || stream.readableEnded || stream.destroyed)) done();
    else child.once("close", done);
  });
}

/** Our child's group; and inside a sandbox, whose first process leads a group of its own (R2). */
function killAll(child: ChildProcess, innerPid: number | null, signal: "SIGTERM" | "SIGKILL"): void {
  if (innerPid !== null) {
    // The sandbox's process 1 ignores SIGTERM and passes nothing on; its group is the command's.
    sendTo(signal === "SIGTERM" ? -innerPid : innerPid, signal);
    if (signal === "SIGTERM") return;
  }
  if (child.pid !== undefined) sendTo(-child.pid, signal);
}

function sendTo(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error; // gone already
  }
}

/** The sandbox's process 1 as this process sees it; null until it was reported. */
function readInnerPid(child: ChildProcess): () => number | null {
  let text = "";
  let pid: number | null = null;
  const pipe = child.stdio[INFO_FD] as Readable | null | undefined;
  pipe?.on("error", () => {}); // no number, then: the group of the sandbox itself is killed
  pipe?.on("data", (chunk: Buffer) => {
    text = (text + chunk.toString("utf8")).slice(0, INNER_PID_BYTES_MAX);
    const found = /"child-pid":\s*(\d+)/.exec(text);
    if (found !== null) pid = Number(found[1]);
  });
  return () => (child.exitCode === null && child.signalCode === null ? pid : null);
}
