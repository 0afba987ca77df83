// @tessera/client: Tessera's HTTP API as typed methods, for Node and the browser. Only web globals are used.
//
//   const client = createClient({ url: "http://127.0.0.1:8099", apiKey });
//   const { agentTurnId } = await client.enqueueTurn({ project: "default", body: { agent: "planner", input: "…" } });
//   const turn = await client.waitForTurn({ project: "default", turn: agentTurnId });

export { type ErrorCode, type ErrorDetails, TesseraError } from "@tessera/protocol/errors";
export { ApiError, type ApiErrorFields } from "./api-error.ts";
export type { Client } from "./client-methods.ts";
export { type ClientOptions, createClient } from "./create-client.ts";
export type { StreamedEvent, StreamOptions } from "./event-stream.ts";
export type { CallOptions, OperationSpec } from "./operation-spec.ts";
export * from "./operations.gen.ts";
export type { Timers } from "./timers.ts";
export type { TurnWait } from "./wait-for-turn.ts";
export { wireDocument } from "./wire-document.ts";
export type { WireShape, WireShapes } from "./wire-form.ts";
