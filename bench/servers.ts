// The servers of a run: started when the first program needs them, stopped at the end, on loopback and in directories of
// their own.
//
//   V1. Every program gets an empty database and an empty broker: no program pays for another's bloat, or hears its messages.
//   V2. PostgreSQL is durable: fsync and synchronous_commit are on.

import { openPostgres } from "@tessera/engines/postgres";
import { type NatsServer, startNats } from "@tessera/testkit/nats-server";
import { type PostgresServer, startPostgres } from "@tessera/testkit/postgres-server";
import type { ServerName } from "./work.ts";

/** Big enough that no checkpoint falls into a measurement. */
const POSTGRES_SETTINGS = { shared_buffers: "256MB", max_wal_size: "4GB", checkpoint_timeout: "30min" };

/** A server of one program: started for it, and stopped behind it. */
export interface OwnServer {
  readonly url: string;
  stop(): Promise<void>;
}

export type StartServer = () => Promise<OwnServer>;

export class Servers {
  readonly #others: Partial<Record<ServerName, StartServer>>;
  #postgres: PostgresServer | null = null;
  #nats: NatsServer | null = null;
  #databases = 0;

  /** How servers besides PostgreSQL and NATS are started. */
  constructor(others: Partial<Record<ServerName, StartServer>> = {}) {
    this.#others = others;
  }

  /** Flags with the addresses of what a program needs, for as long as `use` runs. */
  async with<T>(needs: readonly ServerName[], use: (flags: readonly string[]) => Promise<T>): Promise<T> {
    const flags: string[] = [];
    const own: OwnServer[] = [];
    try {
      for (const name of needs) {
        if (name === "postgres")
          flags.push("--postgres", await this.#emptyDatabase(), ...pidFlag(name, this.#postgres));
        else if (name === "nats") flags.push("--nats", await this.#emptyBroker(), ...pidFlag(name, this.#nats));
        else {
          const start = this.#others[name];
          if (start === undefined) throw new Error(`nothing here starts ${name}`);
          const server = await start();
          own.push(server);
          flags.push(`--${name}`, server.url);
        }
      }
      return await use(flags);
    } finally {
      for (const server of own) await server.stop();
    }
  }

  async stop(): Promise<void> {
    await this.#nats?.stop();
    await this.#postgres?.stop();
  }

  async #emptyDatabase(): Promise<string> {
    this.#postgres ??= await startPostgres({ settings: POSTGRES_SETTINGS }); // V2: the server's defaults are durable
    const name = `bench_${++this.#databases}`;
    const database = await openPostgres({ url: this.#postgres.url, poolMax: 1 });
    if (this.#databases > 1) await database.query(`drop database if exists bench_${this.#databases - 1} with (force)`);
    await database.query(`create database ${name}`);
    await database.query("checkpoint");
    await database.close();
    const url = new URL(this.#postgres.url);
    url.pathname = `/${name}`;
    return url.href;
  }

  async #emptyBroker(): Promise<string> {
    if (this.#nats === null) this.#nats = await startNats();
    else await this.#nats.restart({ wipe: true }); // V1
    return this.#nats.url;
  }
}

/** So that a program can tell how much CPU the server used for it (cpu-per-call.ts). */
function pidFlag(name: ServerName, server: { readonly pid: number } | null): string[] {
  return server === null || process.platform !== "linux" ? [] : [`--${name}-pid`, String(server.pid)];
}
