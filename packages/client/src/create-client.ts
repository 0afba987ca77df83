// The client: one method for each operation of the API, made from the generated table.

import { readApiKey, readBaseUrl } from "./base-url.ts";
import type { Client, OperationMethods } from "./client-methods.ts";
import { streamEvents } from "./event-stream.ts";
import type { CallOptions, OperationSpec } from "./operation-spec.ts";
import { OPERATIONS } from "./operations.gen.ts";
import { type CallArguments, prepareRequest } from "./request.ts";
import { type SendDeps, send } from "./send.ts";
import { type Timers, webTimers } from "./timers.ts";
import { waitForTurn } from "./wait-for-turn.ts";
import { timeoutFor } from "./waiting-time.ts";

/** What {@link createClient} takes. */
export interface ClientOptions {
  /** Where the API is: `http://127.0.0.1:8099`. A path in front of the API's own is kept. */
  readonly url: string;
  /** Proves who asks. Absent: only what needs no key, e.g. `getHealth`. */
  readonly apiKey?: string;
  /** Sends the requests. Default: the global `fetch`. */
  readonly fetch?: typeof globalThis.fetch;
  /** How often a call that is safe to repeat is tried again. Default 2. */
  readonly retries?: number;
  /** For each call with its repetitions. Default one minute; a call that asks the server to wait for longer has that time and more. */
  readonly timeoutMs?: number;
  /** Measures pauses and time limits; for tests. Default: those of the platform. */
  readonly timers?: Timers;
}

const RETRIES = 2;
const TIMEOUT_MS = 60_000;

/**
 * A client of one server, with a method for each operation of its API. Nothing is sent before a method is called.
 *
 * ```ts
 * import { createClient } from "@tessera/client";
 *
 * const client = createClient({ url: "http://127.0.0.1:8099", apiKey: "tsk_…" });
 * const { agentTurnId } = await client.enqueueTurn({
 *   project: "default",
 *   body: { agent: "planner", input: "Porto" },
 *   idempotencyKey: "order-17",
 * });
 * const turn = await client.waitForTurn({ project: "default", turn: agentTurnId, timeoutMs: 60_000 });
 * console.log(turn.status, turn.deliverable);
 * ```
 *
 * Arguments and answers have the spelling of TypeScript (`agentTurnId`); on the wire it is `agent_turn_id`. What the API leaves
 * open keeps its keys: arguments and results of tools, content of cards, metadata.
 *
 * @throws {ApiError} `bad_request` where the URL or the key cannot be one
 */
export function createClient(options: ClientOptions): Client {
  const world = openWorld(options);
  const methods = createMethods(world, OPERATIONS) as Partial<OperationMethods> as OperationMethods;
  return { ...methods, waitForTurn: (wait) => waitForTurn(methods, world.timers, wait) };
}

export function openWorld(options: ClientOptions): SendDeps {
  const { retries = RETRIES, timeoutMs = TIMEOUT_MS, timers = webTimers } = options;
  // Called as a plain function: a browser's fetch refuses to be called as a method of something else.
  const { fetch = (...call: Parameters<typeof globalThis.fetch>) => globalThis.fetch(...call) } = options;
  return {
    connection: { url: readBaseUrl(options.url), apiKey: readApiKey(options.apiKey), fetch },
    timers,
    retries,
    timeoutMs,
  };
}

export function createMethods(
  world: SendDeps,
  table: Readonly<Record<string, OperationSpec>>,
): Readonly<Record<string, (call?: CallArguments) => unknown>> {
  return Object.fromEntries(
    Object.entries(table).map(([id, spec]) => [
      id,
      spec.answer === "events" ? streamMethod(world, id, spec) : callMethod(world, id, spec),
    ]),
  );
}

function callMethod(world: SendDeps, id: string, spec: OperationSpec) {
  return async (call: CallArguments = {}): Promise<unknown> => {
    const timeoutMs = timeoutFor(id, call, world.timeoutMs);
    return await send({ ...world, timeoutMs }, spec, prepareRequest(id, spec, call), call as CallOptions);
  };
}

/** `after` is where the first connection begins; the next ones go on by Last-Event-ID. */
function streamMethod(world: SendDeps, id: string, spec: OperationSpec) {
  return (call: CallArguments = {}): AsyncIterable<unknown> => {
    const { signal, onOpen, onReconnect, ...args } = call;
    const { after: _, ...rest } = args;
    const requests = {
      first: prepareRequest(id, spec, args),
      next: prepareRequest(id, spec, rest),
      shape: spec.answerShape,
    };
    return streamEvents(world, requests, { signal, onOpen, onReconnect } as never);
  };
}
