// Whether the store is still one that this process may work on: a newer build may have migrated it meanwhile (kernel's migrate.ts, M3).
//
//   S1. Asked every SCHEMA_WATCH_MS; a database that does not answer then says nothing about its schema.
//   S2. Told once. A breaking migration is not taken back.

import { type Clock, type Database, outdatedBy, type Repetition, repeatEvery } from "@tessera/kernel";
import { TesseraError } from "@tessera/protocol";

const SCHEMA_WATCH_MS = 2_000;

export function watchSchema(options: {
  readonly database: Database;
  readonly clock: Clock;
  readonly onOutdated: (error: TesseraError) => void;
}): Repetition {
  const { database, clock, onOutdated } = options;
  let isTold = false;
  return repeatEvery({
    clock,
    everyMs: SCHEMA_WATCH_MS,
    async task() {
      const found = isTold ? null : await outdatedBy(database);
      if (found === null) return;
      isTold = true; // S2
      onOutdated(new TesseraError("unsupported_version", `${found}: this process takes no more work; upgrade it`));
    },
    onFailure: () => undefined, // S1
  });
}
