// PostgreSQL behind the `Database` port, on `pg`: a small pool, one statement at a time per connection.
//
// `pg` 8.23 can pipeline (`pipeline: true` sends statements without waiting for answers), but a pooled connection has
// one user at a time, and sharing it lets one statement that waits for a lock hold up all behind it, and one cut make
// more outcomes unknown. Measured on two cores: no gain with the 3 batches that the kernel keeps in flight, about a
// quarter at 64 callers on 10 connections. So it is not used.
//
//   G1. A statement text is prepared once per connection, under a name; beyond STATEMENTS_MAX texts run unnamed.
//   G2. A connection on which anything but a plain SQL error happened is thrown away, never pooled again.
//   G3. No 'error' event of a client can end the process.
//   G4. `query` repeats only what surely did not happen: retryable errors and stale plans, RETRIES_MAX times.
//       Inside `transaction` nothing is repeated, because the work around the statement would have to be, too.
//   G5. A peer that went silent is noticed: every `query` has a deadline on the server and a later one here.
//   G6. `close` says goodbye and does not wait for ever: a silent peer never hangs up.
//   G7. A statement waits for a lock for LOCK_TIMEOUT_MS, an impatient one for IMPATIENT_LOCK_MS; a script and a transaction, which may
//       be a migration, for longer. Impatient statements have connections of their own, few and only while they are needed, so
//       that locked rows cost the others none.

import { setTimeout as delay } from "node:timers/promises";
import { type Database, DatabaseError, type Row, type Statements } from "@tessera/kernel/ports";
import pg from "pg";
import { isStalePlan, toDatabaseError } from "./sqlstate.ts";
import { leftTransactionOpen, runTransaction, type StatementRunner } from "./transaction-scope.ts";
import { decoderOf, encodeValues, VALUE_SETTINGS, type WireValue } from "./values.ts";

export interface PostgresOptions {
  readonly url: string;
  /** Connections at most. */
  readonly poolMax?: number;
  readonly applicationName?: string;
  /** Deadline of one `query`; scripts and transactions have none. */
  readonly statementTimeoutMs?: number;
  /** Of one `query` (G7). */
  readonly lockTimeoutMs?: number;
  /** Hears about connections that broke and statements that were repeated. */
  readonly onWarning?: (message: string, cause: unknown) => void;
}

const POOL_MAX = 10;
const STATEMENTS_MAX = 512;
const RETRIES_MAX = 5;
const RETRY_DELAY_MS = 20;
const CONNECT_TIMEOUT_MS = 10_000;
const STATEMENT_TIMEOUT_MS = 30_000;
/** More than the deadlock_timeout of PostgreSQL (1 s): a deadlock is found as one and repeated, not reported as a locked row. */
const LOCK_TIMEOUT_MS = 1_500;
const IMPATIENT_LOCK_MS = 50;
const IMPATIENT_POOL_MAX = 2;
/** Two that migrate at once wait for one another. */
const TRANSACTION_LOCK_TIMEOUT_MS = 10_000;
const IDLE_IN_TRANSACTION_MS = 60_000;
const IDLE_CONNECTION_MS = 30_000;
const KEEP_ALIVE_MS = 10_000;
/** The server should be the first to give up, because then the outcome is known (G5). */
const SILENCE_MARGIN_MS = 5_000;
/** Of a goodbye (G6). */
const GOODBYE_MS_MAX = 2_000;
const SERVER_VERSION_MIN = 150_000;

export async function openPostgres(options: PostgresOptions): Promise<Database> {
  const database = new PostgresDatabase(options);
  try {
    await database.checkServer();
  } catch (error) {
    await database.close();
    throw error;
  }
  return database;
}

class PostgresDatabase implements Database {
  readonly capabilities = { engine: "postgres", batchesInFlight: 2, roles: true } as const;
  readonly impatient: Pick<Statements, "query"> = {
    query: (text, values = []) => this.#track(() => this.#query(this.#impatientPool, text, values)),
  };
  readonly #pool: pg.Pool;
  readonly #impatientPool: pg.Pool;
  readonly #statementTimeoutMs: number;
  readonly #lockTimeoutMs: number;
  readonly #warn: (message: string, cause: unknown) => void;
  readonly #names = new Map<string, string>();
  readonly #open = new Set<pg.ClientBase>();
  readonly #running = new Set<Promise<unknown>>();
  #closed: Promise<void> | null = null;

  constructor(options: PostgresOptions) {
    this.#statementTimeoutMs = milliseconds(options.statementTimeoutMs ?? STATEMENT_TIMEOUT_MS);
    this.#lockTimeoutMs = milliseconds(options.lockTimeoutMs ?? LOCK_TIMEOUT_MS);
    this.#warn = options.onWarning ?? (() => {});
    const { poolMax = POOL_MAX } = options;
    this.#pool = this.#newPool(options, { max: poolMax, lockTimeoutMs: this.#lockTimeoutMs });
    this.#impatientPool = this.#newPool(options, {
      max: Math.min(poolMax, IMPATIENT_POOL_MAX),
      lockTimeoutMs: IMPATIENT_LOCK_MS,
    });
  }

  #newPool(
    { url, applicationName = "tessera" }: PostgresOptions,
    { max, lockTimeoutMs }: { readonly max: number; readonly lockTimeoutMs: number },
  ): pg.Pool {
    const settings = [
      VALUE_SETTINGS,
      `set statement_timeout = ${this.#statementTimeoutMs}`,
      `set lock_timeout = ${lockTimeoutMs}`,
      `set idle_in_transaction_session_timeout = ${IDLE_IN_TRANSACTION_MS}`,
      "set jit = off",
    ].join("; ");
    const pool = new pg.Pool({
      connectionString: url,
      max,
      application_name: applicationName,
      connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
      idleTimeoutMillis: IDLE_CONNECTION_MS,
      keepAlive: true,
      keepAliveInitialDelayMillis: KEEP_ALIVE_MS,
      types: { getTypeParser: decoderOf as pg.CustomTypesConfig["getTypeParser"] },
      onConnect: async (client) => {
        client.on("error", (error) => this.#warn("a connection to PostgreSQL broke", error)); // G3
        this.#open.add(client);
        client.once("end", () => this.#open.delete(client));
        await client.query({ text: settings, query_timeout: CONNECT_TIMEOUT_MS } as pg.QueryConfig); // G5
      },
    });
    pool.on("error", () => {}); // G3; the client's own listener has warned already
    return pool;
  }

  /** Connects once, so that a wrong address or an old server is found at the start. */
  async checkServer(): Promise<void> {
    const rows = await this.query("select current_setting('server_version_num')::int4 as version");
    const version = Number(rows[0]?.version);
    if (version >= SERVER_VERSION_MIN) return;
    throw new DatabaseError("statement", `PostgreSQL 15 or newer is needed, the server is ${version}; upgrade it`);
  }

  query<R extends Row = Row>(text: string, values: readonly unknown[] = []): Promise<R[]> {
    return this.#track(() => this.#query<R>(this.#pool, text, values));
  }

  script(text: string): Promise<void> {
    return this.#track(() => this.#script(text));
  }

  transaction<T>(work: (tx: Statements) => Promise<T>): Promise<T> {
    return this.#track(() => this.#transaction(work));
  }

  close(): Promise<void> {
    this.#closed ??= this.#end();
    return this.#closed;
  }

  async #query<R extends Row>(pool: pg.Pool, text: string, values: readonly unknown[]): Promise<R[]> {
    const statement = { text, values: encodeValues(values), timeoutMs: this.#statementTimeoutMs };
    for (let attempt = 1; ; attempt++) {
      const client = await connect(pool);
      try {
        const rows = await run(client, { ...statement, name: this.#nameOf(text) });
        assertNoTransaction(client);
        client.release();
        return rows as R[];
      } catch (cause) {
        const error = toDatabaseError(cause, "sent", "statement failed");
        const isStale = isStalePlan(cause);
        client.release(isStale || error.sqlstate === null || error.kind === "connection_lost"); // G2
        if (attempt > RETRIES_MAX || !(isStale || error.kind === "retryable")) throw error; // G4
        this.#warn(`a statement is repeated (attempt ${attempt + 1})`, error);
        await delay(Math.random() * RETRY_DELAY_MS * attempt);
      }
    }
  }

  async #script(text: string): Promise<void> {
    await this.#withClient(async (client) => {
      await sent(client.query(`set statement_timeout = 0; set lock_timeout = ${TRANSACTION_LOCK_TIMEOUT_MS}`)); // G7
      await sent(client.query(text)); // the simple protocol: the whole text is one implicit transaction
      assertNoTransaction(client);
      await sent(
        client.query(`set statement_timeout = ${this.#statementTimeoutMs}; set lock_timeout = ${this.#lockTimeoutMs}`),
      );
    });
  }

  async #transaction<T>(work: (tx: Statements) => Promise<T>): Promise<T> {
    return await this.#withClient(async (client) => {
      await sent(
        client.query(`begin; set local statement_timeout = 0; set local lock_timeout = ${TRANSACTION_LOCK_TIMEOUT_MS}`),
      );
      const runner: StatementRunner = {
        query: (text, values) => sent(run(client, { text, values: encodeValues(values) })),
        script: async (text) => void (await sent(client.query(text))),
      };
      const finish = {
        commit: async () => (await sent(client.query("commit"))).command,
        // If this fails, the connection is gone and the server rolls back; the error of the work says more.
        rollback: async () => void (await client.query("rollback").catch((error) => this.#warn("no rollback", error))),
      };
      return await runTransaction(runner, finish, work);
    });
  }

  /** The pool would forget those who still wait for a connection, and its clients before their sockets are closed. */
  async #end(): Promise<void> {
    await Promise.allSettled(this.#running);
    await Promise.all([this.#pool.end(), this.#impatientPool.end()]);
    await Promise.all([...this.#open].map(hungUp));
  }

  async #track<T>(call: () => Promise<T>): Promise<T> {
    if (this.#closed !== null) throw new DatabaseError("statement", "this database handle is closed");
    const running = call();
    this.#running.add(running);
    try {
      return await running;
    } finally {
      this.#running.delete(running);
    }
  }

  /** For scripts and transactions. They fail rarely, so a failed one always costs its connection (G2). */
  async #withClient<T>(work: (client: pg.PoolClient) => Promise<T>): Promise<T> {
    const client = await connect(this.#pool);
    let isDone = false;
    try {
      const result = await work(client);
      isDone = true;
      return result;
    } finally {
      client.release(!isDone);
    }
  }

  /** G1 */
  #nameOf(text: string): string | undefined {
    const known = this.#names.get(text);
    if (known !== undefined) return known;
    if (this.#names.size >= STATEMENTS_MAX) return undefined;
    const name = `t${this.#names.size}`;
    this.#names.set(text, name);
    return name;
  }
}

async function connect(pool: pg.Pool): Promise<pg.PoolClient> {
  try {
    return await pool.connect();
  } catch (error) {
    throw toDatabaseError(error, "connecting", "cannot connect to PostgreSQL");
  }
}

/** G6 */
async function hungUp(client: pg.ClientBase): Promise<void> {
  const ended = new Promise<void>((resolve) => client.once("end", resolve));
  const late = setTimeout(() => (client as pg.Client).connection.stream.destroy(), GOODBYE_MS_MAX);
  await ended;
  clearTimeout(late);
}

interface Statement {
  readonly text: string;
  readonly values: WireValue[];
  readonly name?: string | undefined;
  readonly timeoutMs?: number;
}

async function run(client: pg.PoolClient, { text, values, name, timeoutMs }: Statement): Promise<Row[]> {
  const config = {
    text,
    values,
    queryMode: "extended", // one statement, even without values
    ...(name === undefined ? {} : { name }),
    ...(timeoutMs ? { query_timeout: timeoutMs + SILENCE_MARGIN_MS } : {}),
  };
  return (await client.query<Row, unknown[]>(config)).rows;
}

/** A connection with an open transaction must not go back to the pool: the next statement would fall into it. */
function assertNoTransaction(client: pg.PoolClient): void {
  if (client.getTransactionStatus() !== "I") throw leftTransactionOpen();
}

async function sent<T>(answer: Promise<T>): Promise<T> {
  try {
    return await answer;
  } catch (error) {
    throw toDatabaseError(error, "sent", "statement failed");
  }
}

function milliseconds(value: number): number {
  if (Number.isInteger(value) && value >= 0) return value;
  throw new DatabaseError("statement", `a timeout must be a whole number of milliseconds, not ${value}`);
}
