// The log of a process: JSON lines on stderr, one per entry. What tools print comes here with the call it belongs to, what
// extensions print with their name and their turn. A
// warning that repeats itself is said seldom (quiet-repeats.ts). A log is read on a terminal in the end: what would act on one
// is escaped.

import type { ExtensionLogEntry } from "@tessera/agent";
import { systemClock } from "@tessera/engines/system";
import { visibleText } from "@tessera/protocol";
import type { ToolLogEntry } from "@tessera/tool";
import { pino } from "pino";
import { quietRepeats } from "./quiet-repeats.ts";

/** A line that a tool or an extension printed. */
export type PrintedEntry = ToolLogEntry | ExtensionLogEntry;

/** Takes what a process has to say, as lines of JSON. */
export interface Log {
  readonly warn: (warning: string) => void;
  /** Each time that it is said. */
  readonly tell: (level: "info" | "warn", message: string, fields?: Readonly<Record<string, unknown>>) => void;
  readonly printed: (entry: PrintedEntry) => void;
}

/** A log that writes lines of JSON. */
export function openLog(write: (line: string) => void, level = "info"): Log {
  const log = pino(
    { base: null, level, timestamp: pino.stdTimeFunctions.isoTime, formatters: { level: (level) => ({ level }) } },
    { write: (line: string) => write(visibleText(line)) },
  );
  return {
    warn: quietRepeats(
      (warning) => log.warn(warning),
      () => systemClock.monotonicMs(),
    ),
    tell: (level, message, fields = {}) => log[level](fields, message),
    printed: ({ level, message, ...of }) =>
      log[level]({ ...of, from: "extension" in of ? "extension" : "tool" }, message),
  };
}
