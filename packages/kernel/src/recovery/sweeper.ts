// The sweeper: looks at everything that has waited too long. Any number may run, without a leader: rows are taken with
// SKIP LOCKED and every move is a compare-and-set (sql/functions/31_sweep.sql).
//
//   W1. A sweep that fails is reported and tried again at the next interval; it never ends the loop.
//   W2. stop() resolves when no sweep is running. A sweep that is being stopped begins nothing more: no round, no part, no
//       further try at a store that is away.
//   W3. The three sweeps do not depend on one another: one that fails keeps no other from its work.
//   W4. A bus that came back may have lost what it was given. The first sweep after that announces everything that is
//       untaken, instead of waiting until it is due: work goes on within two sweeps of the return. A return is seen from the
//       opening of the kernel on: the broker may lose its store before the first sweep.
//   W5. While this process's bus rings nothing, every sweep does that: listeners elsewhere, who may not know it (a stream that
//       is full refuses publishers only), then find by looking what is a sweep old.
//   W6. Rows that another session keeps locked are passed over and reported, once they have been due for SKIPPED_SECONDS_TOLD. Sessions that
//       hold such rows are ended (sql/functions/33_end_holders.sql); that a store has no right to is reported once.
//   W7. A call's row that has been passed over for long is also waited for in line, for two seconds, and what stands before it is
//       ended meanwhile: sessions may hand a row from one to the next, so that no look ever finds it free.

import { SWEEP_INTERVAL_MS } from "@tessera/protocol";
import { moment, runOnce, type TransitionDeps } from "../batching/transitions.ts";
import type { Announcer } from "../messages/announcer.ts";
import type { SweepAnswer } from "../moves/outcomes.ts";
import { type Bus, isRinging } from "../ports.ts";
import { pause } from "../waiting/pause.ts";
import { type Repetition, repeatEvery } from "../waiting/repeat-every.ts";

const ROWS_PER_SWEEP = 200;
/** A backlog is worked off in one go, but not without end: other sweepers help. */
const ROUNDS_MAX = 50;
/** W4. More than that is a backlog, which is rung as it falls due. */
const ROWS_RUNG_EARLY = 10_000;
/** A transaction of a login that runs tools is over in milliseconds. */
const HOLD_MS_MAX = 5_000;
/** Of a statement that is running: beyond what any of ours may take (engines' STATEMENT_TIMEOUT_MS). */
const STATEMENT_MS_MAX = 60_000;
/** Another sweeper, or a request, has a row locked for moments. */
const SKIPPED_SECONDS_TOLD = 5;
/** W7: a little more than end_holders' wait_ms, and less than sweep_held_call waits. */
const STANDING_MS = 1_200;
const SWEEPS = ["sweep_workers", "sweep_calls", "sweep_inbox"] as const;

interface SweepSummary {
  readonly commands: number;
  readonly wakes: number;
  readonly settled: number;
  readonly recovered: number;
  /** What was due and locked by another session (W6). */
  readonly skipped: number;
  /** Sessions that were ended because they kept rows locked. */
  readonly endedSessions: number;
}

type Total = { -readonly [Key in keyof SweepSummary]: number };

interface Watch {
  readonly may: boolean;
  readonly needed: boolean;
  readonly ended?: readonly { readonly login: string; readonly state: string; readonly seconds: number }[];
}

type SweepDeps = TransitionDeps & {
  readonly announcer: Announcer;
  readonly bus: Bus;
  readonly onWarning: (warning: string) => void;
};

/** For the log and for `tessera doctor`. */
export const NO_WATCHDOG =
  "sessions that keep rows locked cannot be ended: the owner of schema l0 lacks pg_signal_backend and pg_read_all_stats (deploy/roles.sql grants them)";

export type Sweep = (stopping?: AbortSignal) => Promise<SweepSummary>;

export function createSweep(world: SweepDeps): Sweep {
  let connections = world.bus.health().connections;
  let hasToldRights = false;

  /** W6 */
  async function endHolders(total: Total, stopping?: AbortSignal): Promise<void> {
    if (!world.database.capabilities.roles) return;
    const {
      may,
      needed,
      ended = [],
    } = await runOnce<Watch>(world, "end_holders", [HOLD_MS_MAX, STATEMENT_MS_MAX], stopping);
    total.endedSessions += ended.length;
    for (const { login, state, seconds } of ended) {
      const since = `its transaction was open for ${seconds.toFixed(1)} s (${state})`;
      world.onWarning(`a session of ${login} was ended, because it kept locked what others need: ${since}`);
    }
    if (may || !needed || hasToldRights) return;
    hasToldRights = true;
    world.onWarning(NO_WATCHDOG);
  }

  /** W4, W5 */
  async function ringEarly(stopping?: AbortSignal): Promise<void> {
    const health = world.bus.health();
    if (health.connections > connections || !isRinging(health)) {
      await runOnce(world, "ring_early", [ROWS_RUNG_EARLY, moment(world.clock)], stopping);
    }
    connections = health.connections;
  }

  /** W7 */
  async function sweepHeld(total: Total, stopping?: AbortSignal): Promise<void> {
    const done = new AbortController();
    const waiting = runOnce<SweepAnswer>(world, "sweep_held_call", [moment(world.clock)], stopping);
    const waited = waiting.then(
      () => done.abort(),
      () => done.abort(),
    );
    await pause(world.clock, STANDING_MS, done.signal);
    if (!done.signal.aborted) await endHolders(total, stopping);
    await waited;
    const answer = await waiting;
    world.announcer.announce(answer);
    total.settled += answer.settled ?? 0;
  }

  return async (stopping) => {
    const total: Total = { commands: 0, wakes: 0, settled: 0, recovered: 0, skipped: 0, endedSessions: 0 };
    const failures: unknown[] = [];
    await ringEarly(stopping).catch((error: unknown) => void failures.push(error)); // W3
    if (!stopping?.aborted) await endHolders(total, stopping).catch((error: unknown) => void failures.push(error)); // W3
    for (const name of SWEEPS) {
      if (stopping?.aborted) break; // W2
      try {
        const isHeld = await sweepAll(world, name, total, stopping);
        if (isHeld && name === "sweep_calls" && !stopping?.aborted) await sweepHeld(total, stopping);
      } catch (error) {
        failures.push(error); // W3
      }
    }
    if (failures.length > 0) throw new AggregateError(failures, failures.map(String).join("; "));
    return total;
  };
}

/** Whether a row has been passed over for long (W6). */
async function sweepAll(world: SweepDeps, name: string, total: Total, stopping?: AbortSignal): Promise<boolean> {
  for (let round = 0; round < ROUNDS_MAX; round += 1) {
    await world.killPoints.at("sweep.before_commit");
    const answer = await runOnce<SweepAnswer>(world, name, [ROWS_PER_SWEEP, moment(world.clock)], stopping);
    await world.killPoints.at("sweep.after_commit");
    world.announcer.announce(answer);
    total.commands += answer.commands?.length ?? 0;
    total.wakes += answer.wakes.length;
    total.settled += answer.settled ?? 0;
    total.recovered += answer.recovered ?? 0;
    const isHeld = tellSkipped(world, name, answer, total);
    if (!answer.more || stopping?.aborted) return isHeld;
  }
  return false;
}

/** W6 */
function tellSkipped(world: SweepDeps, name: string, { skipped }: SweepAnswer, total: Total): boolean {
  if (skipped == null) return false;
  total.skipped += skipped.rows;
  if (skipped.seconds < SKIPPED_SECONDS_TOLD) return false;
  const rows = skipped.rows === 1 ? "1 row that is due" : `${skipped.rows} rows that are due`;
  const age = `the oldest is due since ${Math.round(skipped.seconds)} s`;
  world.onWarning(`l0.${name} passed over ${rows}, because other sessions have them locked; ${age}`);
  return true;
}

export type Sweeper = Repetition;

export function startSweeper(options: {
  sweep: Sweep;
  clock: TransitionDeps["clock"];
  intervalMs?: number | undefined;
  onWarning: (warning: string) => void;
}): Sweeper {
  const everyMs = options.intervalMs ?? SWEEP_INTERVAL_MS;
  const stopping = new AbortController();
  const sweeping = repeatEvery({
    clock: options.clock,
    everyMs,
    task: () => options.sweep(stopping.signal),
    onFailure: (error) => options.onWarning(`sweep failed: ${String(error)}; trying again in ${everyMs} ms`), // W1
  });
  return {
    stop() {
      stopping.abort();
      return sweeping.stop();
    },
  };
}
