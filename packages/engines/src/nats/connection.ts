// The connection to the broker, kept for ever.
//
// The client library could reconnect by itself, but then there would be two ways back (its own, and ours for a
// connection it gave up), and publishes would pile up in its buffer while the broker is away. So that is switched off, and
// there is one way: connect, notify the owner, wait until it is closed, pause, connect again.
//
//   C1. `current` is null exactly while nothing can be sent.
//   C2. Opening does not need a broker: the first attempt may fail and the loop goes on.
//   C3. A half-open connection is closed after two unanswered pings.
//   C4. A server that accepts and says nothing costs no socket (greeting.ts).

import {
  connect,
  type NatsConnection,
  type NodeConnectionOptions,
  PermissionViolationError,
} from "@nats-io/transport-node";
import { safeLabel } from "@tessera/protocol";
import { pause, pauseMs } from "../delivery/backoff.ts";
import type { Warnings } from "../delivery/warnings.ts";
import { greetingServers, hostOf } from "./greeting.ts";
import { natsVersionAdvice } from "./version-advice.ts";

const CONNECTION = { timeoutMs: 5_000, pingIntervalMs: 5_000, pingsUnansweredMax: 2 };

export interface ConnectionOptions {
  readonly servers: string | readonly string[];
  readonly user?: string;
  readonly pass?: string;
  readonly token?: string;
  readonly name?: string;
  /** Replies and pulled messages arrive below it; a role's permissions name it. Default: the user's own (`inboxOf`). */
  readonly inboxPrefix?: string;
  /** False: the version of the server is nothing to warn of here. */
  readonly warnsOfVersion?: boolean;
}

/** Below the library's own prefix every user of an account could hear every other one's replies. */
export function inboxOf({
  inboxPrefix,
  user,
}: {
  readonly [N in "inboxPrefix" | "user"]?: string | undefined;
}): string | undefined {
  return inboxPrefix ?? (user === undefined ? undefined : `_INBOX_${safeLabel(user)}`);
}

export class Connection {
  readonly #options: ConnectionOptions;
  readonly #warnings: Warnings;
  readonly #onUp: (nc: NatsConnection) => Promise<void>;
  readonly #closing = new AbortController();
  #current: NatsConnection | null = null;
  #loop: Promise<void> = Promise.resolve();

  /** `onUp` is called with every new connection; while it runs, the connection is already usable. */
  constructor(options: ConnectionOptions, warnings: Warnings, onUp: (nc: NatsConnection) => Promise<void>) {
    this.#options = options;
    this.#warnings = warnings;
    this.#onUp = onUp;
  }

  get current(): NatsConnection | null {
    return this.#current;
  }

  /** Resolves when the first attempt has ended, well or not (C2). */
  start(): Promise<void> {
    return new Promise((resolve) => {
      this.#loop = this.#keepConnected(resolve);
    });
  }

  async close(): Promise<void> {
    this.#closing.abort();
    await this.#current?.drain().catch(() => this.#current?.close());
    await this.#loop;
  }

  async #keepConnected(onFirstAttempt: () => void): Promise<void> {
    const { signal } = this.#closing;
    for (let failures = 0; !signal.aborted; failures++) {
      try {
        await this.#connectOnce(onFirstAttempt);
        failures = 0;
      } catch (error) {
        if (!signal.aborted) this.#warnings.raise("connection", `cannot reach ${this.#withoutIt} (${describe(error)})`);
      }
      onFirstAttempt();
      await pause(pauseMs(failures), signal);
    }
  }

  /** Resolves when a connection has come and gone, rejects when none came. */
  async #connectOnce(onFirstAttempt: () => void): Promise<void> {
    const servers = await greetingServers(this.#servers, CONNECTION.timeoutMs, this.#closing.signal); // C4
    const nc = await connect(connectOptions({ ...this.#options, servers }));
    const closed = nc.closed();
    if (this.#closing.signal.aborted) return nc.close();
    this.#current = nc;
    this.#warnings.clear("connection");
    this.#warnAboutVersion(nc);
    const heard = this.#listen(nc);
    await Promise.race([this.#onUp(nc), closed]);
    onFirstAttempt();
    const reason = await closed;
    this.#current = null; // C1
    await heard;
    if (!this.#closing.signal.aborted) {
      this.#warnings.raise("connection", `lost ${this.#withoutIt} (${describe(reason)})`);
    }
  }

  /** Errors that belong to no request, above all a publish that the role may not make. */
  async #listen(nc: NatsConnection): Promise<void> {
    for await (const status of nc.status()) {
      if (status.type !== "error") continue;
      const { error } = status;
      // What a role may not ask of JetStream is its owner's business and handled where it was asked.
      if (error instanceof PermissionViolationError && error.subject.startsWith("$JS.")) continue;
      this.#warnings.raise(`error ${error.message}`, `NATS reported: ${error.message}`);
    }
  }

  #warnAboutVersion(nc: NatsConnection): void {
    const version = nc.info?.version ?? "0.0.0";
    const advice = natsVersionAdvice(version);
    if (advice?.kind === "warning" && this.#options.warnsOfVersion !== false) {
      this.#warnings.raise("version", `NATS ${version} ${advice.says}; ${advice.todo}`);
    } else this.#warnings.clear("version");
  }

  get #servers(): readonly string[] {
    const { servers } = this.#options;
    return typeof servers === "string" ? servers.split(",") : servers;
  }

  /** The bus only rings, so nothing is lost without it. */
  get #withoutIt(): string {
    return `NATS at ${this.#servers.map(hostOf).join(", ")}; running without it, slower`;
  }
}

function connectOptions({ servers, warnsOfVersion: _, ...rest }: ConnectionOptions): NodeConnectionOptions {
  const inboxPrefix = inboxOf(rest);
  return {
    ...rest,
    ...(inboxPrefix === undefined ? {} : { inboxPrefix }),
    servers: typeof servers === "string" ? servers : [...servers],
    reconnect: false,
    timeout: CONNECTION.timeoutMs,
    pingInterval: CONNECTION.pingIntervalMs,
    maxPingOut: CONNECTION.pingsUnansweredMax,
    noAsyncTraces: true,
  };
}

export function describe(reason: unknown): string {
  if (reason instanceof Error) return reason.message;
  return reason === undefined ? "the connection was closed" : String(reason);
}
