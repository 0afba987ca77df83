// What must be true of a run that has ended, beside the invariants of the store.
//
//   C1. Every turn that was asked for ended, and every child is one deeper than its parent; a turn for answers is as deep as the one
//       that asked for them.
//   C2. `once`: at most one effect per call, exactly one where the call says success, none where it says that it failed and
//       does not say that the outcome is unknown. `idempotent`: one key per call, that of no other call.
//   C3. Where the store lost commits (docs/faults.md#f30), nothing can hold for turns that are gone, nor for how often a call had
//       its effect whose claim or result is gone: an effect outlives the store that knew of it. Its key still is its own, which
//       is how the world outside can recognise a second run.

import type { Database } from "@tessera/kernel";
import type { EffectLedger } from "./effect-ledger.ts";
import type { Lost } from "./lost-tail.ts";

interface CallRow {
  readonly [column: string]: unknown;
  readonly tool_call_id: string;
  readonly tool_name: string;
  readonly effect: "read" | "idempotent" | "once";
  readonly status: string | null;
  readonly code: string | null;
}

const CALLS = `
  select c.tool_call_id, c.tool_name, c.effect::text as effect, c.result_status::text as status,
         r.content -> 'error' ->> 'code' as code
    from state.calls c left join card.cards r on r.card_id = c.result_card_id and r.project_id = c.project_id
   order by c.tool_call_id`;
/** Whatever became of it, its caller was not told that it did not happen. */
const UNDECIDED: ReadonlySet<string | null> = new Set(["outcome_unknown", "canceled"]);

/** C1 */
export async function unendedTurn(
  store: Database,
  asked: ReadonlySet<string>,
  { turns }: Lost,
): Promise<string | null> {
  const rows = await store.query<{ agent_turn_id: string }>(
    "select agent_turn_id from state.agent_turns where ended_at is not null",
  );
  const ended = new Set(rows.map(({ agent_turn_id }) => agent_turn_id));
  const lost = [...asked].find((turn) => !ended.has(turn) && !turns.has(turn)); // C3
  return lost === undefined ? null : `the turn ${lost} was accepted and has not ended`;
}

/** C1 */
export async function wrongDepth(store: Database): Promise<string | null> {
  const rows = await store.query(`
    select t.agent_turn_id, t.recursion_depth, p.recursion_depth as parent_depth
      from state.agent_turns t left join state.agent_turns p on p.agent_turn_id = t.parent_agent_turn_id
     where t.recursion_depth <> coalesce(p.recursion_depth + case when exists (
             select 1 from card.cards k where k.box_id = t.context_box_id and k.type = 'agent.answer') then 0 else 1 end, 0)`);
  return rows.length === 0 ? null : `a turn's depth does not follow from its parent's: ${JSON.stringify(rows[0])}`;
}

/** C2 */
export async function ledgerDisagreement(store: Database, ledger: EffectLedger, lost: Lost): Promise<string | null> {
  const calls = await store.query<CallRow>(CALLS);
  const known = new Set(calls.map(({ tool_call_id }) => tool_call_id));
  const stray = ledger.calls().find((id) => !known.has(id) && !lost.calls.has(id));
  if (stray !== undefined) return `a tool ran for the call ${stray}, which was never committed`;
  const keys = new Map<string, string>();
  for (const call of calls) {
    const wrong =
      (lost.calls.has(call.tool_call_id) ? null : wrongEffects(call, ledger)) ?? wrongKey(call, ledger, keys);
    if (wrong !== null) return `${call.tool_name} ${call.tool_call_id} (${call.status}/${call.code}): ${wrong}`;
  }
  return null;
}

function wrongEffects(call: CallRow, ledger: EffectLedger): string | null {
  const effects = ledger.of(call.tool_call_id);
  if (call.status === "success" && effects.length === 0 && call.tool_name !== "fork_join") {
    return "it succeeded without an effect";
  }
  if (call.effect === "once") {
    if (effects.length > 1) return `a once tool had ${effects.length} effects: ${JSON.stringify(effects)}`;
    const isDenied = call.status !== null && call.status !== "success" && !UNDECIDED.has(call.code);
    if (isDenied && effects.length > 0) return "it says that it failed, and it had its effect";
  }
  return null;
}

function wrongKey(call: CallRow, ledger: EffectLedger, keys: Map<string, string>): string | null {
  // A call that was lost leaves its id to the next that a model gives it to, which may be another tool's.
  const effects = ledger.of(call.tool_call_id).filter(({ toolName }) => toolName === call.tool_name);
  for (const { idempotencyKey } of effects) {
    const owner = keys.get(idempotencyKey);
    if (owner !== undefined && owner !== call.tool_call_id) return `its key is also that of ${owner}`;
    keys.set(idempotencyKey, call.tool_call_id);
  }
  return new Set(effects.map(({ idempotencyKey }) => idempotencyKey)).size > 1 ? "its attempts had several keys" : null;
}
