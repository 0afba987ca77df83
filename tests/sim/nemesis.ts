// Who kills, pauses, cuts off and wipes while faults are on.
//
//   N1. A kill or a pause can come at any event of a process, before it: its code then stays where it waits.
//   N2. Processes that only look whether there is work are struck less: nothing is at stake there.
//   N3. A zombie does harm while another worker is at its turn. So a worker whose turns were freed while it was paused goes on
//       soon after another one has taken a turn, and not at any moment.
//   N4. A failover that lost commits leaves processes that know of what never happened. They go on for a while and must do
//       no harm; then they are started anew, as the guide for operators says: a worker that has ended a turn which the store
//       says it holds would otherwise keep it for as long as it lives.
//   N5. Where a tool is at work or a model has answered most is at stake and least happens: one event among the many of a
//       call. It is struck several times as often as others, and mostly paused until its lease is over, so that another
//       attempt is made beside it. Or the whole role is paused, as when a machine stops: then no process makes one in time.

import type { SimProcess } from "@tessera/testkit/sim";
import type { Cast, CastWorld, Pauses } from "./cast.ts";

const EVERY_MS = [1_000, 8_000] as const;
const PAUSE_MS = [2_000, 60_000] as const;
/** Of a pause in which the clock of the process stands still, too. */
const SLEEP_CHANCE = 0.5;
/** N3. A worker is mostly paused for as long as it takes until it is a zombie. */
const ZOMBIE_MS = [25_000, 60_000] as const;
const ZOMBIE_CHANCE = 0.7;
const ZOMBIE_WAKES_MS = 300;
const TAKES_A_TURN = /^answer resume_plainly /;
const IDLE = /^timer$|overdue_rings|sweep_|take_due_batches|children_of_stopped|renew_worker/;
const IDLE_CHANCE = 0.1;
/** N5 */
const AT_WORK = /^(?:tool|model) /;
const AT_WORK_STRIKES = 4;
const WHOLE_ROLE_CHANCE = 0.3;
const CUT_MS = [1_000, 40_000] as const;
const DOWN_MS = [500, 20_000] as const;
const TAIL_MS = [100, 8_000] as const;
const RESTARTED_WITHIN_MS = 15_000;

export function startNemesis(world: CastWorld, cast: Cast): void {
  const { scheduler, random, faults } = world;
  function strike(): Promise<void> | undefined {
    if (faults.isHealed) return undefined;
    const victims = victimsOf(world, cast);
    if (victims.length > 0) {
      const untilMs = (range: readonly [number, number]) => scheduler.nowMs + random.between(...range);
      if (faults.draws("process.stop") && cast.stop(random.pick(victims))) faults.happened("process.stop");
      if (faults.hits("bus.partition")) for (const victim of victims) victim.busCutUntilMs = untilMs(CUT_MS);
      if (faults.hits("store.down")) for (const victim of victims) victim.storeDownUntilMs = untilMs(DOWN_MS);
    }
    if (faults.draws("bus.wipe") && world.broker.wipe()) faults.happened("bus.wipe");
    schedule();
    if (!world.tail.isOpen && faults.hits("store.lost_tail")) return beginTail();
  }
  async function beginTail(): Promise<void> {
    await world.tail.begin();
    scheduler.schedule(null, random.between(...TAIL_MS), "failover", () => failOver(world, cast));
  }
  function schedule(): void {
    scheduler.schedule(null, random.between(...EVERY_MS), "nemesis", strike);
  }
  schedule();
}

/** N1. Called before each event of the process. */
export function mayStrike(world: CastWorld, cast: Cast, process: SimProcess, label: string): void {
  const { faults, log, random } = world;
  if (process.role === "worker" && TAKES_A_TURN.test(label)) wakeZombies(world); // N3
  if (IDLE.test(label) && !random.chance(IDLE_CHANCE)) return; // N2
  const isAtWork = AT_WORK.test(label);
  const strikes = isAtWork ? AT_WORK_STRIKES : 1; // N5
  const isStruck = (fault: "process.pause" | "process.kill") => {
    const isDrawn = Array.from({ length: strikes }, () => faults.draws(fault)).includes(true);
    if (isDrawn) faults.happened(fault);
    return isDrawn;
  };
  if (isStruck("process.pause")) {
    const isWhole = isAtWork && random.chance(WHOLE_ROLE_CHANCE);
    for (const each of isWhole ? cast.processes.filter(({ role }) => role === process.role) : [process]) {
      pause(world, each, isAtWork);
    }
  }
  if (!isStruck("process.kill")) return;
  log.add(`  ${process.name} is killed`);
  process.kill();
}

/** N4 */
async function failOver(world: CastWorld, cast: Cast): Promise<void> {
  const { scheduler, random, log, tail } = world;
  if (!tail.isOpen) return;
  const lost = await tail.lose();
  log.add(`  the last commits are lost: ${lost.calls.size} calls, ${lost.turns.size} turns`);
  world.onLost(lost);
  for (const process of cast.processes) {
    scheduler.schedule(null, random.between(0, RESTARTED_WITHIN_MS), `restart ${process.name}`, () => process.kill());
  }
}

/** Ends every fault and its traces. */
export async function heal(world: CastWorld, cast: Cast): Promise<void> {
  await failOver(world, cast);
  world.log.add("  healed");
  world.faults.heal();
  for (const process of cast.processes) {
    process.busCutUntilMs = 0;
    process.storeDownUntilMs = 0;
    process.goOn();
  }
}

/** One process, or all of a role, or all. */
function victimsOf({ random }: CastWorld, cast: Cast): readonly SimProcess[] {
  const all = cast.processes;
  if (all.length === 0) return [];
  const one = random.pick(all);
  return random.pick([[one], all.filter(({ role }) => role === one.role), all]);
}

function pause({ scheduler, random, log, pauses }: CastWorld, process: SimProcess, isAtWork: boolean): void {
  log.add(`  ${process.name} is paused`);
  const isLong = (isAtWork || process.role === "worker") && random.chance(ZOMBIE_CHANCE);
  process.pause({ isAsleep: random.chance(SLEEP_CHANCE) });
  pauses.sinceMs.set(process, scheduler.nowMs);
  const [fromMs, toMs] = isLong ? ZOMBIE_MS : PAUSE_MS;
  scheduler.schedule(null, random.between(fromMs, toMs), `go on ${process.name}`, () => goOn(pauses, process));
}

/** N3 */
function wakeZombies({ scheduler, random, pauses }: CastWorld): void {
  for (const [process, sinceMs] of pauses.sinceMs) {
    if (process.role !== "worker" || pauses.recoveredAtMs < sinceMs) continue;
    pauses.sinceMs.delete(process);
    scheduler.schedule(null, random.between(0, ZOMBIE_WAKES_MS), `wake ${process.name}`, () => process.goOn());
  }
}

function goOn(pauses: Pauses, process: SimProcess): void {
  pauses.sinceMs.delete(process);
  process.goOn();
}
