// A store that can lose what it committed last, as a replica does that takes over and had not received it (docs/faults.md#f30).
//
//   T1. From `begin` on everything is answered as if it were committed, and is not; `lose` takes all of it back at once.
//   T2. A statement in between is all or nothing, as it is outside.
//   T3. What was lost is known afterwards by comparing rows: calls and turns that are gone, or are what they were before.

import type { Database, Row, Statements } from "@tessera/kernel";
import { rolledBack } from "@tessera/testkit/rolled-back";

export interface Lost {
  readonly calls: ReadonlySet<string>;
  readonly turns: ReadonlySet<string>;
}

/** Of a store that keeps what it committed. */
export const NOTHING_LOST: Lost = { calls: new Set(), turns: new Set() };

export interface LosableStore {
  readonly database: Database;
  /** Whether something would be lost now. */
  readonly isOpen: boolean;
  begin(): Promise<void>;
  lose(): Promise<Lost>;
}

const ROWS = `
  select 'call' as kind, c.tool_call_id as id, md5(c::text) as row from state.calls c
  union all select 'turn', t.agent_turn_id, md5(t::text) from state.agent_turns t`;

export function losableStore(inner: Database): LosableStore {
  let tail: { readonly tx: Statements; readonly takeBack: () => Promise<void> } | null = null;

  /** T2 */
  async function alone<T>(tx: Statements, work: (statements: Statements) => Promise<T>): Promise<T> {
    await tx.script("savepoint one");
    try {
      const result = await work(tx);
      await tx.script("release savepoint one");
      return result;
    } catch (error) {
      await tx.script("rollback to savepoint one; release savepoint one");
      throw error;
    }
  }

  const database: Database = {
    ...inner,
    capabilities: inner.capabilities,
    query: <R extends Row>(text: string, values?: readonly unknown[]) =>
      tail === null ? inner.query<R>(text, values) : alone(tail.tx, (tx) => tx.query<R>(text, values)),
    script: (text) => (tail === null ? inner.script(text) : tail.tx.script(text)),
    transaction: (work) => (tail === null ? inner.transaction(work) : alone(tail.tx, work)),
    close: () => inner.close(),
  };

  async function rows(): Promise<Map<string, string>> {
    const found = await database.query<{ kind: string; id: string; row: string }>(ROWS);
    return new Map(found.map(({ kind, id, row }) => [`${kind} ${id}`, row]));
  }

  return {
    database,
    get isOpen() {
      return tail !== null;
    },
    async begin() {
      const opened = Promise.withResolvers<Statements>();
      const ended = Promise.withResolvers<void>();
      const over = rolledBack(inner, async (tx) => {
        opened.resolve(tx);
        await ended.promise;
      });
      const takeBack = async () => {
        ended.resolve();
        await over;
      };
      tail = { tx: await opened.promise, takeBack };
    },
    async lose() {
      const before = await rows();
      await tail?.takeBack();
      tail = null;
      const after = await rows();
      const lost = [...before].filter(([key, row]) => after.get(key) !== row).map(([key]) => key);
      const of = (kind: string) =>
        new Set(lost.filter((key) => key.startsWith(kind)).map((key) => key.slice(kind.length)));
      return { calls: of("call "), turns: of("turn ") }; // T3
    },
  };
}
