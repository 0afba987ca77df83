// A real NATS server with JetStream on a free port in its own directory.
//
//   N1. A restart keeps port and store; `wipe` loses every stream and consumer, as a replaced broker would.

import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { waitFor } from "../wait-for.ts";
import { freePort } from "./free-port.ts";
import { findNats } from "./server-binaries.ts";
import { ServerProcess } from "./server-process.ts";

export interface NatsServer {
  readonly url: string;
  readonly port: number;
  readonly pid: number;
  readonly directory: string;
  /** Stops it and, if the directory was made here, removes it. */
  stop(): Promise<void>;
  /** kill -9; `start` brings it back. */
  kill(): Promise<void>;
  /** Stops it for a moment without ending it (SIGSTOP), and lets it go on (SIGCONT). */
  pause(): void;
  resume(): void;
  start(): Promise<void>;
  restart(options?: { readonly wipe?: boolean }): Promise<void>;
}

export interface NatsServerOptions {
  readonly port?: number;
  readonly storeDir?: string;
  /** Lines for its configuration file, besides port, host and JetStream. */
  readonly config?: string;
}

const START_MS_MAX = 10_000;
const PORT_ATTEMPTS_MAX = 5;
const GREET_MS_MAX = 1_000;

export async function startNats(options: NatsServerOptions = {}): Promise<NatsServer> {
  const server = new LocalNats(options);
  await server.start();
  return server;
}

class LocalNats implements NatsServer {
  readonly directory: string;
  readonly #program = findNats();
  readonly #isOwn: boolean;
  readonly #config: string;
  readonly #fixedPort: number | undefined;
  #port = 0;
  #process: ServerProcess | null = null;

  constructor(options: NatsServerOptions) {
    this.#isOwn = options.storeDir === undefined;
    this.directory = options.storeDir ?? mkdtempSync(join(tmpdir(), "tessera-nats-"));
    this.#config = options.config ?? "";
    this.#fixedPort = options.port;
  }

  get url(): string {
    return `nats://127.0.0.1:${this.#port}`;
  }

  get port(): number {
    return this.#port;
  }

  get pid(): number {
    return this.#running().pid;
  }

  async start(): Promise<void> {
    for (let attempt = 1; ; attempt++) {
      if (this.#port === 0) this.#port = this.#fixedPort ?? (await freePort());
      const server = await this.#launch();
      this.#process = server;
      const condition = async () => !server.isRunning || (await greets(this.#port));
      await waitFor(condition, { what: "nats-server to answer", timeoutMs: START_MS_MAX });
      if (server.isRunning) return;
      const isTaken = server.output.includes("address already in use") && this.#fixedPort === undefined;
      if (!isTaken || attempt >= PORT_ATTEMPTS_MAX) throw new Error(`nats-server did not start:\n${server.output}`);
      this.#port = 0;
    }
  }

  async stop(): Promise<void> {
    if (this.#process?.isRunning) {
      this.resume(); // a paused process hears nothing
      await this.#process.end("SIGTERM");
    }
    if (this.#isOwn) rmSync(this.directory, { recursive: true, force: true });
  }

  async kill(): Promise<void> {
    await this.#running().end("SIGKILL");
  }

  pause(): void {
    this.#running().signal("SIGSTOP");
  }

  resume(): void {
    this.#running().signal("SIGCONT");
  }

  async restart({ wipe = false }: { readonly wipe?: boolean } = {}): Promise<void> {
    await this.#running().end("SIGTERM");
    if (wipe) rmSync(join(this.directory, "jetstream"), { recursive: true, force: true });
    await this.start();
  }

  #running(): ServerProcess {
    if (this.#process?.isRunning) return this.#process;
    throw new Error("this nats-server is not running");
  }

  #launch(): Promise<ServerProcess> {
    const file = join(this.directory, "nats.conf");
    const store = JSON.stringify(this.directory);
    const own = [`host: "127.0.0.1"`, `port: ${this.#port}`, `jetstream: { store_dir: ${store} }`];
    writeFileSync(file, `${own.join("\n")}\n${this.#config}\n`);
    return ServerProcess.start({
      command: [this.#program, "-c", file],
      directory: this.directory,
      orphanSignal: "KILL",
      garbage: this.#isOwn ? this.directory : undefined,
    });
  }
}

/** A NATS server speaks first; whatever else listens there may be silent. */
export async function greets(port: number): Promise<boolean> {
  const socket = connect(port, "127.0.0.1");
  try {
    const [chunk] = (await once(socket, "data", { signal: AbortSignal.timeout(GREET_MS_MAX) })) as [Buffer];
    return chunk.toString().startsWith("INFO ");
  } finally {
    socket.destroy();
  }
}
