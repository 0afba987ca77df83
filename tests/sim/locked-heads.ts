// Heads of agents that another session has locked, in a store that has one session.
//
//   L1. Locking statements of the kernel that pass over a locked head find it so while a setting of the session says it. Only the end
//       of a turn and the sweeper are asked to: there the answer to the asking agent is counted (34_conversations.sql, A1).
//   L2. The fault has happened where an answer was left uncounted.

import type { Database, Row } from "@tessera/kernel";
import type { FunctionChange } from "@tessera/testkit/changed-functions";
import type { FaultPlan } from "@tessera/testkit/sim";

/** Made in the simulation's own database. */
export const LOCKABLE_HEADS: FunctionChange = {
  fn: "count_answer",
  from: "for no key update skip locked",
  to: "and current_setting('sim.locked_heads', true) is distinct from 'on' for no key update skip locked",
};
const COUNTS = /\bl0\.(finish_plainly|finish_turn|stop_turn|sweep_inbox|sweep_workers)\(/;
const SET = "select set_config('sim.locked_heads', $1, false)";
const UNCOUNTED =
  "select count(*)::int as answers from state.inbox where message_type = 'answer' and status = 'deferred'";

export function withLockedHeads(store: Database, faults: FaultPlan): Database {
  async function query<R extends Row>(text: string, values: readonly unknown[] = []): Promise<R[]> {
    if (!COUNTS.test(text) || !faults.draws("store.locked_head")) return await store.query<R>(text, values);
    await store.query(SET, ["on"]);
    const rows = await store.query<R>(text, values).finally(() => store.query(SET, ["off"]));
    const [left] = await store.query<{ answers: number }>(UNCOUNTED);
    if ((left?.answers ?? 0) > 0) faults.happened("store.locked_head"); // L2
    return rows;
  }
  return { ...store, query };
}
