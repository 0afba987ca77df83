// One operation of the API as the generated table has it.

export interface OperationSpec {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** `{name}` stands for a parameter. */
  readonly path: string;
  readonly query: readonly string[];
  /** Name of the argument → name of the header. */
  readonly headers: Readonly<Record<string, string>>;
  /** The content type of the body, or null for none. JSON is written from a value; anything else is sent as it is. */
  readonly body: string | null;
  readonly answer: "json" | "text" | "none" | "events";
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
