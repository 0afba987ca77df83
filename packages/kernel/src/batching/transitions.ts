// One batcher per l0 function: how an item becomes a transaction.
//
//   T1. Every l0 function is safe to repeat, so a lost connection is answered by asking again (ports.ts, P1), a bounded
//       number of times with growing pauses; after that the caller gets `storage_error` and decides.
//   T2. A unique key that is already taken is an answer (`conflict`), not a failure of the batch.
//   T3. A row that another session keeps locked is not waited for by all: its item is answered alone (batcher.ts, B7), and after
//       that the caller gets `storage_busy`.
//   T4. A deadlock is not repeated here: the adapter has done so (ports.ts, P4).

import { TesseraError } from "@tessera/protocol";
import type { Rejected } from "../moves/outcomes.ts";
import {
  type Clock,
  type Database,
  DatabaseError,
  type DatabaseErrorKind,
  KILL_POINTS,
  type KillPoint,
  type KillPoints,
} from "../ports.ts";
import { sqlQuery } from "../store/sql-files.ts";
import { storageCodeOf } from "../store/storage-code.ts";
import { Batcher, type Slots, UNSTORABLE_TEXT } from "./batcher.ts";

const TRIES_MAX = 6;
/** Of a statement without items; each waits for a lock as long as the adapter lets it. */
const LOCKED_TRIES_MAX = 4;
const RETRY_FIRST_MS = 25;
const UNIQUE_VIOLATION = "23505";

export interface TransitionDeps {
  readonly database: Database;
  readonly clock: Clock;
  readonly killPoints: KillPoints;
  readonly slots: Slots;
}

export type Transition<Item, Outcome> = (item: Item) => Promise<Outcome>;

/** A function of l0 that takes batches. `keyOf` names the row that two items must not fight over inside one batch. */
export function transition<Item, Outcome>(
  world: TransitionDeps,
  name: string,
  options: { keyOf?: (item: Item) => string; repeat?: (item: Item) => Item } = {},
): Transition<Item, Outcome> {
  const text = sqlQuery(name);
  const before = killPoint(`${name}.before_commit`);
  const after = killPoint(`${name}.after_commit`);
  const batcher = new Batcher<Outcome>({
    slots: world.slots,
    clock: world.clock,
    run: async (items, isImpatient) => {
      if (before !== null) await world.killPoints.at(before);
      const statements = isImpatient ? (world.database.impatient ?? world.database) : world.database;
      const rows = await repeating(world.clock, (isRepeat) => {
        const sent = isRepeat && options.repeat !== undefined ? repeatItems(items, options.repeat) : items;
        return statements.query<{ answer: readonly Outcome[] }>(text, [`[${sent.join(",")}]`, moment(world.clock)]);
      });
      if (after !== null) await world.killPoints.at(after);
      return rows[0]?.answer ?? [];
    },
    refuse: (error) => refuse(name, error) as Outcome,
  });
  return (item) => batcher.add(item, options.keyOf?.(item) ?? null);
}

/** Runs one statement of l0 that takes no items. Once `stopping` is aborted, it is not tried again. */
export async function runOnce<Answer>(
  world: TransitionDeps,
  name: string,
  values: readonly unknown[],
  stopping?: AbortSignal,
): Promise<Answer> {
  try {
    const ask = () => world.database.query<{ answer: Answer }>(sqlQuery(name), values);
    const rows = await repeating(world.clock, ask, { waitsForLocks: true, stopping });
    return rows[0]?.answer as Answer;
  } catch (error) {
    throw error instanceof DatabaseError ? storageError(name, error) : error;
  }
}

/** The time that is passed to l0, as text; null lets the database's clock rule (P3). */
export function moment(clock: Clock): string | null {
  return clock.databaseTime()?.toISOString() ?? null;
}

async function repeating<T>(
  clock: Clock,
  attempt: (isRepeat: boolean) => Promise<T>,
  { waitsForLocks = false, stopping }: { waitsForLocks?: boolean; stopping?: AbortSignal | undefined } = {},
): Promise<T> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await attempt(tries > 1);
    } catch (error) {
      if (!(error instanceof DatabaseError) || stopping?.aborted) throw error;
      if (tries >= triesMax(error.kind, waitsForLocks)) throw error;
      await new Promise<void>((resolve) => clock.after(RETRY_FIRST_MS * 2 ** (tries - 1), resolve));
    }
  }
}

function triesMax(kind: DatabaseErrorKind, waitsForLocks: boolean): number {
  if (kind === "locked") return waitsForLocks ? LOCKED_TRIES_MAX : 1; // T3
  return kind === "connection_lost" || kind === "unavailable" ? TRIES_MAX : 1; // T4
}

function repeatItems<Item>(items: readonly string[], repeat: (item: Item) => Item): string[] {
  return items.map((text) => JSON.stringify(repeat(JSON.parse(text) as Item)));
}

function refuse(name: string, error: DatabaseError): Rejected {
  if (error.sqlstate === UNIQUE_VIOLATION) return { outcome: "rejected", code: "conflict" };
  if (error.sqlstate === UNSTORABLE_TEXT) return { outcome: "rejected", code: "bad_request" };
  throw storageError(name, error);
}

function storageError(name: string, error: DatabaseError): TesseraError {
  return new TesseraError(storageCodeOf(error.kind), `l0.${name} failed: ${error.message}`, {
    details: { kind: error.kind, sqlstate: error.sqlstate },
    cause: error,
  });
}

const KILL_POINT_NAMES: ReadonlySet<string> = new Set(KILL_POINTS);

function killPoint(name: string): KillPoint | null {
  return KILL_POINT_NAMES.has(name) ? (name as KillPoint) : null;
}
