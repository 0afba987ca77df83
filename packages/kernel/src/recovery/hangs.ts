// Hangs: a turn's code holds up its process for good (an endless loop in an inline tool, in an extension, in a model's client).
// Its process is ended from outside of its event loop, and the store records whose fault it was (l0.note_hang).

import { moment } from "../batching/transitions.ts";
import type { Clock, Database } from "../ports.ts";
import { sqlQuery } from "../store/sql-files.ts";

/** A turn of which a process runs code now: as its worker, or as the executor of one of its calls. */
export interface AtWork {
  readonly agent_turn_id: string;
  /** Who holds the turn; absent: an executor. */
  readonly worker_id?: string;
  /** It lost a process before: what runs in its name is watched closely. */
  readonly isSuspect: boolean;
}

/** Runs a piece of a turn so that a hang in it is known as this turn's. */
export type WhileAtWork = <T>(turn: AtWork, work: () => Promise<T>) => Promise<T>;

/** Where no hang is watched for. */
export const unwatched: WhileAtWork = (_, work) => work();

export interface HangNote {
  readonly hang_id: string;
  /** Of the process that is ended. */
  readonly workers: readonly string[];
  /** The turns in whose code it stood; null: not known. */
  readonly blamed: readonly string[] | null;
}

/** Ends the leases of the workers, and the turns that are blamed for the second time. Safe to repeat. */
export async function noteHang(
  database: Pick<Database, "query">,
  clock: Clock,
  note: HangNote,
): Promise<{ readonly ended: number }> {
  const rows = await database.query<{ answer: { ended: number } }>(sqlQuery("note_hang"), [
    JSON.stringify(note),
    moment(clock),
  ]);
  return rows[0]?.answer ?? { ended: 0 };
}
