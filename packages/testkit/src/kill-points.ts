// Kill points that do something: end the process at a named place, or hold it there.
//
//   K1. A kill leaves a proof: the line is on disk before the signal is sent.
//   K2. The process ends by SIGKILL, so no handler, no `finally` and no flush runs.

import { appendFileSync } from "node:fs";
import { KILL_POINTS, type KillPoint, type KillPoints } from "@tessera/kernel/ports";

/** Reads TESSERA_KILL_AT (`name` or `name:n`, the n-th passing) and TESSERA_KILL_LOG. Without them it does nothing. */
export function killPointsFromEnvironment(environment: NodeJS.ProcessEnv = process.env): KillPoints {
  const order = environment.TESSERA_KILL_AT;
  if (!order) return { at: () => {} };
  const { name, passing } = parseKillOrder(order);
  let passed = 0;
  return {
    at: (point) => {
      if (point !== name) return;
      passed++;
      if (passed !== passing) return;
      const log = environment.TESSERA_KILL_LOG;
      if (log) appendFileSync(log, `killed at ${name}\n`); // K1
      process.kill(process.pid, "SIGKILL"); // K2
    },
  };
}

export function parseKillOrder(order: string): { name: KillPoint; passing: number } {
  const [text = "", count = "1"] = order.split(":");
  const name = KILL_POINTS.find((point) => point === text);
  if (name === undefined)
    throw new Error(`TESSERA_KILL_AT names no kill point: ${text}; there are ${KILL_POINTS.join(", ")}`);
  const passing = Number(count);
  if (!Number.isInteger(passing) || passing < 1)
    throw new Error(`TESSERA_KILL_AT wants name:n with n from 1, not ${order}`);
  return { name, passing };
}

interface HeldPoint {
  /** Lets the code path go on. */
  release(): void;
}

export interface PausePoints extends KillPoints {
  /** Resolves when a code path reaches `name`; it stays there until released. Other passings are not held. */
  holdNext(name: KillPoint): Promise<HeldPoint>;
  /** How often `name` was passed. */
  passed(name: KillPoint): number;
}

/** For tests in one process: hold a code path at a point while the test changes the world around it. */
export function pausePoints(): PausePoints {
  const waiting = new Map<KillPoint, ((held: HeldPoint) => void)[]>();
  const counts = new Map<KillPoint, number>();
  return {
    at: (name) => {
      counts.set(name, (counts.get(name) ?? 0) + 1);
      const reached = waiting.get(name)?.shift();
      if (reached === undefined) return;
      return new Promise<void>((release) => reached({ release }));
    },
    holdNext: (name) => {
      return new Promise((reached) => waiting.set(name, [...(waiting.get(name) ?? []), reached]));
    },
    passed: (name) => counts.get(name) ?? 0,
  };
}
