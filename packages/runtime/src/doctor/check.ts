// One thing that was looked at: what was found, and what to do about it.
//
//   C1. `warn` is for what works and may not stay so; `fail` for what will not work. Each has one sentence of what to do.
//   C2. A failure has a cause outside: the configuration, or something that cannot be reached.
//   C3. No text holds a password or a key.

import type { Clock } from "@tessera/kernel";

/** What a check of `tessera doctor` is about. */
export type CheckArea = "settings" | "machine" | "api" | "store" | "broker" | "work" | "keys" | "bundle";

/** One check of `tessera doctor`: what was looked at, and what was found. */
export interface Check {
  readonly area: CheckArea;
  readonly name: string;
  readonly status: "ok" | "warn" | "fail";
  readonly found: string;
  /** Null for `ok`. */
  readonly fix: string | null;
  /** Null unless it failed (C2). */
  readonly fault: "configuration" | "unreachable" | null;
}

export interface Checks {
  ok(name: string, found: string): Check;
  warn(name: string, found: string, fix: string): Check;
  /** Configuration is at fault. */
  wrong(name: string, found: string, fix: string): Check;
  unreachable(name: string, found: string, fix: string): Check;
}

/** Checks of one area. */
export function checksOf(area: CheckArea): Checks {
  const fail = (fault: Check["fault"]) => (name: string, found: string, fix: string) =>
    ({ area, name, status: "fail", found, fix, fault }) as const;
  return {
    ok: (name, found) => ({ area, name, status: "ok", found, fix: null, fault: null }),
    warn: (name, found, fix) => ({ area, name, status: "warn", found, fix, fault: null }),
    wrong: fail("configuration"),
    unreachable: fail("unreachable"),
  };
}

/** An error's own words on one line. */
export function saidBy(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  return text.split("\n")[0] ?? "";
}

/** What this machine's clock says: Node's own start, and what passed since. Exact for a process that has just started. */
export function wallMs(clock: Clock): number {
  return performance.timeOrigin + clock.monotonicMs();
}
