// A small cluster in one test process: a store, buses, workers, tool services and a sweeper, each a client of its own.
//
// On PostgreSQL every role has its own pool, on NATS and LISTEN/NOTIFY its own connection; on PGlite all share the one
// session, and on the memory bus the one bus, because that is all there is.

import { openMemoryBus } from "@tessera/engines/memory-bus";
import { openNatsBus } from "@tessera/engines/nats";
import { openPostgresBus } from "@tessera/engines/postgres-bus";
import { systemClock } from "@tessera/engines/system";
import {
  type Bus,
  type Clock,
  type Ids,
  type Kernel,
  migrate,
  openKernel,
  SCHEMA_DIGEST,
  type Sweeper,
  startSweeper,
  type Violation,
  verifyStore,
} from "@tessera/kernel";
import {
  createTestDatabases,
  SeededIds,
  seededRandom,
  type TestDatabase,
  type TestEngine,
  waitFor,
} from "@tessera/testkit";
import { expect, inject } from "vitest";
import { MemoryLedger } from "./effect-ledger.ts";
import { type CheckedStore, countEnded, expectOneOutcomeEach } from "./outcome-check.ts";
import { ScaledClock } from "./scaled-clock.ts";
import { ScriptedTool } from "./scripted-tool.ts";
import { ScriptedWorker } from "./scripted-worker.ts";
import { ShuffledAnswers } from "./shuffled-answers.ts";
import { enqueuePlanned, type PlannedTurn, registerAgents } from "./turn-plan.ts";

export type BusKind = "memory" | "postgres" | "nats";

export interface WorldOptions {
  readonly engine: TestEngine;
  readonly bus: BusKind;
  readonly seed: number;
  readonly agents: number;
  readonly turnsPerAgent?: number;
  readonly workers?: number;
  /** How long each tool works before it acts. */
  readonly workMs?: number;
  /** How much faster than the wall's the store's time runs; absent, the database's own clock rules. */
  readonly timeFactor?: number;
  /** Instead of the run's own. */
  readonly natsUrl?: string;
  /** A bus around the bus of each role. */
  readonly wrapBus?: (bus: Bus) => Bus;
}

export const TOOLS = ["echo", "mail", "search"] as const;
const EFFECTS = { echo: "idempotent", mail: "once", search: "read" } as const;
/** Longer than any pause of a busy machine, also when time runs fast: no process dies in these tests. */
const LEASE_MS = 120_000;
const SWEEP_MS = 500;

export class World implements CheckedStore {
  readonly options: WorldOptions;
  readonly project: string;
  readonly ledger = new MemoryLedger();
  readonly turns: readonly PlannedTurn[];
  readonly clock: Clock;
  readonly ids: Ids;
  readonly kernels: Kernel[] = [];
  readonly buses: Bus[] = [];
  readonly workers: ScriptedWorker[] = [];
  readonly tools: ScriptedTool[] = [];
  readonly warnings: string[] = [];
  /** Swept so far: how much of the work was rung by the sweeper. */
  readonly swept = { commands: 0, wakes: 0, settled: 0, recovered: 0 };
  /** Commands that a tool found by looking in the store, each once. */
  readonly looked = new Set<string>();
  readonly #store: TestDatabase;
  readonly #violations: Violation[] = [];
  #sharedBus: Bus | null = null;
  #sweeper: Sweeper | null = null;

  static async open(options: WorldOptions): Promise<World> {
    const databases = createTestDatabases({
      engine: options.engine,
      prepare: async (database) => void (await migrate(database)),
      digest: `kernel-${SCHEMA_DIGEST}`,
    });
    const world = new World(options, await databases.open());
    try {
      await world.#start();
      return world;
    } catch (error) {
      await world.close();
      throw error;
    }
  }

  private constructor(options: WorldOptions, store: TestDatabase) {
    this.options = options;
    this.#store = store;
    this.ids = new SeededIds(options.seed);
    this.project = this.ids.mint("p");
    this.clock = options.timeFactor === undefined ? systemClock : new ScaledClock({ factor: options.timeFactor });
    this.turns = planTurns(this.ids, options);
  }

  get database() {
    return this.#store.database;
  }

  async enqueueAll(): Promise<void> {
    const kernel = this.kernels[0];
    if (kernel === undefined) throw new Error("this world is closed");
    await Promise.all(this.turns.map((turn) => enqueuePlanned(kernel, this.project, turn)));
  }

  /** Safety holds at any moment, so it is looked at while the work goes on. */
  async waitUntilEnded(timeoutMs = 30_000): Promise<void> {
    const condition = async () => {
      const { violations } = await verifyStore(this.database, { only: "safety" });
      this.#violations.push(...violations);
      const ended = await countEnded(this.database, this.project);
      if (ended < this.turns.length) throw new Error(`${ended} of ${this.turns.length} turns have ended`);
      return true;
    };
    await waitFor(condition, { what: "every turn to end", timeoutMs, intervalMs: 200 });
  }

  async expectOneOutcomeEach() {
    expect(this.#violations).toEqual([]);
    return await expectOneOutcomeEach(this);
  }

  /** Messages that the bus refused. */
  get lost(): number {
    return this.kernels.reduce((sum, kernel) => sum + kernel.announcer.lost, 0);
  }

  async settledCalls(): Promise<number> {
    const rows = await this.database.query<{ settled: number }>(
      "select count(*)::int as settled from state.calls where project_id = $1 and wait_status <> 'waiting'",
      [this.project],
    );
    return rows[0]?.settled ?? 0;
  }

  async close(): Promise<void> {
    await this.#sweeper?.stop();
    await Promise.all([...this.workers, ...this.tools].map((role) => role.stop()));
    await Promise.all(this.kernels.map((kernel) => kernel.announcer.settled()));
    await Promise.all(this.buses.map((bus) => bus.close()));
    await this.#store.close();
  }

  async #start(): Promise<void> {
    const { workers = 2, seed } = this.options;
    const client = await this.#openRole();
    await registerAgents(client.kernel, this.project, [...new Set(this.turns.map((turn) => turn.agent_id))]);
    const { clock, ids, project, ledger } = this;
    const shared = { clock, project, ledger, leaseMs: LEASE_MS };
    for (let n = 0; n < workers; n += 1) {
      const { kernel, bus } = await this.#openRole();
      this.workers.push(new ScriptedWorker({ ...shared, kernel, bus, ids }));
    }
    const answers = new ShuffledAnswers(seededRandom(seed), TOOLS.length);
    for (const target of TOOLS) {
      const { kernel, bus } = await this.#openRole();
      const beforeReport = (call: Parameters<typeof answers.wait>[0]) => answers.wait(call);
      this.tools.push(new ScriptedTool({ ...shared, kernel, bus, target, executor: `${target}-1`, beforeReport }));
    }
    await Promise.all([...this.workers, ...this.tools].map((role) => role.start()));
    const sweeping = await this.#openRole();
    this.#sweeper = startSweeper({
      sweep: async () => {
        const summary = await sweeping.kernel.sweep();
        for (const key of ["commands", "wakes", "settled", "recovered"] as const) this.swept[key] += summary[key];
        return summary;
      },
      clock,
      intervalMs: SWEEP_MS,
      onWarning: (warning) => this.warnings.push(warning),
    });
  }

  async #openRole(): Promise<{ kernel: Kernel; bus: Bus }> {
    const bus = await this.#openBus();
    const opened = openKernel({
      database: await this.#store.another({ poolMax: 3 }),
      bus,
      clock: this.clock,
      ids: this.ids,
      onWarning: (warning) => this.warnings.push(warning),
    });
    const kernel: Kernel = {
      ...opened,
      overdueMessages: async (role, options) => {
        const found = await opened.overdueMessages(role, options);
        if ("tool_target" in role) for (const { data } of found) this.looked.add(new TextDecoder().decode(data));
        return found;
      },
    };
    this.kernels.push(kernel);
    return { kernel, bus };
  }

  async #openBus(): Promise<Bus> {
    const { bus: kind, wrapBus = (bus: Bus) => bus, natsUrl = inject("natsUrl") } = this.options;
    if (this.#sharedBus !== null) return this.#sharedBus;
    const opened =
      kind === "memory"
        ? await openMemoryBus()
        : kind === "nats"
          ? await openNatsBus({ servers: natsUrl })
          : await openPostgresBus({
              url: this.#store.url ?? inject("postgresUrl"),
              channelPrefix: this.project.slice(0, 20),
            });
    const bus = wrapBus(opened);
    this.buses.push(bus);
    if (kind === "memory") this.#sharedBus = bus;
    return bus;
  }
}

/** Each turn calls every tool once in each of its two steps, in parallel. */
function planTurns(ids: Ids, { agents, turnsPerAgent = 1, workMs = 0 }: WorldOptions): PlannedTurn[] {
  const calls = TOOLS.map((tool) => ({ tool, effect: EFFECTS[tool], workMs }));
  return Array.from({ length: agents }, () => ids.mint("agent")).flatMap((agent_id) =>
    Array.from({ length: turnsPerAgent }, () => ({
      agent_id,
      agent_turn_id: ids.mint("turn"),
      steps: [{ calls }, { calls, hasNote: true }],
    })),
  );
}
