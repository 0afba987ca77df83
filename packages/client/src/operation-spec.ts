// One operation of the API as the generated table has it.

import type { WireShape } from "./wire-form.ts";

/** One operation of the API: where it is and how its arguments travel. The table {@link OPERATIONS} has them all. */
export interface OperationSpec {
  /** The HTTP method. */
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** From the root of the API; `{name}` stands for a parameter. */
  readonly path: string;
  /** Name of the argument → name in the query. */
  readonly query: Readonly<Record<string, string>>;
  /** Name of the argument → name of the header. */
  readonly headers: Readonly<Record<string, string>>;
  /** The content type of the body, or null for none. JSON is written from a value; anything else is sent as it is. */
  readonly body: string | null;
  /** What an answer that is a success holds. */
  readonly answer: "json" | "text" | "none" | "events";
  /** Where a JSON body is spelled differently on the wire; absent: nowhere. */
  readonly bodyShape?: WireShape;
  /** Where a JSON answer or an event is spelled differently on the wire; absent: nowhere. */
  readonly answerShape?: WireShape;
}

/** What every method takes besides the operation's own arguments. */
export interface CallOptions {
  /** Ends the call; it rejects with the signal's reason. */
  readonly signal?: AbortSignal;
  /** For the whole call with its repetitions. Default: that of the client, or longer where the server is asked to wait. */
  readonly timeoutMs?: number;
  /** Told of the success before the method resolves: its status (new or already there), its ETag for `ifMatch`. */
  readonly onAnswer?: (answer: { readonly status: number; readonly etag: string | null }) => void;
}
