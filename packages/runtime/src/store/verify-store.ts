// The invariants of an open store, as a report; with errors that name the store.

import { type VerifyReport, verifyStore as verifyDatabase } from "@tessera/kernel";
import type { Store } from "./open-store.ts";
import { storeError } from "./store-error.ts";

export type { MigrateResult, VerifyReport, Violation } from "@tessera/kernel";

/** Live: safety, and what is overdue. Drained: safety and liveness, for a store in which nothing is under way. */
export async function verifyStore(store: Store, options: { readonly drained?: boolean } = {}): Promise<VerifyReport> {
  try {
    return await verifyDatabase(store.database, options);
  } catch (error) {
    throw storeError(error, store.place, "cannot verify");
  }
}
