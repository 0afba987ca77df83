// Whether a store takes writes: asked before work begins, and while it was seen to take none.

import { moment } from "../batching/transitions.ts";
import type { Clock, Database } from "../ports.ts";
import { sqlQuery } from "./sql-files.ts";

/** A standby, or a server that is set to take none. Asks with a read. */
export async function isReadOnly(database: Database): Promise<boolean> {
  const [row] = await database.query<{ is_read_only: boolean }>(sqlQuery("is_read_only"));
  return row?.is_read_only === true;
}

/** Rejects as a write would. Leaves no row. */
export async function probeWrite(database: Database, clock: Clock): Promise<void> {
  await database.query(sqlQuery("probe_write"), [moment(clock)]);
}
