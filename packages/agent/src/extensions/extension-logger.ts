// `api.logger`: a whole Console, as in Goondan.
//
//   G1. What is printed while a turn runs belongs to that turn, and is bounded like the log of a call: an extension that
//       prints in a loop fills no disk.
//   G2. What is printed outside of a turn (when it registers, in a timer of its own) has no such bound: it would end for good.

import { createCallLogger, type LogLimits } from "@tessera/tool/run";
import type { ExtensionLogEntry } from "./api.ts";

export type TurnOfLog = Pick<ExtensionLogEntry, "project_id" | "agent_turn_id">;

const UNBOUNDED: LogLimits = { bytesMax: Number.POSITIVE_INFINITY, entriesMax: Number.POSITIVE_INFINITY };

export function createExtensionLog(extension: string, onLog: (entry: ExtensionLogEntry) => void, turn?: TurnOfLog) {
  return createCallLogger(onLog, { extension, ...turn }, turn === undefined ? UNBOUNDED : undefined);
}

/** Prints to what `current` answers at the time. */
export function followingLogger(current: () => Console): Console {
  const methods = Object.entries(current()).flatMap(([name, member]) =>
    typeof member === "function" && name !== "Console"
      ? [[name, (...args: unknown[]) => (Reflect.get(current(), name) as typeof member)(...args)]]
      : [],
  );
  return Object.fromEntries(methods) as Console;
}
