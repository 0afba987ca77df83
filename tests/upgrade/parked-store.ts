// Stores that an earlier build wrote and left with work parked in every way, as files of this repository.
//
// stores/NAME-pglite.tar.br is the data directory of an embedded store right after its process was killed;
// stores/NAME-postgres.sql.br is what pg_dump says of a PostgreSQL database then; stores/NAME-ENGINE.json names the turns
// and holds the ledger of the tools. NAME is the build's commit. `node tests/upgrade/write-stores.ts NAME` writes them.
//
//   U1. A store is kept as it was written. What a build makes of it happens in a copy.
//   U2. Time has passed since: leases have lapsed and everything is due. So that deadlines do not end it all, those of the
//       copy are moved by the time since it was written; the one of the turn `late` has passed.

import { execFileSync } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { brotliCompressSync, brotliDecompressSync, constants } from "node:zlib";
import type { Database } from "@tessera/kernel/ports";
import type { TestEngine } from "@tessera/testkit";

export const PROJECT = "parked";
export const BUNDLE = join(import.meta.dirname, "bundle");
const STORES = join(import.meta.dirname, "stores");

export interface ParkOrder {
  readonly data?: string;
  readonly postgres?: string;
  readonly bundle: string;
  /** The part of the bundle that has an executor: the tool `busy`. */
  readonly served: string;
}

export interface ParkedTurns {
  /** Ended, in this order. */
  readonly history: readonly string[];
  /** Waits for `away`, which nothing serves. */
  readonly remote: string;
  /** Behind `remote`, of the same instance. */
  readonly queued: string;
  /** U2 */
  readonly late: string;
  /** Its calls were claimed by a service that died while they ran. */
  readonly claimed: string;
  /** The worker died while it ran its calls, inline and in a child process. */
  readonly local: string;
  readonly boxed: string;
  /** One call answered, one cut off in the worker, one waiting for `away`. */
  readonly mixed: string;
  /** Two children that wait for `away`. */
  readonly forker: string;
}

export interface ParkedStore {
  readonly name: string;
  readonly engine: TestEngine;
  readonly writtenAt: string;
  readonly turns: ParkedTurns;
  /** What the tools had done when they were killed, as lines of `ledger.jsonl`. */
  readonly ledger: string;
}

export function parkedStores(): ParkedStore[] {
  return readdirSync(STORES)
    .filter((file) => file.endsWith(".json"))
    .map((file) => JSON.parse(readFileSync(join(STORES, file), "utf8")) as ParkedStore);
}

const contentFile = ({ name, engine }: Pick<ParkedStore, "name" | "engine">) =>
  join(STORES, `${name}-${engine}.${engine === "pglite" ? "tar" : "sql"}.br`);

export function saveStore(store: ParkedStore, content: Buffer): void {
  const params = {
    [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY,
    [constants.BROTLI_PARAM_LGWIN]: constants.BROTLI_MAX_WINDOW_BITS,
    [constants.BROTLI_PARAM_SIZE_HINT]: content.length,
  };
  writeFileSync(contentFile(store), brotliCompressSync(content, { params }));
  writeFileSync(join(STORES, `${store.name}-${store.engine}.json`), `${JSON.stringify(store, null, 2)}\n`);
}

/** U1. The directory `data` becomes what the killed process left. */
export function unpackDirectory(store: ParkedStore, data: string): void {
  mkdirSync(data, { recursive: true, mode: 0o700 });
  execFileSync("tar", ["-xf", "-", "-C", data], { input: contentOf(store) });
}

export function packDirectory(data: string): Buffer {
  return execFileSync("tar", ["-cf", "-", "-C", data, "store"], { maxBuffer: 1 << 30 });
}

/** The statements that make an empty database with the roles of deploy/roles.sql into the store. */
export function contentOf(store: Pick<ParkedStore, "name" | "engine">): Buffer {
  return brotliDecompressSync(readFileSync(contentFile(store)));
}

/** U2. It reads the catalog: the columns are those of the build that wrote the store. */
export async function moveToNow(database: Database, store: ParkedStore): Promise<void> {
  const seconds = (Date.now() - Date.parse(store.writtenAt)) / 1_000;
  const columns = await database.query<{ name: string; column_name: string }>(`
    select c.table_schema || '.' || c.table_name as name, c.column_name
      from information_schema.columns c
      join information_schema.tables t using (table_schema, table_name)
     where t.table_type = 'BASE TABLE' and c.table_schema = 'state'
       and c.column_name in ('deadline_at', 'resume_deadline')`);
  for (const { name, column_name: column } of columns) {
    await database.query(`update ${name} set ${column} = ${column} + make_interval(secs => $1)`, [seconds]);
  }
  const LATE = "update state.calls set deadline_at = $1::timestamptz where agent_turn_id = $2";
  await database.query(LATE, [store.writtenAt, store.turns.late]);
}
