// The floor on PGlite, in one process: at concurrency 1 three transactions and a read per call, above it the same statements
// batched over concurrent turns. With --disk in a directory, else in memory.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PGlite } from "@electric-sql/pglite";
import type { Figures } from "../statistics.ts";
import { BATCHED, FLOOR_AGENTS, FLOOR_CALL, FLOOR_RESULT, FLOOR_SCHEMA, SINGLE } from "./floor-statements.ts";
import { lanesOf, loadFigures, measureLoad, WARM_LANES, warmUp } from "./load.ts";
import { naturalBatch } from "./natural-batch.ts";
import { concurrencies, flags, seconds, tell } from "./program.ts";

interface Item {
  readonly call: number;
  readonly agent: number;
}

const directory = flags.disk ? mkdtempSync(join(tmpdir(), "tessera-bench-")) : undefined;
const database = await PGlite.create(directory);
await database.exec(FLOOR_SCHEMA);

async function callAlone({ call, agent }: Item): Promise<void> {
  await database.query(SINGLE.call, [call, agent, FLOOR_CALL]);
  await database.query(SINGLE.read, [call]);
  await database.query(SINGLE.answer, [call + 1, agent, FLOOR_RESULT, call]);
  const { rows } = await database.query(SINGLE.apply, [agent, call]);
  if (rows.length !== 1) throw new Error(`call ${call} was lost`);
}

const callsOf = (items: readonly Item[]) => items.map((item) => item.call);
const agentsOf = (items: readonly Item[]) => items.map((item) => item.agent);
const persist = naturalBatch<Item, void>(1, async (items) => {
  await database.query(BATCHED.call, [callsOf(items), agentsOf(items), items.map(() => FLOOR_CALL)]);
  return [];
});
const read = naturalBatch<Item, void>(1, async (items) => {
  await database.query(BATCHED.read, [callsOf(items)]);
  return [];
});
const answer = naturalBatch<Item, void>(1, async (items) => {
  const calls = callsOf(items);
  const results = items.map(() => FLOOR_RESULT);
  await database.query(BATCHED.answer, [calls.map((call) => call + 1), agentsOf(items), results, calls]);
  return [];
});
const apply = naturalBatch<Item, boolean>(1, async (items) => {
  const { rows } = await database.query<{ call: number }>(BATCHED.apply, [agentsOf(items), callsOf(items)]);
  const applied = new Set(rows.map((row) => Number(row.call)));
  return items.map((item) => applied.has(item.call));
});

async function callBatched(item: Item): Promise<void> {
  await persist(item);
  await read(item);
  await answer(item);
  if (!(await apply(item))) throw new Error(`call ${item.call} was lost`);
}

let last = 0;
const next = (): Item => {
  last += 2;
  return { call: last, agent: (last / 2) % FLOOR_AGENTS };
};
await warmUp(lanesOf(WARM_LANES), seconds, () => callBatched(next()));
let figures: Figures = {};
for (const concurrency of concurrencies) {
  const once = concurrency === 1 ? callAlone : callBatched;
  const load = await measureLoad(lanesOf(concurrency), seconds, () => once(next()));
  figures = { ...figures, ...loadFigures(`c${concurrency}_`, load) };
}
tell(figures);
await database.close();
if (directory !== undefined) rmSync(directory, { recursive: true, force: true });
