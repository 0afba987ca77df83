// The store that every new embedded one is a copy of (open-store.ts, O2). A release makes it once and ships it.

import type { Snapshot } from "@tessera/engines/pglite";
import { prepareCopies, SCHEMA_DIGEST } from "@tessera/kernel";

/** It belongs to one schema, functions included. */
export const PREPARED_STORE_KEY = `schema-${SCHEMA_DIGEST.slice(0, 24)}`;

export async function makePreparedStore(): Promise<Snapshot> {
  const { openPglite } = await import("@tessera/engines/pglite");
  const database = await openPglite();
  try {
    await prepareCopies(database);
    return await database.dumpSnapshot();
  } finally {
    await database.close();
  }
}
