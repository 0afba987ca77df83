// `ctx.progress`: best effort, so it can neither fail a handler nor flood observers.
//
//   G1. Never throws, whatever it is given.
//   G2. What goes out is plain JSON of bounded size, and a bounded number of updates per run.

import { gateJson, isJsonObject } from "@tessera/protocol";
import type { ToolProgress } from "../api.ts";
import { storable } from "./thrown-error.ts";

export const PROGRESS_UPDATES_MAX = 1_000;
const MESSAGE_CHARS_MAX = 1_000;
const DATA_BYTES_MAX = 16 * 1024;

export function safeProgress(report: (update: ToolProgress) => void): (update: ToolProgress) => void {
  let left = PROGRESS_UPDATES_MAX;
  return (update) => {
    if (left === 0) return;
    left--;
    try {
      report(clean(update));
    } catch {
      // An update that cannot be read or delivered is dropped: it is no part of the result (G1).
    }
  };
}

function clean(update: unknown): ToolProgress {
  if (!isJsonObject(update)) return {};
  const { message, fraction, data } = update;
  return {
    ...(typeof message === "string" ? { message: storable(message, MESSAGE_CHARS_MAX) } : {}),
    ...(typeof fraction === "number" && !Number.isNaN(fraction)
      ? { fraction: Math.min(1, Math.max(0, fraction)) }
      : {}),
    ...(data === undefined ? {} : { data: gateJson(data, { bytesMax: DATA_BYTES_MAX }) }),
  };
}
