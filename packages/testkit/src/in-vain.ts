// Work in a database that is answered as if it were committed, and is not.

import type { Database, Statements } from "@tessera/kernel";

/** Runs `work` in a transaction and takes all of it back. */
export async function inVain<T>(
  database: Pick<Database, "transaction">,
  work: (tx: Statements) => Promise<T>,
): Promise<T> {
  const done: { value: T }[] = [];
  const takenBack = new Error("taken back");
  try {
    await database.transaction(async (tx) => {
      done.push({ value: await work(tx) });
      throw takenBack;
    });
  } catch (error) {
    if (error !== takenBack) throw error;
  }
  const [result] = done;
  if (result === undefined) throw new Error("nothing was done");
  return result.value;
}
