// A store for a crash test, and the processes on it.
//
//   S1. Every process started here is dead when `close` returns, ended by its own pid, also when the test failed.
//   S2. A PGlite directory is opened by the test only after its last process has ended: two would be refused.

import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { cachedSnapshot, openPglite } from "@tessera/engines/pglite";
import { systemIds } from "@tessera/engines/system";
import { type Database, migrate, SCHEMA_DIGEST } from "@tessera/kernel";
import { createTestDatabases, TestChild, type TestDatabase, type TestEngine } from "@tessera/testkit";
import { afterAll } from "vitest";
import { type EffectLedger, FileLedger } from "../scenarios/effect-ledger.ts";
import type { NodeConfig, StoreAddress } from "./node-process.ts";

const NODE_PROCESS = new URL("./node-process.ts", import.meta.url);

export interface CrashStoreOptions {
  readonly engine: TestEngine;
  /** No schema yet: the first process migrates. */
  readonly isEmpty?: boolean;
  readonly natsUrl?: string;
  /** Instead of the run's own server. */
  readonly postgresUrl?: string;
}

export class CrashStore {
  readonly engine: TestEngine;
  readonly project = systemIds.mint("p");
  readonly ledger: EffectLedger;
  readonly address: StoreAddress;
  readonly #scratch: string;
  readonly #database: TestDatabase | null;
  readonly #children: TestChild[] = [];
  #opened: Database | null = null;

  static async create(options: CrashStoreOptions): Promise<CrashStore> {
    const scratch = mkdtempSync(join(tmpdir(), "tessera-crash-"));
    const { engine, isEmpty = false, natsUrl, postgresUrl } = options;
    if (engine === "pglite") {
      const directory = join(scratch, "data");
      if (!isEmpty) cpSync(await templateDirectory(), directory, { recursive: true });
      return new CrashStore(engine, scratch, { engine, directory }, null);
    }
    const databases = createTestDatabases({
      engine,
      prepare: async (database) => (isEmpty ? undefined : void (await migrate(database))),
      digest: isEmpty ? "empty" : `kernel-${SCHEMA_DIGEST}`,
      ...(postgresUrl === undefined ? {} : { postgresUrl }),
    });
    const database = await databases.open();
    const url = database.url ?? "";
    return new CrashStore(engine, scratch, { engine, url, ...(natsUrl === undefined ? {} : { natsUrl }) }, database);
  }

  private constructor(engine: TestEngine, scratch: string, address: StoreAddress, database: TestDatabase | null) {
    this.engine = engine;
    this.address = address;
    this.#scratch = scratch;
    this.#database = database;
    this.ledger = new FileLedger(this.#ledgerFile);
  }

  get #ledgerFile(): string {
    return join(this.#scratch, "effects.jsonl");
  }

  get #killLog(): string {
    return join(this.#scratch, "kills.log");
  }

  /** What the kill points wrote before they killed. */
  get kills(): string {
    return existsSync(this.#killLog) ? readFileSync(this.#killLog, "utf8") : "";
  }

  /** Starts a process of the cluster. */
  async start(
    config: Omit<NodeConfig, "store" | "project" | "ledger">,
    options: { readonly killAt?: string } = {},
  ): Promise<TestChild> {
    const whole: NodeConfig = { ...config, store: this.address, project: this.project, ledger: this.#ledgerFile };
    const child = await TestChild.start(NODE_PROCESS, {
      args: [JSON.stringify(whole)],
      env: options.killAt === undefined ? {} : { TESSERA_KILL_AT: options.killAt, TESSERA_KILL_LOG: this.#killLog },
    });
    this.#children.push(child);
    return child;
  }

  /** The store, for the test itself (S2). */
  async open(): Promise<Database> {
    if (this.#database !== null) return this.#database.database;
    if (this.address.engine !== "pglite") throw new Error("this store has no handle");
    this.#opened ??= await openPglite({ directory: this.address.directory });
    return this.#opened;
  }

  async close(): Promise<void> {
    for (const child of this.#children) {
      if (child.exit === null) await child.kill(); // S1
    }
    await this.#opened?.close();
    await this.#database?.close();
    rmSync(this.#scratch, { recursive: true, force: true });
  }
}

/** Runs `work` on a store of its own. */
export async function withCrashStore<T>(
  options: CrashStoreOptions,
  work: (store: CrashStore) => Promise<T>,
): Promise<T> {
  const store = await CrashStore.create(options);
  try {
    return await work(store);
  } finally {
    await store.close();
  }
}

let template: Promise<string> | null = null;

afterAll(async () => {
  if (template !== null) rmSync(await template, { recursive: true, force: true });
});

/** A migrated data directory, made once per process and copied for each test. */
function templateDirectory(): Promise<string> {
  template ??= makeTemplate();
  return template;
}

async function makeTemplate(): Promise<string> {
  const directory = mkdtempSync(join(tmpdir(), "tessera-crash-template-"));
  const snapshot = await cachedSnapshot(`crash-${SCHEMA_DIGEST.slice(0, 24)}`, async () => {
    const database = await openPglite();
    await migrate(database);
    const made = await database.dumpSnapshot();
    await database.close();
    return made;
  });
  const database = await openPglite({ directory, snapshot });
  await database.close();
  return directory;
}
