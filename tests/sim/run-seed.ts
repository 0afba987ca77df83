// One run of the simulation: a seed and options in, what happened out.
//
//   R1. A run is a function of seed and options: the same ones give the same events, and the same hash.
//   R2. Faults come first; then everything heals, and what is under way has a bounded virtual time to end.
//   R3. Safety is checked all along, safety and liveness at the end. A run with too many events is a livelock.

import { SeededIds } from "@tessera/testkit/seeded-ids";
import { EventLog, type FaultKind, FaultPlan, SimBroker, SimRandom, SimScheduler } from "@tessera/testkit/sim";
import { AsyncRequests } from "./async-requests.ts";
import { Cast, type CastWorld, LOOKS_EVERY_MS, type Pauses } from "./cast.ts";
import { ledgerDisagreement, unendedTurn, wrongDepth } from "./checks.ts";
import { EffectLedger } from "./effect-ledger.ts";
import { type FenceWatch, watchFences } from "./fence-watch.ts";
import { withLockedHeads } from "./locked-heads.ts";
import type { Lost } from "./lost-tail.ts";
import { heal, startNemesis } from "./nemesis.ts";
import type { PlantedBug } from "./planted-bugs.ts";
import { type RequestWatch, watchRequests } from "./request-watch.ts";
import { HELPER } from "./sim-model.ts";
import type { SimStore } from "./store.ts";
import {
  CONVERSES_CHANCE,
  callsMade,
  isDrained,
  makeProject,
  openWork,
  startWorkload,
  type Workload,
} from "./workload.ts";

export interface SeedOptions {
  /** These faults and no others; null: a subset drawn from the seed. */
  readonly only?: readonly FaultKind[] | null;
  readonly onLine?: (line: string) => void;
  /** A bug that is planted in the store. */
  readonly bug?: PlantedBug;
}

export interface SeedResult {
  readonly seed: number;
  /** The rule that was broken, in words; null: none. */
  readonly violation: string | null;
  readonly hash: string;
  readonly events: number;
  readonly virtualMs: number;
  readonly turns: number;
  readonly calls: number;
  readonly cast: Readonly<Record<string, number>>;
  /** Kind → chance. */
  readonly plan: Readonly<Record<string, number>>;
  /** Kind → how often it happened. */
  readonly faults: Readonly<Record<string, number>>;
  /** Functions of the kernel and what they answered, each once: `resume worker_lapsed`. */
  readonly reached: readonly string[];
  readonly lastEvents: readonly string[];
}

const EVENTS_MAX = 50_000;
const CHECK_EVERY = 50;
const LOOK_EVERY_MS = 2_000;
const FAULTY_MS = [12_000, 40_000] as const;
/** Some runs are faulty for longer than a call may take (34 s): what happens at deadlines needs that. */
const LONG_FAULTY_MS = [50_000, 100_000] as const;
const LONG_CHANCE = 0.25;
const HEALING_MS_MAX = 10 * 60_000;
const LAST_SHOWN = 60;

export async function runSeed(store: SimStore, seed: number, options: SeedOptions = {}): Promise<SeedResult> {
  await store.reset();
  const random = new SimRandom(seed);
  const log = new EventLog(options.onLine ?? null);
  const scheduler = new SimScheduler(random, log);
  const faults = new FaultPlan(random, options.only ?? null);
  const ledger = new EffectLedger();
  const conversing = random.beside("conversations").chance(CONVERSES_CHANCE) ? random.beside("conversing") : null;
  const locking = withLockedHeads(store.database, faults);
  const fences = watchFences(options.bug?.wrap?.(locking) ?? locking);
  const requests = watchRequests(fences.database);
  const asking = conversing === null ? null : new AsyncRequests(conversing, HELPER);
  const reached = new Set<string>();
  const pauses: Pauses = { sinceMs: new Map(), recoveredAtMs: 0 };
  const onOutcome = (fn: string, outcome: string) => {
    reached.add(`${fn} ${outcome}`);
    if (outcome === "recovered") pauses.recoveredAtMs = scheduler.nowMs;
  };
  const kept = { ledger, saidIds: new Set<string>(), requests, asking, store: requests.database };
  const base = { onOutcome, scheduler, random, log, faults, ...kept, ids: new SeededIds(seed) };
  const lost: { readonly calls: Set<string>; readonly turns: Set<string> } = { calls: new Set(), turns: new Set() };
  const onLost = ({ calls, turns }: Lost) => {
    for (const call of calls) lost.calls.add(call);
    for (const turn of turns) lost.turns.add(turn);
    fences.forgetEpochs();
    requests.stop();
  };
  const drawn = { looksEveryMs: random.pick(LOOKS_EVERY_MS), pauses };
  const world: CastWorld = { ...base, ...drawn, broker: new SimBroker(base), tail: store.tail, onLost };
  const cast = new Cast(world);
  const size = {
    worker: random.int(2, 3),
    service: random.int(1, 2),
    pmo: random.int(1, 2),
    sweeper: random.int(1, 2),
    agents: random.int(2, 5),
    turns: random.int(2, 6),
  };
  const agents = await makeProject(world, size.agents, conversing);
  for (const role of ["worker", "service", "pmo", "sweeper"] as const) {
    for (let n = 0; n < size[role]; n++) cast.start(role);
  }
  const workload = startWorkload(world, cast, { agents, turns: size.turns, conversing });
  startNemesis(world, cast);
  const violation = await watchUnhandled(() => drive({ world, cast, workload, store, fences, requests, lost }));
  return {
    seed,
    violation,
    hash: log.digest(),
    events: scheduler.happened,
    virtualMs: Math.round(scheduler.nowMs),
    turns: workload.asked.size,
    calls: await callsMade(store.database),
    cast: size,
    plan: Object.fromEntries(faults.chances),
    faults: Object.fromEntries(faults.counts),
    reached: [...reached].toSorted(),
    lastEvents: violation === null ? [] : log.last(LAST_SHOWN),
  };
}

interface Run {
  readonly world: CastWorld;
  readonly cast: Cast;
  readonly workload: Workload;
  readonly store: SimStore;
  readonly fences: FenceWatch;
  readonly requests: RequestWatch;
  readonly lost: Lost;
}

async function drive(run: Run): Promise<string | null> {
  const { world, cast, workload, store, fences, requests } = run;
  const { scheduler, random, faults } = world;
  const [faultyFromMs, faultyToMs] = random.chance(LONG_CHANCE) ? LONG_FAULTY_MS : FAULTY_MS;
  const faultyUntilMs = random.between(faultyFromMs, faultyToMs);
  let lookAtMs = 0;
  await scheduler.settle();
  while (scheduler.happened < EVENTS_MAX) {
    if (!(await scheduler.step())) return "liveness: nothing can happen any more";
    if (fences.violation() !== null) return `fence: ${fences.violation()}`;
    if (requests.violation() !== null) return `request: ${requests.violation()}`;
    if (scheduler.happened % CHECK_EVERY === 0) {
      const broken = await store.violation(["safety"]);
      if (broken !== null) return `safety: ${broken}`;
    }
    if (scheduler.nowMs < lookAtMs) continue;
    lookAtMs = scheduler.nowMs + LOOK_EVERY_MS;
    const isOver = workload.isOver() && (await isDrained(store.database)) && !scheduler.awaits(isToolWork);
    if (!faults.isHealed && (isOver || scheduler.nowMs >= faultyUntilMs))
      await heal(world, cast); // R2
    else if (isOver) return await finalViolation(run);
    if (scheduler.nowMs > faultyUntilMs + HEALING_MS_MAX) {
      return `liveness: not drained within 10 virtual minutes of healing: ${await openWork(store.database)}`;
    }
  }
  return `livelock: more than ${EVENTS_MAX} events: ${await openWork(store.database)}`;
}

async function finalViolation({ world, workload, store, lost }: Run): Promise<string | null> {
  const broken = await store.violation(["safety", "liveness"]);
  if (broken !== null) return `after healing: ${broken}`;
  const ledger = await ledgerDisagreement(store.database, world.ledger, lost);
  if (ledger !== null) return `effects: ${ledger}`;
  const unanswered = await world.asking?.unanswered(store.database, lost);
  if (unanswered != null) return `answers: ${unanswered}`;
  return (await unendedTurn(store.database, workload.asked, lost)) ?? (await wrongDepth(store.database));
}

function isToolWork(label: string): boolean {
  return label.startsWith("tool ");
}

/** An unhandled rejection is a violation like any other. */
async function watchUnhandled(work: () => Promise<string | null>): Promise<string | null> {
  let unhandled: string | null = null;
  const hear = (reason: unknown) => {
    unhandled ??= `unhandled rejection: ${reason instanceof Error ? reason.stack : String(reason)}`;
  };
  process.on("unhandledRejection", hear);
  try {
    return (await work()) ?? unhandled;
  } finally {
    process.off("unhandledRejection", hear);
  }
}
