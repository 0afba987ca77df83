// The `Statements` that a transaction hands to its work.
//
//   X1. Statements run one at a time, in the order they were asked for, even when the work does not await them.
//   X2. When the work has returned, nothing of it is still running and nothing new is let in; what follows on the
//       connection (COMMIT, ROLLBACK) therefore sees all of it.

import { DatabaseError, type Row, type Statements } from "@tessera/kernel/ports";
import { SerialQueue } from "./serial-queue.ts";

export interface StatementRunner {
  query(text: string, values: readonly unknown[]): Promise<Row[]>;
  script(text: string): Promise<void>;
}

class TransactionScope implements Statements {
  readonly #runner: StatementRunner;
  readonly #queue = new SerialQueue();
  #ended = false;

  constructor(runner: StatementRunner) {
    this.#runner = runner;
  }

  async query<R extends Row = Row>(text: string, values: readonly unknown[] = []): Promise<R[]> {
    this.#assertOpen();
    return (await this.#queue.run(() => this.#runner.query(text, values))) as R[];
  }

  async script(text: string): Promise<void> {
    this.#assertOpen();
    await this.#queue.run(() => this.#runner.script(text));
  }

  /** X2 */
  async end(): Promise<void> {
    this.#ended = true;
    await this.#queue.idle();
  }

  #assertOpen(): void {
    if (this.#ended) {
      throw new DatabaseError("statement", "this transaction has ended; await every statement inside its work");
    }
  }
}

/** What both adapters do around a transaction; `finish` answers COMMIT's command tag, because COMMIT of a failed
 *  transaction succeeds and says ROLLBACK. */
export async function runTransaction<T>(
  runner: StatementRunner,
  finish: { commit(): Promise<string>; rollback(): Promise<void> },
  work: (tx: Statements) => Promise<T>,
): Promise<T> {
  const scope = new TransactionScope(runner);
  let result: T;
  try {
    result = await work(scope);
    await scope.end();
  } catch (error) {
    await scope.end();
    await finish.rollback();
    throw error;
  }
  if ((await finish.commit()) === "COMMIT") return result;
  throw new DatabaseError("statement", "the transaction was rolled back, because one of its statements had failed", {
    sqlstate: "25P02",
  });
}

export function leftTransactionOpen(): DatabaseError {
  return new DatabaseError("statement", "a statement opened a transaction and left it open; use `transaction` instead");
}
