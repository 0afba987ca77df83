// Keeps the streams in being that messages of ours are for, for the sake of publishers.
//
// A publisher needs no answer from the stream (P2), so it gets no error when a stream is gone. A member of a durable
// would notice and make it again, but a process may only publish, and foreign members may not create streams.

import { jetstreamManager } from "@nats-io/jetstream";
import type { NatsConnection } from "@nats-io/transport-node";
import { streamsKept } from "@tessera/protocol";
import { pause, pauseMs } from "../delivery/backoff.ts";
import type { Warnings } from "../delivery/warnings.ts";
import { describe } from "./connection.ts";
import { ensureStream } from "./topology.ts";

const LOOK_AGAIN_MS = 30_000;

export class StreamKeeper {
  readonly #replicas: number;
  readonly #warnings: Warnings;
  readonly #seen = new Set<string>();
  readonly #stopping = new AbortController();

  constructor(replicas: number, warnings: Warnings) {
    this.#replicas = replicas;
    this.#warnings = warnings;
  }

  /** Resolves after the first attempt, well or not; goes on until the connection closes. */
  attach(nc: NatsConnection): Promise<void> {
    // What a broker lacks when we come (back) to it was lost with its store, not deleted a moment ago: no need to wait.
    this.#seen.clear();
    return new Promise((resolve) => void this.#keep(nc, resolve));
  }

  stop(): void {
    this.#stopping.abort();
  }

  async #keep(nc: NatsConnection, onFirstAttempt: () => void): Promise<void> {
    const signal = AbortSignal.any([this.#stopping.signal, closedSignal(nc)]);
    const jsm = await jetstreamManager(nc, { checkAPI: false });
    for (let failures = 0; !signal.aborted; ) {
      try {
        for (const stream of streamsKept()) {
          const wasThere = this.#seen.has(stream.name);
          await ensureStream(jsm, { stream, replicas: this.#replicas, wasThere, signal });
          this.#seen.add(stream.name);
        }
        failures = 0;
        this.#warnings.clear("streams");
      } catch (error) {
        failures += 1;
        if (!signal.aborted) this.#warnings.raise("streams", `cannot prepare the streams: ${describe(error)}`);
      }
      onFirstAttempt();
      await pause(failures > 0 ? pauseMs(failures) : LOOK_AGAIN_MS, signal);
    }
    onFirstAttempt();
  }
}

function closedSignal(nc: NatsConnection): AbortSignal {
  const controller = new AbortController();
  void nc.closed().then(() => controller.abort());
  return controller.signal;
}
