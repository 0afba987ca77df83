import type { Clock } from "../ports.ts";

/** A time for people to read, compared with nothing: the database's, or this machine's where that is not known yet. */
export function shownTime(clock: Pick<Clock, "databaseTime">): Date {
  return clock.databaseTime() ?? new Date();
}
