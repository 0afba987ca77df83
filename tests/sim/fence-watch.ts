// Watches the functions of the kernel from outside: what may only be written by who holds a turn or a call, was it?
//
//   W1. The row that gives the right is read before the statement, in the same session, so nothing can come between.
//   W2. An epoch never falls, unless the store lost what it had committed.

import { createHash } from "node:crypto";
import type { Database, Row } from "@tessera/kernel";

const TURN_FUNCTIONS =
  /\bl0\.(suspend_on_calls|suspend_plainly|suspend_locally|apply_results|apply_plainly|append_cards|finish_turn|finish_plainly|defer_turn|take_answers)\(/;
const CALL_FUNCTIONS = /\bl0\.(report_at|report_plainly|put_result_card_at)\(/;
const HEADS = `
  select h.agent_id, h.active_agent_turn_id, h.turn_epoch from state.agent_state_head h
   where h.agent_id = any (select e.value ->> 'agent_id' from jsonb_array_elements($1::jsonb) e)`;
const CALLS = `
  select c.tool_call_id, c.wait_status::text as wait_status, encode(c.cap_sha256, 'hex') as cap from state.calls c
   where c.tool_call_id = any (select e.value ->> 'tool_call_id' from jsonb_array_elements($1::jsonb) e)`;

type Item = Readonly<Record<string, unknown>>;
type Check = (item: Item) => string | null;

export interface FenceWatch {
  readonly database: Database;
  /** The first write without a right to it; null: none. */
  violation(): string | null;
  forgetEpochs(): void;
}

export function watchFences(store: Database): FenceWatch {
  const epochs = new Map<string, number>();
  let violation: string | null = null;

  async function query<R extends Row>(text: string, values: readonly unknown[] = []): Promise<R[]> {
    const fn = TURN_FUNCTIONS.exec(text)?.[1] ?? CALL_FUNCTIONS.exec(text)?.[1];
    if (fn === undefined) return await store.query<R>(text, values);
    const check = TURN_FUNCTIONS.test(text) ? await holdsTurn(values[0]) : await holdsCall(values[0]); // W1
    const rows = await store.query<R>(text, values);
    const answers = rows[0]?.answer as readonly Item[];
    for (const [n, item] of (JSON.parse(String(values[0])) as Item[]).entries()) {
      const wrong = answers[n]?.outcome === "accepted" ? check(item) : null;
      if (wrong !== null) violation ??= `${fn}: ${wrong}`;
    }
    return rows;
  }

  async function holdsTurn(items: unknown): Promise<Check> {
    const heads = new Map((await store.query(HEADS, [items])).map((head) => [head.agent_id, head]));
    for (const { agent_id, turn_epoch } of heads.values()) {
      const agent = String(agent_id);
      const epoch = Number(turn_epoch);
      if (epoch < (epochs.get(agent) ?? 0)) violation ??= `the epoch of ${agent} fell to ${epoch}`; // W2
      epochs.set(agent, epoch);
    }
    return (item) => {
      const head = heads.get(item.agent_id);
      const isHeld =
        head?.active_agent_turn_id === item.agent_turn_id && Number(head?.turn_epoch) === Number(item.turn_epoch);
      if (isHeld) return null;
      return `written at epoch ${item.turn_epoch} of ${item.agent_turn_id}, the head is at ${head?.turn_epoch} of ${head?.active_agent_turn_id}`;
    };
  }

  async function holdsCall(items: unknown): Promise<Check> {
    const calls = new Map((await store.query(CALLS, [items])).map((call) => [call.tool_call_id, call]));
    return (item) => {
      const call = calls.get(item.tool_call_id);
      const shown = createHash("sha256")
        .update(Buffer.from(String(item.capability), "hex"))
        .digest("hex");
      if (call?.wait_status !== "waiting") return `a result was taken for ${item.tool_call_id}, which was settled`;
      return call.cap === shown
        ? null
        : `a result for ${item.tool_call_id} was taken from an attempt that does not hold it`;
    };
  }

  return { database: { ...store, query }, violation: () => violation, forgetEpochs: () => epochs.clear() };
}
