// The floor: the same round trip as durable-call.ts, written directly for speed and nothing else (floor-statements.ts). Two
// processes, statements batched over concurrent turns, core NATS. Ratios to it are what the benchmarks report.

import { connect } from "@nats-io/transport-node";
import pg from "pg";
import type { Figures } from "../statistics.ts";
import { startCpuMeter } from "./cpu-per-call.ts";
import { BATCHED, FLOOR_AGENTS, FLOOR_CALL, FLOOR_RESULT, FLOOR_SCHEMA } from "./floor-statements.ts";
import { lanesOf, loadFigures, measureLoad, WARM_LANES, warmUp } from "./load.ts";
import { naturalBatch } from "./natural-batch.ts";
import { answerQuestions, concurrencies, needed, role, seconds, startSecond, tell } from "./program.ts";

const CONNECTIONS = 4;
const BATCHES_IN_FLIGHT = 2;

interface Item {
  readonly call: number;
  readonly agent: number;
}

/** Rows are found by their keys however many there are: planned on empty tables, `apply` read all of them from then on. */
const BY_KEY = ["enable_seqscan", "enable_hashjoin", "enable_mergejoin"].map((name) => `-c ${name}=off`).join(" ");
const pool = new pg.Pool({ connectionString: needed("postgres"), max: CONNECTIONS, options: BY_KEY });
const nats = await connect({ servers: needed("nats"), noEcho: true });
const run = async (name: keyof typeof BATCHED, values: unknown[]) =>
  (await pool.query({ name, text: BATCHED[name], values })).rows as Record<string, unknown>[];
const callsOf = (items: readonly Item[]) => items.map((item) => item.call);
const agentsOf = (items: readonly Item[]) => items.map((item) => item.agent);

async function runExecutor(): Promise<void> {
  const read = naturalBatch<number, Item>(BATCHES_IN_FLIGHT, async (calls) => {
    const rows = new Map((await run("read", [calls])).map((row) => [Number(row.id), Number(row.agent)]));
    return calls.map((call) => ({ call, agent: rows.get(call) ?? -1 }));
  });
  const answer = naturalBatch<Item, void>(BATCHES_IN_FLIGHT, async (items) => {
    const calls = callsOf(items);
    await run("answer", [calls.map((call) => call + 1), agentsOf(items), items.map(() => FLOOR_RESULT), calls]);
    nats.publish("floor.wake", calls.join());
    return [];
  });
  nats.subscribe("floor.call", {
    queue: "floor",
    callback: (_error, message) => {
      for (const call of message.string().split(",").map(Number)) void read(call).then(answer);
    },
  });
  await nats.flush();
  answerQuestions();
}

async function runAgent(): Promise<void> {
  await pool.query(FLOOR_SCHEMA);
  const woken = new Map<number, () => void>();
  nats.subscribe("floor.wake", {
    callback: (_error, message) => {
      for (const call of message.string().split(",").map(Number)) {
        woken.get(call)?.();
        woken.delete(call);
      }
    },
  });
  const executor = await startSecond("executor");
  const persist = naturalBatch<Item, void>(BATCHES_IN_FLIGHT, async (items) => {
    const calls = callsOf(items);
    await run("call", [calls, agentsOf(items), items.map(() => FLOOR_CALL)]);
    nats.publish("floor.call", calls.join());
    return [];
  });
  const apply = naturalBatch<Item, unknown>(BATCHES_IN_FLIGHT, async (items) => {
    const rows = new Map(
      (await run("apply", [agentsOf(items), callsOf(items)])).map((row) => [Number(row.call), row.body]),
    );
    return items.map((item) => rows.get(item.call));
  });
  let last = 0;
  const call = async (): Promise<void> => {
    last += 2;
    const item = { call: last, agent: (last / 2) % FLOOR_AGENTS };
    const wake = new Promise<void>((resolve) => woken.set(item.call, resolve));
    await persist(item);
    await wake;
    if ((await apply(item)) === undefined) throw new Error(`call ${item.call} was lost`);
  };
  await warmUp(lanesOf(WARM_LANES), seconds, call);
  let figures: Figures = {};
  for (const concurrency of concurrencies) {
    const prefix = `c${concurrency}_`;
    const meter = await startCpuMeter("agent", "tool", executor);
    const before = last;
    const load = loadFigures(prefix, await measureLoad(lanesOf(concurrency), seconds, call));
    figures = { ...figures, ...load, ...(await meter.perCall(prefix, (last - before) / 2)) };
  }
  tell(figures);
  executor.end();
  await nats.close();
  await pool.end();
}

await (role === "executor" ? runExecutor() : runAgent());
