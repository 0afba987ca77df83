// `ctx.logger`: a whole Console whose lines become entries of one call's log.
//
//   L1. Whatever a tool prints, the log of a call stays small: so many bytes, so many entries, then one entry that says
//       the rest was dropped. After that nothing is even formatted.
//   L2. Printing never throws and never writes to this process's own output, not even as a warning of Node's.
//   L3. The text is Node's own: a Console over a stream of ours formats, indents groups and draws tables.

import { Console } from "node:console";
import { TRUNCATION_MARKER } from "@tessera/protocol";
import type { ToolLogEntry } from "../invocation.ts";

export const LOG_BYTES_MAX = 64 * 1024;
export const LOG_MESSAGE_BYTES_MAX = 8 * 1024;
export const LOG_ENTRIES_MAX = 1_000;
const GROUP_DEPTH_MAX = 32;
const LABELS_MAX = 1_000;

type LogLevel = ToolLogEntry["level"];
type LogLine = Pick<ToolLogEntry, "level" | "message">;
type LogSink<Base> = (entry: Base & LogLine) => void;

export interface LogLimits {
  readonly bytesMax: number;
  readonly entriesMax: number;
}

const CALL_LOG_LIMITS: LogLimits = { bytesMax: LOG_BYTES_MAX, entriesMax: LOG_ENTRIES_MAX };

/** The methods that print, and how important what they print is. */
const LEVELS = {
  log: "info",
  info: "info",
  debug: "debug",
  warn: "warn",
  error: "error",
  trace: "debug",
  assert: "error",
  dir: "info",
  dirxml: "info",
  table: "info",
  group: "info",
  groupCollapsed: "info",
  groupEnd: "info",
  count: "info",
  countReset: "warn",
  time: "warn",
  timeEnd: "info",
  timeLog: "info",
} as const satisfies Partial<Record<keyof Console, LogLevel>>;
type Printing = keyof typeof LEVELS;

/** `base` is in every entry: what the log is of. */
export function createCallLogger<Base extends object>(
  sink: LogSink<Base>,
  base: Base,
  limits: LogLimits = CALL_LOG_LIMITS,
): Console {
  const log = boundedLog((line) => sink({ ...line, ...base }), limits);
  let level: LogLevel = "info";
  const stream = { write: (text: string) => log.write(level, text) } as NodeJS.WritableStream;
  const inner = new Console({ stdout: stream, stderr: stream, ignoreErrors: false, colorMode: false });

  const print = (method: Printing, args: readonly unknown[]): void => {
    if (log.isClosed()) return; // L1
    const before = level; // an argument's own inspect function may print too
    level = LEVELS[method];
    try {
      (inner[method] as (...given: readonly unknown[]) => void)(...args);
    } catch {
      log.write("warn", `console.${method} could not print its arguments`); // L2
    } finally {
      level = before;
    }
  };
  const printing = Object.fromEntries(
    (Object.keys(LEVELS) as Printing[]).map((method) => [method, (...args: unknown[]) => print(method, args)]),
  );
  const logger: Record<string, unknown> = {
    ...printing,
    ...groups(print),
    ...labels(print),
    // There is no terminal to clear and no profiler to drive.
    clear: nothing,
    profile: nothing,
    profileEnd: nothing,
    timeStamp: nothing,
    context: () => logger,
    createTask: () => ({ run: (task: () => unknown) => task() }),
    Console,
  };
  return logger as unknown as Console;
}

type Print = (method: Printing, args: readonly unknown[]) => void;

/** Groups indent up to a depth; below it they only print their label. */
function groups(print: Print): Record<string, (...args: unknown[]) => void> {
  let depth = 0;
  const group = (...args: unknown[]): void => {
    depth++;
    if (depth <= GROUP_DEPTH_MAX) print("group", args);
    else if (args.length > 0) print("log", args);
  };
  const groupEnd = (): void => {
    if (depth === 0) return;
    if (depth <= GROUP_DEPTH_MAX) print("groupEnd", []);
    depth--;
  };
  return { group, groupCollapsed: group, groupEnd };
}

/** Node warns on the process's own stderr about a label it does not know, so unknown ones do not reach it (L2). */
function labels(print: Print): Record<string, (...args: unknown[]) => void> {
  const timers = new Set<string>();
  const counters = new Set<string>();
  const known = (set: Set<string>, label: string, use: () => void): void => {
    if (set.has(label)) use();
    else print("warn", [`console: there is no label ${JSON.stringify(label)}`]);
  };
  return {
    time: (given) => {
      const label = labelOf(given);
      if (timers.has(label)) print("warn", [`console: the label ${JSON.stringify(label)} is already in use`]);
      else if (timers.size < LABELS_MAX) {
        timers.add(label);
        print("time", [label]);
      }
    },
    timeLog: (given, ...data) => known(timers, labelOf(given), () => print("timeLog", [labelOf(given), ...data])),
    timeEnd: (given) =>
      known(timers, labelOf(given), () => {
        timers.delete(labelOf(given));
        print("timeEnd", [labelOf(given)]);
      }),
    count: (given) => {
      const label = labelOf(given);
      if (counters.size < LABELS_MAX) counters.add(label);
      if (counters.has(label)) print("count", [label]);
    },
    countReset: (given) => known(counters, labelOf(given), () => print("countReset", [labelOf(given)])),
  };
}

function labelOf(given: unknown): string {
  try {
    return given === undefined ? "default" : String(given).slice(0, 128);
  } catch {
    return "unreadable";
  }
}

interface BoundedLog {
  write(level: LogLevel, text: string): boolean;
  isClosed(): boolean;
}

function boundedLog(sink: (line: LogLine) => void, { bytesMax, entriesMax }: LogLimits): BoundedLog {
  let bytes = 0;
  let entries = 0;
  let isClosed = false;
  const emit = (level: LogLevel, message: string): void => {
    try {
      sink({ level, message });
    } catch {
      // A log that cannot be kept must not fail the tool (L2).
    }
  };
  return {
    isClosed: () => isClosed,
    write(level, text) {
      if (isClosed) return true;
      const line = cutLine(text.endsWith("\n") ? text.slice(0, -1) : text);
      bytes += Buffer.byteLength(line);
      entries++;
      if (bytes <= bytesMax && entries <= entriesMax) emit(level, line);
      else {
        isClosed = true;
        emit("warn", `this log is full (${bytesMax} bytes, ${entriesMax} entries); the rest was dropped`);
      }
      return true;
    },
  };
}

function cutLine(text: string): string {
  // No character takes less than a byte, so what lies beyond this many of them is cut in any case.
  const line = text
    .slice(0, LOG_MESSAGE_BYTES_MAX + 1)
    .toWellFormed()
    .replaceAll("\0", "\ufffd");
  if (Buffer.byteLength(line) <= LOG_MESSAGE_BYTES_MAX) return line;
  const room = new Uint8Array(LOG_MESSAGE_BYTES_MAX - TRUNCATION_MARKER.length);
  return line.slice(0, ENCODER.encodeInto(line, room).read) + TRUNCATION_MARKER;
}

const ENCODER = new TextEncoder();

function nothing(): void {}
