// The statements of the floor: what a durable call needs when every promise is left out. No leases, fencing, validation,
// tracing or recovery; numbers for ids; three write transactions. The same on PostgreSQL and on PGlite.

export const FLOOR_AGENTS = 4_096;
export const FLOOR_CALL = JSON.stringify({ tool: "echo", args: { text: "hello world" } });
export const FLOOR_RESULT = JSON.stringify({ ok: true, text: "hello world" });

export const FLOOR_SCHEMA = `
  create schema floor;
  create table floor.cards (id bigint primary key, agent bigint not null, kind text not null, body jsonb not null, at timestamptz not null default now());
  create table floor.waits (call bigint primary key, agent bigint not null, epoch int not null);
  create table floor.outbox (call bigint primary key, subject text not null);
  create table floor.inbox (id bigint primary key, agent bigint not null, call bigint not null unique, status text not null default 'pending');
  create table floor.turns (agent bigint primary key, epoch int not null default 1, steps bigint not null default 0) with (fillfactor = 50);
  insert into floor.turns (agent) select n from generate_series(0, ${FLOOR_AGENTS - 1}) n;`;

/** Of many calls at once; every parameter is an array. */
export const BATCHED = {
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
} as const;

/** Of one call. */
export const SINGLE = {
  call: `with c as (insert into floor.cards (id, agent, kind, body) values ($1, $2, 'tool.call', $3)),
              w as (insert into floor.waits (call, agent, epoch) values ($1, $2, 1))
         insert into floor.outbox (call, subject) values ($1, 'echo')`,
  read: "select id, agent, body from floor.cards where id = $1",
  answer: `with c as (insert into floor.cards (id, agent, kind, body) values ($1, $2, 'tool.result', $3)),
                o as (delete from floor.outbox where call = $4)
           insert into floor.inbox (id, agent, call) values ($1, $2, $4) on conflict do nothing`,
  apply: `with i as (update floor.inbox set status = 'done' where call = $2 and agent = $1 and status = 'pending' returning id, call),
               w as (delete from floor.waits using i where waits.call = i.call returning waits.epoch),
               t as (update floor.turns set steps = steps + 1 from w where agent = $1 and turns.epoch = w.epoch)
          select i.call, c.body from i join floor.cards c on c.id = i.id`,
} as const;
