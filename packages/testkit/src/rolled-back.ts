// Work in a database whose answer is kept and whose changes are rolled back.

import type { Database, Statements } from "@tessera/kernel";

/** Runs `work` in a transaction, rolls it back and answers what it answered. */
export async function rolledBack<T>(
  database: Pick<Database, "transaction">,
  work: (tx: Statements) => Promise<T>,
): Promise<T> {
  const done: { value: T }[] = [];
  const rollback = new Error("rolled back");
  try {
    await database.transaction(async (tx) => {
      done.push({ value: await work(tx) });
      throw rollback;
    });
  } catch (error) {
    if (error !== rollback) throw error;
  }
  const [result] = done;
  if (result === undefined) throw new Error("the work did not run");
  return result.value;
}
