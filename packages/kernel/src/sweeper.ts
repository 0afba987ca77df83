// The sweeper: looks at everything that has waited too long. Any number may run, without a leader: rows are taken with
// SKIP LOCKED and every move is a compare-and-set (sql/functions/31_sweep.sql).
//
//   W1. A sweep that fails is reported and tried again at the next interval; it never ends the loop.
//   W2. stop() resolves when no sweep is running.
//   W3. The three sweeps do not depend on one another: one that fails keeps no other from its work.
//   W4. A bus that came back may have lost what it was given. The first sweep after that rings everything that nobody has
//       taken, instead of waiting until it is due: work goes on within two sweeps of the return. A return is seen from the
//       opening of the kernel on: the broker may lose its store before the first sweep.

import { SWEEP_INTERVAL_MS } from "@tessera/protocol";
import type { Announcer } from "./announcer.ts";
import type { SweepAnswer } from "./outcomes.ts";
import type { Bus } from "./ports.ts";
import { type Repetition, repeatEvery } from "./repeat-every.ts";
import { moment, runOnce, type TransitionWorld } from "./transitions.ts";

const ROWS_PER_SWEEP = 200;
/** A backlog is worked off in one go, but not without end: other sweepers help. */
const ROUNDS_MAX = 50;
/** W4. More than that is a backlog, which is rung as it falls due. */
const ROWS_RUNG_EARLY = 10_000;
const SWEEPS = ["sweep_workers", "sweep_calls", "sweep_inbox"] as const;

export interface SweepSummary {
  readonly commands: number;
  readonly wakes: number;
  readonly settled: number;
  readonly recovered: number;
}

export type Sweep = () => Promise<SweepSummary>;

export function createSweep(world: TransitionWorld & { announcer: Announcer; bus: Bus }): Sweep {
  let connections = world.bus.health().connections;

  /** W4 */
  async function ringEarly(): Promise<void> {
    const now = world.bus.health().connections;
    if (now > connections) await runOnce(world, "ring_early", [ROWS_RUNG_EARLY, moment(world.clock)]);
    connections = now;
  }

  return async () => {
    const total = { commands: 0, wakes: 0, settled: 0, recovered: 0 };
    const failures: unknown[] = [];
    await ringEarly().catch((error: unknown) => void failures.push(error)); // W3
    for (const name of SWEEPS) {
      try {
        await sweepAll(world, name, total);
      } catch (error) {
        failures.push(error); // W3
      }
    }
    if (failures.length > 0) throw new AggregateError(failures, failures.map(String).join("; "));
    return total;
  };
}

async function sweepAll(
  world: TransitionWorld & { announcer: Announcer },
  name: string,
  total: { -readonly [Key in keyof SweepSummary]: number },
): Promise<void> {
  for (let round = 0; round < ROUNDS_MAX; round += 1) {
    await world.killPoints.at("sweep.before_commit");
    const answer = await runOnce<SweepAnswer>(world, name, [ROWS_PER_SWEEP, moment(world.clock)]);
    await world.killPoints.at("sweep.after_commit");
    world.announcer.announce(answer);
    total.commands += answer.commands?.length ?? 0;
    total.wakes += answer.wakes.length;
    total.settled += answer.settled ?? 0;
    total.recovered += answer.recovered ?? 0;
    if (!answer.more) return;
  }
}

export type Sweeper = Repetition;

export function startSweeper(options: {
  sweep: Sweep;
  clock: TransitionWorld["clock"];
  intervalMs?: number;
  onWarning: (warning: string) => void;
}): Sweeper {
  const everyMs = options.intervalMs ?? SWEEP_INTERVAL_MS;
  return repeatEvery({
    clock: options.clock,
    everyMs,
    task: options.sweep,
    onFailure: (error) => options.onWarning(`sweep failed: ${String(error)}; trying again in ${everyMs} ms`), // W1
  });
}
