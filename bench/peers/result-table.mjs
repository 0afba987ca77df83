// For queues that keep no results: a table of the caller's own, and LISTEN/NOTIFY to hear of them.

import pg from "pg";
import { needed } from "../programs/program.ts";

const CONNECTIONS = 32;

export function openPool(max = CONNECTIONS) {
  return new pg.Pool({ connectionString: needed("postgres"), max });
}

/** The worker's part: the result is written and announced in one statement. */
export async function writeResult(pool, id, result) {
  await pool.query({
    name: "write",
    text: "with r as (insert into result (id, body) values ($1, $2)) select pg_notify('done', $1::text)",
    values: [id, JSON.stringify(result)],
  });
}

/** The caller's part: `call(send)` sends a job under a new id, waits for its result and applies it once. */
export async function openResults(pool) {
  await pool.query(
    "create table result (id bigint primary key, body jsonb not null, applied bool not null default false)",
  );
  const waiting = new Map();
  const listener = new pg.Client({ connectionString: needed("postgres") });
  await listener.connect();
  listener.on("notification", ({ payload }) => {
    waiting.get(payload)?.();
    waiting.delete(payload);
  });
  await listener.query("listen done");
  let last = 0;
  return async function call(send) {
    last += 1;
    const id = String(last);
    const done = new Promise((resolve) => waiting.set(id, resolve));
    await send(id);
    await done;
    const { rowCount } = await pool.query({
      name: "apply",
      text: "update result set applied = true where id = $1 and not applied returning body",
      values: [id],
    });
    if (rowCount !== 1) throw new Error(`result ${id} was lost`);
  };
}
