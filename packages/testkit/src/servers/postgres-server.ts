// A real PostgreSQL on a free port in its own directory.
//
//   G1. It behaves as in production: fsync is on unless a test says otherwise.
//   G2. It listens on 127.0.0.1 only and trusts every connection, so that tests can log in as any role.
//   G3. After a kill of the postmaster a new start waits until the orphaned backends are gone.

import { execFileSync } from "node:child_process";
import { chownSync, existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openPostgres } from "@tessera/engines/postgres";
import { waitFor } from "../wait-for.ts";
import { freePort } from "./free-port.ts";
import { findPostgres, postgresUser } from "./server-binaries.ts";
import { ServerProcess } from "./server-process.ts";

type PostgresStopMode = "smart" | "fast" | "immediate";

export interface PostgresServer {
  readonly url: string;
  readonly port: number;
  /** Of the postmaster; changes with a restart. */
  readonly pid: number;
  readonly directory: string;
  /** The server's log, its last part. */
  readonly log: string;
  /** Stops it and, if the directory was made here, removes it. */
  stop(mode?: PostgresStopMode): Promise<void>;
  restart(mode: "fast" | "immediate"): Promise<void>;
  /** kill -9; `start` brings it back on the same directory and port. */
  killPostmaster(): Promise<void>;
  start(): Promise<void>;
}

export interface PostgresServerOptions {
  readonly port?: number;
  readonly directory?: string;
  readonly settings?: Readonly<Record<string, string>>;
}

const SIGNALS = { smart: "SIGTERM", fast: "SIGINT", immediate: "SIGQUIT" } as const;
const START_MS_MAX = 30_000;
const PORT_ATTEMPTS_MAX = 5;

export async function startPostgres(options: PostgresServerOptions = {}): Promise<PostgresServer> {
  const server = new LocalPostgres(options);
  await server.start();
  return server;
}

class LocalPostgres implements PostgresServer {
  readonly directory: string;
  readonly #programs = findPostgres();
  readonly #user = postgresUser();
  readonly #isOwn: boolean;
  readonly #settings: Readonly<Record<string, string>>;
  readonly #fixedPort: number | undefined;
  #port = 0;
  #process: ServerProcess | null = null;

  constructor(options: PostgresServerOptions) {
    this.#isOwn = options.directory === undefined;
    this.directory = options.directory ?? mkdtempSync(join(tmpdir(), "tessera-postgres-"));
    this.#fixedPort = options.port;
    const statistics = join(this.#programs, "..", "lib", "pg_stat_statements.so");
    this.#settings = {
      listen_addresses: "127.0.0.1",
      unix_socket_directories: "",
      max_connections: "200",
      ...(existsSync(statistics) ? { shared_preload_libraries: "pg_stat_statements" } : {}),
      ...options.settings,
    };
    this.#initialize();
  }

  get url(): string {
    return `postgres://postgres@127.0.0.1:${this.#port}/postgres`;
  }

  get port(): number {
    return this.#port;
  }

  get pid(): number {
    return this.#running().pid;
  }

  get log(): string {
    return this.#process?.output ?? "";
  }

  async start(): Promise<void> {
    const deadline = performance.now() + START_MS_MAX;
    for (let attempt = 1; ; attempt++) {
      if (this.#port === 0) this.#port = this.#fixedPort ?? (await freePort());
      this.#process = await this.#launch();
      if (await this.#isReady(this.#process, deadline)) return;
      const log = this.#process.output;
      const isTaken = log.includes("Address already in use") && this.#fixedPort === undefined;
      const isOrphaned = log.includes("shared memory block"); // G3
      if (!isOrphaned && !(isTaken && attempt < PORT_ATTEMPTS_MAX))
        throw new Error(`PostgreSQL did not start:\n${log}`);
      if (performance.now() > deadline) throw new Error(`PostgreSQL did not start in ${START_MS_MAX} ms:\n${log}`);
      if (isTaken) this.#port = 0;
    }
  }

  async stop(mode: PostgresStopMode = "fast"): Promise<void> {
    if (this.#process?.isRunning) await this.#process.end(SIGNALS[mode]);
    if (this.#isOwn) rmSync(this.directory, { recursive: true, force: true });
  }

  async restart(mode: "fast" | "immediate"): Promise<void> {
    await this.#running().end(SIGNALS[mode]);
    await this.start();
  }

  async killPostmaster(): Promise<void> {
    await this.#running().end("SIGKILL");
  }

  #running(): ServerProcess {
    if (this.#process?.isRunning) return this.#process;
    throw new Error("this PostgreSQL is not running");
  }

  #initialize(): void {
    if (existsSync(join(this.directory, "PG_VERSION"))) return;
    if (this.#user !== undefined) chownSync(this.directory, this.#user.uid, this.#user.gid);
    const options = ["--auth=trust", "--username=postgres", "--encoding=UTF8", "--locale=C", "--no-sync"];
    execFileSync(join(this.#programs, "initdb"), [...options, "-D", this.directory], {
      cwd: this.directory,
      stdio: ["ignore", "ignore", "pipe"],
      ...this.#user,
    });
  }

  #launch(): Promise<ServerProcess> {
    const settings = Object.entries(this.#settings).flatMap(([name, value]) => ["-c", `${name}=${value}`]);
    return ServerProcess.start({
      command: [join(this.#programs, "postgres"), "-D", this.directory, "-p", String(this.#port), ...settings],
      directory: this.directory,
      orphanSignal: "QUIT",
      garbage: this.#isOwn ? this.directory : undefined,
      user: this.#user,
    });
  }

  /** True when it answers, false when it ended instead. */
  async #isReady(server: ServerProcess, deadline: number): Promise<boolean> {
    const timeoutMs = Math.max(0, deadline - performance.now());
    await waitFor(async () => !server.isRunning || (await answers(this.url)), {
      what: "PostgreSQL to answer",
      timeoutMs,
    });
    return server.isRunning;
  }
}

async function answers(url: string): Promise<boolean> {
  const database = await openPostgres({ url, poolMax: 1 });
  await database.close();
  return true;
}
