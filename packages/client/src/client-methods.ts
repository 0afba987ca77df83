// The methods of a client, as types: one for each operation of the generated table.

import type { StreamedEvent, StreamOptions } from "./event-stream.ts";
import type { CallOptions } from "./operation-spec.ts";
import type { OPERATIONS, Operations, Turn } from "./operations.gen.ts";
import type { TurnWait } from "./wait-for-turn.ts";

type Table = typeof OPERATIONS;

/** No argument is needed where none is required. */
type Method<Arguments, Answer> =
  Record<never, never> extends Arguments
    ? (call?: Arguments & CallOptions) => Promise<Answer>
    : (call: Arguments & CallOptions) => Promise<Answer>;

type MethodOf<Id extends keyof Operations> = Table[Id]["answer"] extends "events"
  ? (call: Operations[Id]["arguments"] & StreamOptions) => AsyncIterable<StreamedEvent<Operations[Id]["answer"]>>
  : Method<Operations[Id]["arguments"], Operations[Id]["answer"]>;

/** One method for each operation of the API. */
export type OperationMethods = { readonly [Id in keyof Operations]: MethodOf<Id> };

/** What {@link createClient} makes: a method for each operation of the API. Every one of them rejects with an {@link ApiError}. */
export interface Client extends OperationMethods {
  /** Resolves with the turn when it has ended, or as it is when the time has run out (`endedAt` is null then). */
  waitForTurn(wait: TurnWait): Promise<Turn>;
}
