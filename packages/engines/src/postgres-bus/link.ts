// One connection to PostgreSQL, kept for ever.
//
//   K1. `current` is null exactly while nothing can be sent.
//   K2. Opening does not need the server: the first attempt may fail and the loop goes on.
//   K3. A connection that does not answer a probe is given up; its socket is left to the operating system.

import pg from "pg";
import { pause, pauseMs } from "../delivery/backoff.ts";
import type { Warnings } from "../delivery/warnings.ts";

const LINK_MS = { connect: 5_000, query: 10_000, betweenProbes: 10_000 };

export interface LinkOptions {
  readonly url: string;
  /** For messages and `application_name`. */
  readonly name: string;
  readonly warnings: Warnings;
  /** Called with every new connection, which is `current` already; it is up when this has resolved. */
  readonly onUp: (client: pg.Client) => Promise<void>;
  readonly onNotification: (channel: string, payload: string) => void;
}

export class Link {
  readonly #options: LinkOptions;
  readonly #closing = new AbortController();
  #current: pg.Client | null = null;
  #isUp = false;
  #loop: Promise<void> = Promise.resolve();

  constructor(options: LinkOptions) {
    this.#options = options;
  }

  get current(): pg.Client | null {
    return this.#current;
  }

  /** Connected, and `onUp` has done its part. */
  get isUp(): boolean {
    return this.#isUp;
  }

  /** Resolves when the first attempt has ended, well or not (K2). */
  start(): Promise<void> {
    return new Promise((resolve) => {
      this.#loop = this.#keepConnected(resolve);
    });
  }

  async close(): Promise<void> {
    this.#closing.abort();
    await this.#loop;
  }

  async #keepConnected(onFirstAttempt: () => void): Promise<void> {
    const { signal } = this.#closing;
    const { name, warnings } = this.#options;
    for (let failures = 0; !signal.aborted; failures++) {
      try {
        const reason = await this.#connectOnce(onFirstAttempt);
        failures = 0;
        if (!signal.aborted) warnings.raise(name, `lost the PostgreSQL connection ${name}: ${reason}`);
      } catch (error) {
        const reason = error instanceof Error ? error.message : String(error);
        warnings.raise(name, `cannot open the PostgreSQL connection ${name}: ${reason}`);
      }
      onFirstAttempt();
      await pause(pauseMs(failures), signal);
    }
  }

  /** Resolves with the reason when a connection has come and gone, rejects when none came. */
  async #connectOnce(onFirstAttempt: () => void): Promise<string> {
    const { url, name, warnings, onUp, onNotification } = this.#options;
    const client = new pg.Client({
      connectionString: url,
      application_name: name,
      keepAlive: true,
      connectionTimeoutMillis: LINK_MS.connect,
      query_timeout: LINK_MS.query,
    });
    const lost = new Promise<string>((resolve) => {
      client.on("error", (error) => resolve(error.message));
      client.on("end", () => resolve("the connection was closed"));
      this.#closing.signal.addEventListener("abort", () => resolve("closing"), { once: true });
    });
    client.on("notification", ({ channel, payload }) => onNotification(channel, payload ?? ""));
    const probe = new AbortController();
    try {
      await client.connect();
      this.#current = client;
      await onUp(client);
      this.#isUp = true;
      warnings.clear(name);
      onFirstAttempt();
      return await Promise.race([lost, this.#probe(client, probe.signal)]);
    } finally {
      this.#current = null; // K1
      this.#isUp = false;
      probe.abort();
      const ended = client.end().catch(() => {}); // it is broken or closing; no caller waits for the error
      if (this.#closing.signal.aborted) await ended;
    }
  }

  /** Resolves with a reason when the server does not answer any more (K3). */
  async #probe(client: pg.Client, signal: AbortSignal): Promise<string> {
    for (;;) {
      await pause(LINK_MS.betweenProbes, signal);
      if (signal.aborted) return "closing";
      try {
        await client.query("select 1");
      } catch (error) {
        return error instanceof Error ? error.message : String(error);
      }
    }
  }
}
