// The floor: the same round trip as durable-call.ts, written by hand for speed and nothing else. Two processes, three
// statements batched over concurrent turns, core NATS. No leases, fencing, validation, tracing or recovery: what a call
// costs when every promise is left out. Ratios to it are what the benchmarks report.
//
//   node bench/floor.ts --postgres URL --nats URL [--seconds 6] [--concurrency 1,64] [--json]

import { fork } from "node:child_process";
import { once } from "node:events";
import { parseArgs } from "node:util";
import { connect } from "@nats-io/transport-node";
import pg from "pg";
import { figureOf, repeat } from "./measure.ts";

const { values: flags } = parseArgs({
  options: {
    postgres: { type: "string" },
    nats: { type: "string" },
    seconds: { type: "string", default: "6" },
    concurrency: { type: "string", default: "1,64" },
    json: { type: "boolean", default: false },
    role: { type: "string", default: "agent" },
  },
});

const AGENTS = 4_096;
const BODY = JSON.stringify({ tool: "echo", args: { text: "hello world" } });
const RESULT = JSON.stringify({ ok: true, text: "hello world" });

const SCHEMA = `
  drop schema if exists floor cascade; create schema floor;
  create table floor.cards (id bigint primary key, agent bigint not null, kind text not null, body jsonb not null, at timestamptz not null default now());
  create table floor.waits (call bigint primary key, agent bigint not null, epoch int not null);
  create table floor.outbox (call bigint primary key, subject text not null);
  create table floor.inbox (id bigint primary key, agent bigint not null, call bigint not null unique, status text not null default 'pending');
  create table floor.turns (agent bigint primary key, epoch int not null default 1, steps bigint not null default 0) with (fillfactor = 50);
  insert into floor.turns (agent) select n from generate_series(0, ${AGENTS - 1}) n;`;

const STATEMENTS = {
  call: `with d as (select * from unnest($1::bigint[], $2::bigint[], $3::jsonb[]) t(id, agent, body)),
              c as (insert into floor.cards (id, agent, kind, body) select id, agent, 'tool.call', body from d),
              w as (insert into floor.waits (call, agent, epoch) select id, agent, 1 from d)
         insert into floor.outbox (call, subject) select id, 'echo' from d`,
  read: "select id, agent, body from floor.cards where id = any ($1::bigint[])",
  answer: `with d as (select * from unnest($1::bigint[], $2::bigint[], $3::jsonb[], $4::bigint[]) t(id, agent, body, call)),
                c as (insert into floor.cards (id, agent, kind, body) select id, agent, 'tool.result', body from d),
                o as (delete from floor.outbox using d where outbox.call = d.call)
           insert into floor.inbox (id, agent, call) select id, agent, call from d on conflict do nothing`,
  apply: `with d as (select * from unnest($1::bigint[], $2::bigint[]) t(agent, call)),
               i as (update floor.inbox set status = 'done' from d where inbox.call = d.call and inbox.agent = d.agent and status = 'pending' returning inbox.id, inbox.call),
               w as (delete from floor.waits using i where waits.call = i.call returning waits.agent, waits.epoch),
               t as (update floor.turns set steps = steps + g.n from (select agent, epoch, count(*) n from w group by 1, 2) g where turns.agent = g.agent and turns.epoch = g.epoch)
          select i.call, c.body from i join floor.cards c on c.id = i.id`,
};

const pool = new pg.Pool({ connectionString: flags.postgres, max: 4 });
const nats = await connect({ servers: flags.nats ?? "", noEcho: true });
const run = (name: keyof typeof STATEMENTS, values: unknown[]) => pool.query({ name, text: STATEMENTS[name], values });

/** Natural batching: items gather while two batches are in flight. */
function batched<Item, Answer>(flush: (items: Item[]) => Promise<Answer[]>): (item: Item) => Promise<Answer> {
  let waiting: { item: Item; resolve: (answer: Answer) => void; reject: (error: unknown) => void }[] = [];
  let inFlight = 0;
  const go = (): void => {
    if (waiting.length === 0 || inFlight >= 2) return;
    const batch = waiting;
    waiting = [];
    inFlight += 1;
    flush(batch.map((entry) => entry.item))
      .then(
        (answers) => {
          for (const [n, entry] of batch.entries()) entry.resolve(answers[n] as Answer);
        },
        (error: unknown) => {
          for (const entry of batch) entry.reject(error);
        },
      )
      .finally(() => {
        inFlight -= 1;
        go();
      });
  };
  return (item) =>
    new Promise((resolve, reject) => {
      waiting.push({ item, resolve, reject });
      if (waiting.length === 1) setImmediate(go);
    });
}

async function runExecutor(): Promise<void> {
  const read = batched<number, { agent: string }>(async (ids) => {
    const rows = new Map((await run("read", [ids])).rows.map((row) => [Number(row.id), row]));
    return ids.map((id) => rows.get(id));
  });
  const answer = batched<{ call: number; agent: number }, void>(async (items) => {
    const calls = items.map((item) => item.call);
    await run("answer", [
      calls.map((call) => call + 1),
      items.map((item) => item.agent),
      items.map(() => RESULT),
      calls,
    ]);
    nats.publish("floor.wake", calls.join());
    return [];
  });
  nats.subscribe("floor.call", {
    queue: "floor",
    callback: (_error, message) => {
      for (const call of message.string().split(",").map(Number)) {
        void read(call).then((card) => answer({ call, agent: Number(card.agent) }));
      }
    },
  });
  await nats.flush();
  process.send?.("ready");
}

async function runAgent(): Promise<void> {
  await pool.query(SCHEMA);
  const woken = new Map<number, () => void>();
  nats.subscribe("floor.wake", {
    callback: (_error, message) => {
      for (const call of message.string().split(",").map(Number)) {
        woken.get(call)?.();
        woken.delete(call);
      }
    },
  });
  const child = fork(import.meta.filename, [...process.argv.slice(2), "--role", "executor"], {
    stdio: ["ignore", "inherit", "inherit", "ipc"],
  });
  await once(child, "message");
  const call = batched<{ id: number; agent: number }, void>(async (items) => {
    const ids = items.map((item) => item.id);
    await run("call", [ids, items.map((item) => item.agent), items.map(() => BODY)]);
    nats.publish("floor.call", ids.join());
    return [];
  });
  const apply = batched<{ id: number; agent: number }, unknown>(async (items) => {
    const rows = new Map(
      (await run("apply", [items.map((item) => item.agent), items.map((item) => item.id)])).rows.map((row) => [
        Number(row.call),
        row.body,
      ]),
    );
    return items.map((item) => rows.get(item.id));
  });
  let last = 0;
  const lane = async (): Promise<number> => {
    const began = performance.now();
    last += 2;
    const item = { id: last, agent: (last / 2) % AGENTS };
    const wake = new Promise<void>((resolve) => woken.set(item.id, resolve));
    await call(item);
    await wake;
    if ((await apply(item)) === undefined) throw new Error(`call ${item.id} was lost`);
    return performance.now() - began;
  };
  const figures = [];
  for (const concurrency of flags.concurrency.split(",").map(Number)) {
    const lanes = Array.from({ length: concurrency }, () => lane);
    await repeat(lanes, 1_000, (each) => each());
    const began = performance.now();
    const latencies = await repeat(lanes, Number(flags.seconds) * 1_000, (each) => each());
    figures.push({ name: "floor postgres + nats", concurrency, ...figureOf(latencies, performance.now() - began) });
  }
  console.log(flags.json ? JSON.stringify(figures) : figures);
  child.kill();
  await nats.close();
  await pool.end();
}

await (flags.role === "executor" ? runExecutor() : runAgent());
