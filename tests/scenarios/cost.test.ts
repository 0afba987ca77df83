// What one durable call costs PostgreSQL, counted on a server where nothing else runs: transactions, statements, rows,
// WAL, waits for the disk. Counts, not times: they are the same on any machine.

import { openMemoryBus } from "@tessera/engines/memory-bus";
import { openPostgres } from "@tessera/engines/postgres";
import { systemClock, systemIds } from "@tessera/engines/system";
import { type Bus, type Database, type Effect, type Kernel, migrate, openKernel } from "@tessera/kernel";
import { type PostgresServer, startPostgres, waitFor } from "@tessera/testkit";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

const CALLS = 300;
const MEASURE_MS_MAX = 180_000;
const WARM_UP_CALLS = 50;
const PROJECT = "cost";
const SUBJECT = `cg.v1r4.${PROJECT}.public.cmd.tool.echo.run`;
/** Nothing writes or flushes but the calls themselves. */
const SETTINGS = {
  autovacuum: "off",
  checkpoint_timeout: "1h",
  max_wal_size: "4GB",
  wal_writer_delay: "10s",
  wal_writer_flush_after: "1GB",
  bgwriter_lru_maxpages: "0",
};

const READ = `
  select (pg_snapshot_xmax(pg_current_snapshot())::text)::bigint as transactions,
         (pg_current_wal_insert_lsn() - '0/0')::bigint as wal_bytes,
         (select wal_sync from pg_stat_wal) as disk_waits,
         (select coalesce(sum(n_tup_ins + n_tup_upd + n_tup_del), 0)::bigint from pg_stat_user_tables) as rows,
         (select n_tup_upd from pg_stat_user_tables where relname = 'agent_state_head') as head_updates,
         (select n_tup_hot_upd from pg_stat_user_tables where relname = 'agent_state_head') as head_hot_updates,
         (select n_tup_ins from pg_stat_user_tables where relname = 'calls') as calls,
         (select n_tup_upd from pg_stat_user_tables where relname = 'calls') as call_updates,
         (select coalesce(sum(calls), 0)::bigint from pg_stat_statements where query not like '%pg_stat_%') as statements`;

const READ_IDS = `
  select count(*)::int as cards, count(*) filter (where c.id < c.previous)::int as backwards
    from (select left(card_id, length('card_') + 12) as id,
                 lag(left(card_id, length('card_') + 12)) over (partition by box_id order by pos) as previous
            from card.cards where type in ('agent.thought', 'tool.call', 'tool.result')) c`;

type Reading = Record<
  | "transactions"
  | "wal_bytes"
  | "disk_waits"
  | "rows"
  | "head_updates"
  | "head_hot_updates"
  | "calls"
  | "call_updates"
  | "statements",
  number
>;

let server: PostgresServer;
let database: Database;
let reader: Database;
let bus: Bus;
let kernel: Kernel;

beforeAll(async () => {
  server = await startPostgres({ settings: SETTINGS });
  database = await openPostgres({ url: server.url, poolMax: 1 }); // one backend, whose statistics can be asked for
  reader = await openPostgres({ url: server.url, poolMax: 1 });
  await reader.query("create extension if not exists pg_stat_statements");
  await migrate(database);
  bus = await openMemoryBus();
  kernel = openKernel({ database, bus, clock: systemClock, ids: systemIds });
  await kernel.putProject({ project_id: PROJECT });
});

afterAll(async () => {
  await bus?.close();
  await database?.close();
  await reader?.close();
  await server?.stop();
});

/** An agent whose turn makes one call after another. */
class Caller {
  readonly #hold: { project_id: string; agent_id: string; agent_turn_id: string };
  readonly #workerId: string;
  readonly #effect: Effect;
  #epoch: number;

  static async start(effect: Effect): Promise<Caller> {
    const agent_id = systemIds.mint("agent");
    const worker_id = systemIds.mint("worker");
    await kernel.putBox({ project_id: PROJECT, box_id: `${agent_id}_profile` });
    await kernel.putAgent({ project_id: PROJECT, agent_id, worker_target: "w", profile_box_id: `${agent_id}_profile` });
    await kernel.renewWorker({ worker_id, worker_target: "w", lease_ms: 3_600_000 });
    await kernel.enqueueTurn({ project_id: PROJECT, agent_id });
    const started = await kernel.resume({ project_id: PROJECT, agent_id, worker_id });
    if (started.outcome !== "accepted") throw new Error(`not started: ${JSON.stringify(started)}`);
    return new Caller(
      { project_id: PROJECT, agent_id, agent_turn_id: started.agent_turn_id },
      worker_id,
      effect,
      started.turn_epoch,
    );
  }

  private constructor(hold: Caller["hold"], workerId: string, effect: Effect, epoch: number) {
    this.#hold = hold;
    this.#workerId = workerId;
    this.#effect = effect;
    this.#epoch = epoch;
  }

  get hold() {
    return this.#hold;
  }

  async callOnce(): Promise<void> {
    const tool_call_id = systemIds.mint("tc");
    const suspended = await kernel.suspendOnCalls({
      ...this.#hold,
      turn_epoch: this.#epoch,
      step_id: systemIds.mint("step"),
      thought: { content: { text: "I will call echo" } },
      calls: [
        {
          tool_call_id,
          tool_name: "echo__run",
          arguments: { text: "hello world" },
          target_subject: SUBJECT,
          author_id: "tool.echo",
          effect: this.#effect,
        },
      ],
    });
    if (suspended.outcome === "rejected") throw new Error(`suspend: ${suspended.code}`);
    const principal = "tool.echo";
    const ticket = suspended.calls[0]?.ticket ?? "";
    const opened = await kernel.openCall({ project_id: PROJECT, tool_call_id, ticket, executor: "echo-1", principal });
    if (opened.outcome === "rejected") throw new Error(`open: ${opened.code}`);
    const content = { status: "success", result: opened.arguments };
    const reported = await kernel.report({
      project_id: PROJECT,
      tool_call_id,
      capability: opened.capability,
      principal,
      content,
    });
    if (reported.outcome === "rejected") throw new Error(`report: ${reported.code}`);
    const resumed = await kernel.resume({
      project_id: PROJECT,
      agent_id: this.#hold.agent_id,
      worker_id: this.#workerId,
    });
    if (resumed.outcome !== "accepted") throw new Error(`resume: ${JSON.stringify(resumed)}`);
    this.#epoch = resumed.turn_epoch;
  }

  async call(times: number): Promise<void> {
    for (let n = 0; n < times; n += 1) await this.callOnce();
  }
}

/** A backend tells its statistics up to ten seconds late, unless it is asked; then every call made so far is in them. */
async function readWhen(callsMade: number): Promise<Reading> {
  const condition = async () => {
    await database.query("select pg_stat_force_next_flush()");
    const reading = (await reader.query<Reading>(READ))[0];
    const isComplete = reading !== undefined && reading.calls >= callsMade && reading.call_updates >= 3 * callsMade;
    if (!isComplete) throw new Error(`seen so far: ${JSON.stringify(reading)}`);
    return reading;
  };
  return await waitFor(condition, { what: `the statistics of ${callsMade} calls`, intervalMs: 100 });
}

let callsMade = 0;

async function measure(effect: Effect): Promise<Reading> {
  const caller = await Caller.start(effect);
  await caller.call(WARM_UP_CALLS);
  await reader.query("checkpoint");
  await caller.call(WARM_UP_CALLS); // the first touch of a page after a checkpoint logs the whole page
  callsMade += 2 * WARM_UP_CALLS;
  const before = await readWhen(callsMade);
  await caller.call(CALLS);
  callsMade += CALLS;
  const after = await readWhen(callsMade);
  const names = Object.keys(after) as (keyof Reading)[];
  return Object.fromEntries(names.map((name) => [name, (after[name] - before[name]) / CALLS])) as Reading;
}

describe.each(["once", "read"] as const)("a durable call of a `%s` tool", (effect) => {
  let cost: Reading;

  beforeAll(async () => {
    cost = await measure(effect);
    console.log(`per call (${effect}): ${JSON.stringify(cost)}`);
  }, MEASURE_MS_MAX);

  test("takes at most four write transactions", () => {
    expect(cost.transactions).toBeLessThanOrEqual(4);
  });

  test("takes one round trip for each of them", () => {
    expect(cost.statements).toBeLessThanOrEqual(4);
  });

  test(`waits for the disk at most ${effect === "read" ? "three" : "four"} times`, () => {
    // Beside the calls only the WAL writer flushes, once in ten seconds.
    expect(cost.disk_waits).toBeLessThanOrEqual((effect === "read" ? 3 : 4) + 0.05);
    expect(cost.disk_waits).toBeGreaterThan(effect === "read" ? 2.5 : 3.5); // the counter counts
  });

  test("writes at most 11 rows", () => {
    expect(cost.rows).toBeLessThanOrEqual(11);
  });

  test("writes at most 5 kB of WAL", () => {
    expect(cost.wal_bytes).toBeLessThanOrEqual(5_000);
  });

  test("makes cards whose ids ascend, results too, so that their index grows at its end", async () => {
    const [ids] = await reader.query<{ cards: number; backwards: number }>(READ_IDS);
    expect(ids?.cards).toBeGreaterThanOrEqual(3 * CALLS);
    // The two clocks round differently, so a card may be a millisecond before its predecessor, now and then.
    expect(ids?.backwards).toBeLessThan((ids?.cards ?? 0) / 20);
  });

  test("updates the head only in place", () => {
    expect(cost.head_updates).toBeGreaterThanOrEqual(2);
    expect(cost.head_hot_updates).toBe(cost.head_updates);
  });
});
