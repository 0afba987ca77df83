// The ports of the kernel: what it needs from the world and gets from nowhere else.
//
// Adapters live in `engines`, one folder each, and pass the conformance suites of `testkit`.
//
//   P1. A `Database` runs one statement as one transaction; an error means that nothing of it is visible,
//       except `connection_lost`, after which the caller does not know and must ask again (every l0 function is
//       safe to repeat).
//   P2. A `Bus` rings. It may lose, double, delay and reorder; nothing durable may depend on a delivery.
//   P3. Time reaches the database as a parameter; a process's own clock only decides when to look again.
//   P4. What is `retryable` is repeated in one place, the adapter: its `query` reports it only after a bounded number of tries.

/** What went wrong, sorted by what the caller should do. SQLSTATEs are read in the adapters and nowhere else. */
export type DatabaseErrorKind =
  /** The connection broke: the statement may or may not have committed. Ask again. */
  | "connection_lost"
  /** The database cannot be reached or is shutting down: nothing was sent. Wait, then repeat. */
  | "unavailable"
  /** Deadlock, serialization failure: nothing happened, and repeating it did not help (P4). */
  | "retryable"
  /** Another session keeps a row locked for longer than a statement waits: nothing happened. Repeat without the row, or later. */
  | "locked"
  /** No space, out of memory: nothing happened. Repeat later. */
  | "exhausted"
  /** The database takes no writes now: nothing happened. Wait, then repeat. */
  | "read_only"
  /** The role may not do this. */
  | "forbidden"
  /** The statement or its values are at fault. Repeating cannot help. */
  | "statement"
  /** The engine itself is broken (a WASM abort). The process must end; a restart recovers. */
  | "fatal";

export class DatabaseError extends Error {
  override readonly name = "DatabaseError";
  readonly kind: DatabaseErrorKind;
  /** Five characters, or null when the fault came from outside SQL. */
  readonly sqlstate: string | null;
  constructor(kind: DatabaseErrorKind, message: string, options: { sqlstate?: string | null; cause?: unknown } = {}) {
    super(message, { cause: options.cause });
    this.kind = kind;
    this.sqlstate = options.sqlstate ?? null;
  }
}

/** A row with the column names of its statement. Timestamps are ISO strings (the adapters do not parse them). */
export type Row = Readonly<Record<string, unknown>>;

export interface Statements {
  /** Runs one statement. `values` fill $1…; jsonb parameters are passed as JSON text. json and jsonb columns come back
   *  parsed, bigint as number (our counters stay below 2^53), timestamptz as ISO 8601 text, bytea as Uint8Array. */
  query<R extends Row = Row>(text: string, values?: readonly unknown[]): Promise<R[]>;
  /** Runs a script of several statements without values, as one transaction outside `transaction`, or inside the current one. */
  script(text: string): Promise<void>;
}

export interface Database extends Statements {
  readonly capabilities: DatabaseCapabilities;
  /** The same store for statements that are not to stand at a locked row: they fail as `locked` at once, or nearly so. Absent where
   *  there is one session only, which waits for none. */
  readonly impatient?: Pick<Statements, "query">;
  /** Runs `work` on one connection between BEGIN and COMMIT; any error rolls back. For migrations, not for hot paths. */
  transaction<T>(work: (tx: Statements) => Promise<T>): Promise<T>;
  /** Resolves when nothing is running and every connection or lock is given back. */
  close(): Promise<void>;
}

interface DatabaseCapabilities {
  /** "pglite" or "postgres": for messages, never for an `if` around a query. */
  readonly engine: "pglite" | "postgres";
  /** How many hot batches may be in flight at once. One session can only ever do one. */
  readonly batchesInFlight: number;
  /** Roles are distinct (false on PGlite: one superuser session). */
  readonly roles: boolean;
}

export type BusHeaders = Readonly<Record<string, string>>;

export interface BusMessage {
  /** Where it was sent to. */
  readonly subject: string;
  /** Exact casing as emitted. A header that was sent twice arrives as one entry joined by `\n`. */
  readonly headers: BusHeaders;
  /** What was sent: for a command, JSON in UTF-8. */
  readonly data: Uint8Array;
}

/** A message in a handler's hands. Exactly one of ack, nak, term should be called; a handler that returns without any is
 *  acked, one that throws is nak'ed. Further calls are ignored. */
export interface Delivery extends BusMessage {
  /** 1 for the first delivery. */
  readonly deliveries: number;
  /** It is done with, and does not come again. */
  ack(): void;
  /** Asks for redelivery, after `delayMs` if given. */
  nak(delayMs?: number): void;
  /** Never redeliver. */
  term(reason: string): void;
}

export interface SubscribeOptions {
  /** A subject pattern: `*` one token, a trailing `>` the rest. */
  readonly pattern: string;
  /** Members that share a durable share its messages. Without one, and for `str` subjects, a member hears everything while
   *  it listens, and nothing is kept or repeated for it. */
  readonly durable?: string | undefined;
  /** How many deliveries may be unanswered at once. */
  readonly inFlightMax?: number;
}

export interface Subscription {
  /** Stops taking messages; resolves when running handlers have returned. */
  stop(): Promise<void>;
}

export interface BusHealth {
  readonly connected: boolean;
  /** How often it was connected, or took messages again. Those of the time before may be lost. */
  readonly connections: number;
  /** Connected, and what is published is not taken: why, and what to do about it. */
  readonly refuses?: string;
  /** Warnings an operator should see, e.g. an outdated broker. */
  readonly warnings: readonly string[];
  /** Ids of other stores that were met on a shared broker; nothing of theirs is heard. */
  readonly neighbours?: readonly string[] | undefined;
}

/** Whether a message that is published now has a chance to be heard. */
export function isRinging({ connected, refuses }: BusHealth): boolean {
  return connected && refuses === undefined;
}

export interface Bus {
  readonly capabilities: BusCapabilities;
  /** Hands messages over in order. Resolves when the adapter has taken them; that is no promise of delivery (P2).
   *  Rejects with `BusError` when it knows that they were not taken. */
  publish(messages: readonly BusMessage[]): Promise<void>;
  subscribe(options: SubscribeOptions, handler: (delivery: Delivery) => void | Promise<void>): Promise<Subscription>;
  health(): BusHealth;
  close(): Promise<void>;
}

export interface BusCapabilities {
  readonly kind: "memory" | "postgres" | "nats";
  /** Bytes of one message's data plus headers. */
  readonly messageBytesMax: number;
  /** One member of a durable hears each message. Where false, all members do and the database decides who works. */
  readonly exclusiveDurables: boolean;
  /** A message published while no member of its durable is there is kept for it. */
  readonly keepsForAbsent: boolean;
}

export class BusError extends Error {
  override readonly name = "BusError";
  readonly kind: "disconnected" | "too_large" | "closed" | "refused";
  constructor(kind: BusError["kind"], message: string, options: { cause?: unknown } = {}) {
    super(message, { cause: options.cause });
    this.kind = kind;
  }
}

export interface Timer {
  cancel(): void;
}

export interface Clock {
  /** The time passed to the kernel's functions; null in production, so that the database's clock rules (P3). */
  databaseTime(): Date | null;
  /** Milliseconds that only grow, for local intervals. */
  monotonicMs(): number;
  /** Runs `task` once after `ms`. */
  after(ms: number, task: () => void): Timer;
}

/** Makes the ids of rows, messages and traces. */
export interface Ids {
  /** `<prefix>_<32 hex>`, unique in the world, sortable by time: a UUIDv7 without dashes. */
  mint(prefix: string): string;
  /** 32 hex digits, not all zero. */
  traceId(): string;
  /** 16 hex digits, not all zero. */
  spanId(): string;
}

/** Named places in durable code paths where a test may kill the process. Inert in production. */
export interface KillPoints {
  at(name: KillPoint): void | Promise<void>;
}

/** Every durable commit point has a name before it, and one between its commit and what it announces. */
export const KILL_POINTS = [
  "enqueue_turn.before_commit",
  "enqueue_turn.after_commit",
  "resume.before_commit",
  "resume.after_commit",
  "suspend_on_calls.before_commit",
  "suspend_on_calls.after_commit",
  "open_call.before_commit",
  "open_call.after_commit",
  "renew_call.after_commit",
  "put_result_card.before_commit",
  "put_result_card.after_commit",
  "report.before_commit",
  "report.after_commit",
  "apply_results.before_commit",
  "apply_results.after_commit",
  "append_cards.after_commit",
  "take_answers.before_commit",
  "take_answers.after_commit",
  "finish_turn.before_commit",
  "finish_turn.after_commit",
  "stop_turn.before_commit",
  "stop_turn.after_commit",
  "sweep.before_commit",
  "sweep.after_commit",
  "migrate.before_commit",
  "migrate.after_commit",
  "announce.after_publish",
] as const;
export type KillPoint = (typeof KILL_POINTS)[number];
