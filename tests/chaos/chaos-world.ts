// Everything of a chaos run that can be hurt: PostgreSQL, NATS, seven processes of Tessera and a Python executor, each
// behind links of its own.
//
//   W1. Every process reaches each server by a link of its own, so that one can be cut off while the others work.
//   W2. A process that was killed is replaced under the same name, with the same links. One that ended by itself is reported.
//   W3. What a process printed is kept in logs/ when it is replaced and at the end.
//   W4. Whatever ends the run, its processes end with it. The directory stays only if there is something to be read in it.

import { appendFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Client, createClient } from "@tessera/client";
import { openPostgres } from "@tessera/engines/postgres";
import type { Database } from "@tessera/kernel";
import { freePort } from "../../packages/testkit/src/servers/free-port.ts";
import { ServerProcess } from "../../packages/testkit/src/servers/server-process.ts";
import { startTcpProxy, type TcpProxy } from "../../packages/testkit/src/tcp-proxy.ts";
import { startTopology, type Topology } from "../../scripts/topology/start-topology.ts";
import { isAlive } from "../crash/process-state.ts";
import { chaosBundle } from "./chaos-bundle.ts";

export const PROJECT = "default";
export const LEASE_MS = 3_000;
export const SWEEP_MS = 1_000;
const EXAMPLE = join(import.meta.dirname, "../../examples/python-executor");
const EXECUTOR = join(import.meta.dirname, "executor.py");
const HEARTBEAT_S = LEASE_MS / 3_000;
const ASK_MS_MAX = 10_000;
const OUTPUT_CHARS = 500;

const PROCESSES = {
  kernel: "kernel",
  pmo: "pmo",
  tools: "tools",
  "worker-1": "worker",
  "worker-2": "worker",
  "worker-3": "worker",
  api: "api",
} as const;
export const WORKERS = ["worker-1", "worker-2", "worker-3"] as const;
export const PYTHON = "python";
export type Victim = keyof typeof PROCESSES | typeof PYTHON;

/** From whom to what: `worker-1/postgres`, `python/api`, `client/api`. */
export type LinkName = `${string}/${"postgres" | "nats" | "api"}`;

export interface WorldOptions {
  readonly seed: number;
  /** Ends everything at once. */
  readonly signal?: AbortSignal;
}

/** W4 */
export async function inWorld<T>({ seed, signal }: WorldOptions, work: (world: ChaosWorld) => Promise<T>): Promise<T> {
  const world = await ChaosWorld.open(signal);
  const interrupted = Promise.withResolvers<never>();
  signal?.addEventListener("abort", () => interrupted.reject(new Error("interrupted")));
  try {
    signal?.throwIfAborted();
    return await Promise.race([work(world), interrupted.promise]);
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new Error(`seed ${seed}: ${String(error)}; logs are in ${world.keep()}`, { cause: error });
  } finally {
    await world.close();
  }
}

export class ChaosWorld {
  readonly directory: string;
  /** Where the tools leave their effects. */
  readonly place: string;
  readonly topology: Topology;
  /** The owner's, past every link. */
  readonly database: Database;
  readonly client: Client;
  readonly links: ReadonlyMap<LinkName, TcpProxy>;
  readonly #startPython: () => Promise<ServerProcess>;
  #python: ServerProcess;
  #isKept = false;

  /** Leaves nothing behind if it fails or is given up. */
  static async open(signal?: AbortSignal): Promise<ChaosWorld> {
    const directory = mkdtempSync(join(tmpdir(), "tessera-chaos-"));
    const links = new Map<LinkName, TcpProxy>();
    const closing = new AsyncDisposableStack();
    closing.defer(() => rmSync(directory, { recursive: true, force: true }));
    closing.defer(() => closeAll(links));
    try {
      return await ChaosWorld.#start(directory, links, closing, signal);
    } catch (error) {
      await closing.disposeAsync();
      throw error;
    }
  }

  static async #start(
    directory: string,
    links: Map<LinkName, TcpProxy>,
    closing: AsyncDisposableStack,
    signal: AbortSignal | undefined,
  ): Promise<ChaosWorld> {
    const place = join(directory, "place");
    for (const part of ["place/decisions", "bundle", "logs"]) mkdirSync(join(directory, part), { recursive: true });
    for (const [file, text] of Object.entries(chaosBundle(place))) writeFileSync(join(directory, "bundle", file), text);
    const link = async (name: LinkName, port: number) => {
      const proxy = await startTcpProxy({ port });
      links.set(name, proxy); // W1
      return proxy.port;
    };
    const port = await freePort();
    const topology = await startTopology({
      bundle: join(directory, "bundle"),
      directory,
      port,
      signal,
      processes: PROCESSES,
      env: {
        TESSERA_LEASE_SECONDS: String(LEASE_MS / 1_000),
        TESSERA_SWEEP_SECONDS: String(SWEEP_MS / 1_000),
        TESSERA_GRACE_SECONDS: "1",
        TESSERA_PROJECT: PROJECT,
      },
      route: (name, server, serverPort) => link(`${name}/${server}`, serverPort),
    });
    closing.defer(() => topology.stop());
    const url = async (name: LinkName) => `http://127.0.0.1:${await link(name, port)}`;
    const client = createClient({
      url: await url("client/api"),
      apiKey: topology.key,
      retries: 0,
      timeoutMs: ASK_MS_MAX,
    });
    const executor = await client.createKey({ body: { role: "executor", projectId: PROJECT, targets: ["edge"] } });
    const pythonUrl = await url("python/api");
    const startPython = () =>
      ServerProcess.start({
        command: [
          ...["python3", "-uB", EXECUTOR, EXAMPLE, "--url", pythonUrl, "--key", executor.key],
          ...["--project", PROJECT, "--target", "edge", "--heartbeat", String(HEARTBEAT_S)],
        ],
        directory,
        orphanSignal: "KILL",
      });
    const database = await openPostgres({ url: topology.postgres.ownerUrl, poolMax: 4 });
    closing.defer(() => database.close());
    return new ChaosWorld({
      directory,
      place,
      topology,
      database,
      client,
      links,
      startPython,
      python: await startPython(),
    });
  }

  private constructor(parts: {
    directory: string;
    place: string;
    topology: Topology;
    database: Database;
    client: Client;
    links: ReadonlyMap<LinkName, TcpProxy>;
    startPython: () => Promise<ServerProcess>;
    python: ServerProcess;
  }) {
    this.directory = parts.directory;
    this.place = parts.place;
    this.topology = parts.topology;
    this.database = parts.database;
    this.client = parts.client;
    this.links = parts.links;
    this.#startPython = parts.startPython;
    this.#python = parts.python;
  }

  pidOf(name: Victim): number {
    return name === PYTHON ? this.#python.pid : this.topology.process(name).child.pid;
  }

  /** kill -9; resolves when it is gone, and fails if it had ended by itself. */
  async kill(name: Victim): Promise<void> {
    if (name !== PYTHON) await this.topology.process(name).child.kill();
    else if (this.#python.isRunning) await this.#python.end("SIGKILL");
    else throw new Error(`python has ended already: ${this.#python.output.slice(-OUTPUT_CHARS)}`);
  }

  /** W2 */
  async replace(name: Victim): Promise<void> {
    this.#keepOutput(name);
    if (name === PYTHON) this.#python = await this.#startPython();
    else await this.topology.restart(name);
  }

  signal(name: Victim, signal: "SIGSTOP" | "SIGCONT"): void {
    if (name === PYTHON) this.#python.signal(signal);
    else if (signal === "SIGSTOP") this.topology.process(name).child.stop();
    else this.topology.process(name).child.resume();
  }

  /** W2: processes that are gone though no fault killed them. */
  ended(): readonly string[] {
    const gone = Object.keys(PROCESSES).flatMap((name) => {
      const { exit, output } = this.topology.process(name).child;
      return exit === null ? [] : [`${name} ended by itself: ${JSON.stringify(exit)}: ${output.slice(-3).join(" | ")}`];
    });
    return this.#python.isRunning
      ? gone
      : [...gone, `python ended by itself: ${this.#python.output.slice(-OUTPUT_CHARS)}`];
  }

  /** The directory stays: something is to be read there. */
  keep(): string {
    this.#isKept = true;
    return this.directory;
  }

  async close(): Promise<void> {
    for (const name of [...Object.keys(PROCESSES), PYTHON] as Victim[]) {
      this.#keepOutput(name);
      // One that is stopped or cut off would take its time to end in order. One that ends by itself just now has ended.
      if (isAlive(this.pidOf(name))) await this.kill(name).catch(() => undefined);
    }
    await this.database.close().catch(() => undefined);
    await this.topology.stop();
    await closeAll(this.links);
    if (!this.#isKept) rmSync(this.directory, { recursive: true, force: true });
  }

  /** W3 */
  #keepOutput(name: Victim): void {
    const text = name === PYTHON ? this.#python.output : this.topology.process(name).child.output.join("\n");
    appendFileSync(join(this.directory, "logs", `${name}.log`), `--- process ${this.pidOf(name)}\n${text}\n`);
  }
}

async function closeAll(links: ReadonlyMap<LinkName, TcpProxy>): Promise<void> {
  await Promise.all([...links.values()].map((proxy) => proxy.close()));
}
