// @tessera/client: Tessera's HTTP API as typed methods, for Node and the browser. Only web globals are used.
//
//   const client = createClient({ url: "http://127.0.0.1:8099", apiKey });
//   const { agent_turn_id } = await client.enqueueTurn({ project: "default", body: { agent: "planner", input: "…" } });
//   const turn = await client.waitForTurn({ project: "default", turn: agent_turn_id });

export { ApiError, type ApiErrorFields } from "./api-error.ts";
export type { Client } from "./client-methods.ts";
export { type ClientOptions, createClient } from "./create-client.ts";
export type { StreamedEvent, StreamOptions } from "./event-stream.ts";
export type { CallOptions, OperationSpec } from "./operation-spec.ts";
export * from "./operations.gen.ts";
export type { TurnWait } from "./wait-for-turn.ts";
