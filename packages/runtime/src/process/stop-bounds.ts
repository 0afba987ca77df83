// How long the parts of a process may take to end once it was told to stop.
//
//   B1. Each part has a name and a bound. One that does not end within it is left behind, and the others are ended all the same.
//   B2. What was left behind is an error that names the parts: its owner ends the process, with a failure. Nothing durable
//       depends on a part's end; leases and the sweeper of others do the rest (docs/design.md#one-dialect-two-engines,
//       docs/design.md#messages-are-hints).
//   B3. Together they are at most STOP_MS_MAX, besides the grace of what runs.

import type { Clock } from "@tessera/kernel";
import { TesseraError } from "@tessera/protocol";

/** Part → its bound. */
export const STOP_MS = {
  /** Behind the grace, of what works: a last report, a lease given back. Together, because they end at the same time. */
  "the work in progress": 5_000,
  "the watch of the schema": 1_000,
  "the API": 10_000,
  "the tools": 10_000,
  "the sweeper": 5_000,
  "the last messages": 2_000,
  "the bus": 5_000,
  "the store": 10_000,
  "the tools' code": 10_000,
} as const;
export type PartName = keyof typeof STOP_MS;

/** B3 */
export const STOP_MS_MAX = Object.values(STOP_MS).reduce((sum, ms) => sum + ms, 0);

export interface Part {
  readonly name: PartName;
  readonly stop: () => Promise<unknown>;
}

/** Ends the parts one after the other. What failed is thrown, and names what did not end (B2). */
export async function stopParts(clock: Clock, parts: readonly Part[]): Promise<void> {
  const failures: unknown[] = [];
  for (const { name, stop } of parts) {
    await bounded(clock, name, stop)().catch((error: unknown) => void failures.push(error));
  }
  throwFailures(failures);
}

export function bounded(clock: Clock, name: PartName, stop: () => Promise<unknown>): () => Promise<void> {
  return () => withinBound(clock, { name, ms: STOP_MS[name] }, stop);
}

/** Rejects when the part did not end in time (B1). */
export async function withinBound(
  clock: Clock,
  { name, ms }: { readonly name: string; readonly ms: number },
  stop: () => Promise<unknown>,
): Promise<void> {
  const late = Promise.withResolvers<never>();
  const timer = clock.after(ms, () => late.reject(notEnded([name], ms)));
  try {
    await Promise.race([stop(), late.promise]);
  } finally {
    timer.cancel();
  }
}

/** Nothing without any. What did not end is told together; else the first failure is. */
export function throwFailures(failures: readonly unknown[]): void {
  const parts = failures.flatMap(unendedParts);
  if (parts.length > 0) throw notEnded(parts);
  if (failures.length > 0) throw failures[0];
}

function notEnded(parts: readonly string[], ms?: number): TesseraError {
  const within = ms === undefined ? "in time" : `within ${ms} ms`;
  const says = `told to stop, the process left behind what did not end ${within}: ${parts.join(", ")}`;
  return new TesseraError("stop_incomplete", says, { details: { parts: [...parts] } });
}

function unendedParts(error: unknown): readonly string[] {
  if (!TesseraError.is(error) || error.code !== "stop_incomplete") return [];
  return Array.isArray(error.details.parts) ? error.details.parts.map(String) : [];
}
