// The process's own clock and ids: production's answers to the ports Clock and Ids.

import { randomBytes } from "node:crypto";
import type { Clock, Ids } from "@tessera/kernel/ports";

/** The clock of this machine. */
export const systemClock: Clock = {
  databaseTime: () => null,
  monotonicMs: () => performance.now(),
  after(ms, task) {
    const timer = setTimeout(task, ms);
    return { cancel: () => clearTimeout(timer) };
  },
};

export const systemIds: Ids = {
  mint: (prefix) => `${prefix}_${uuid7Hex()}`,
  traceId: () => randomHex(16),
  spanId: () => randomHex(8),
};

// Ids are asked for several times per call; the pool is refilled in one go because each call to the generator costs microseconds.
const POOL_BYTES = 8_192;
let pool = Buffer.alloc(0);
let used = 0;

function randomHex(bytes: number): string {
  if (used + bytes > pool.length) {
    pool = randomBytes(POOL_BYTES);
    used = 0;
  }
  const hex = pool.toString("hex", used, used + bytes);
  used += bytes;
  // All zero is no valid trace or span id.
  return /[^0]/.test(hex) ? hex : randomHex(bytes);
}

/** RFC 9562: 48 bits of milliseconds, version 7, variant 10, the rest random. */
function uuid7Hex(): string {
  const time = Date.now().toString(16).padStart(12, "0");
  const random = randomHex(10);
  const variant = "89ab"[Number.parseInt(random[3] ?? "0", 16) & 3];
  return `${time}7${random.slice(0, 3)}${variant}${random.slice(4, 19)}`;
}
