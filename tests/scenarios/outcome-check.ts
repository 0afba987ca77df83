// What must be true of a store when all is over, whatever happened on the way: the invariants, one outcome per call, one
// end per turn, transcripts in call order, and no effect that its tool did not allow.

import { type Database, verifyStore } from "@tessera/kernel";
import { expect } from "vitest";
import type { EffectEntry, EffectLedger } from "./effect-ledger.ts";
import { callIdsOf, type PlannedTurn } from "./turn-plan.ts";

export interface CheckedStore {
  readonly database: Database;
  readonly project: string;
  readonly ledger: EffectLedger;
  readonly turns: readonly PlannedTurn[];
  /** How a turn may have ended; `success` unless the test says otherwise. */
  readonly mayEnd?: (turn: PlannedTurn) => readonly string[];
}

type TurnRow = { agent_turn_id: string; status: string };
type CallRow = {
  tool_call_id: string;
  agent_turn_id: string;
  effect: string;
  wait_status: string;
  result_status: string | null;
  settled_by: string | null;
  results: number;
};
type CardRow = { agent_turn_id: string; type: string; tool_call_id: string | null };

export async function countEnded(database: Database, project: string): Promise<number> {
  const rows = await database.query<{ ended: number }>(
    "select count(*)::int as ended from state.agent_turns where project_id = $1 and ended_at is not null",
    [project],
  );
  return rows[0]?.ended ?? 0;
}

export async function expectOneOutcomeEach(store: CheckedStore): Promise<readonly CallRow[]> {
  const { database, project, turns, ledger, mayEnd = () => ["success"] } = store;
  expect((await verifyStore(database, { drained: true })).violations).toEqual([]);

  const turnRows = await database.query<TurnRow>(
    "select agent_turn_id, status from state.agent_turns where project_id = $1",
    [project],
  );
  const statusOf = new Map(turnRows.map((row) => [row.agent_turn_id, row.status]));
  expect(turnRows).toHaveLength(turns.length);
  for (const turn of turns) expect(mayEnd(turn)).toContain(statusOf.get(turn.agent_turn_id));

  const calls = await database.query<CallRow>(
    `select c.tool_call_id, c.agent_turn_id, c.effect, c.wait_status, c.result_status, c.settled_by,
            (select count(*)::int from card.box_contents b join card.cards k on k.card_id = b.card_id
              where b.box_id = c.box_id and k.type = 'tool.result' and k.tool_call_id = c.tool_call_id) as results
       from state.calls c where c.project_id = $1 order by c.tool_call_id`,
    [project],
  );
  for (const turn of turns) {
    const made = calls.filter((call) => call.agent_turn_id === turn.agent_turn_id).map((call) => call.tool_call_id);
    const planned = callIdsOf(turn).sort();
    // A turn that succeeded made every call of its plan; one that was stopped or failed made some of them, and no other.
    if (statusOf.get(turn.agent_turn_id) === "success") expect(made).toEqual(planned);
    else expect(planned).toEqual(expect.arrayContaining(made));
  }
  for (const call of calls) {
    expect(call).toMatchObject({ results: 1, result_status: expect.any(String), settled_by: expect.any(String) });
    expect(["applied", "dropped"]).toContain(call.wait_status);
  }
  expectCallOrder(await readTranscripts(database, project));
  expectAllowedEffects(calls, ledger.entries());
  return calls;
}

async function readTranscripts(database: Database, project: string): Promise<Map<string, CardRow[]>> {
  const cards = await database.query<CardRow>(
    `select t.agent_turn_id, k.type, k.tool_call_id
       from state.agent_turns t join card.box_contents b on b.box_id = t.output_box_id and b.pos >= t.box_start
       join card.cards k on k.card_id = b.card_id and k.agent_turn_id = t.agent_turn_id
      where t.project_id = $1 order by t.agent_turn_id, b.pos`,
    [project],
  );
  return Map.groupBy(cards, (card) => card.agent_turn_id);
}

/** Each thought is followed by its calls and then by their results, in the order of the calls (promise 7). */
function expectCallOrder(transcripts: Map<string, CardRow[]>): void {
  for (const cards of transcripts.values()) {
    const idsOf = (type: string) => cards.filter((card) => card.type === type).map((card) => card.tool_call_id);
    expect(idsOf("tool.result")).toEqual(idsOf("tool.call"));
    let open: (string | null)[] = [];
    for (const card of cards) {
      if (card.type === "tool.call") open.push(card.tool_call_id);
      else if (card.type === "tool.result") expect(open.shift()).toBe(card.tool_call_id);
      else {
        expect(open).toEqual([]);
        open = [];
      }
    }
    expect(open).toEqual([]);
  }
}

/** `once` never acts twice; what may be repeated is repeated under one key; success means that it acted. */
function expectAllowedEffects(calls: readonly CallRow[], entries: readonly EffectEntry[]): void {
  const byCall = Map.groupBy(entries, (entry) => entry.tool_call_id);
  for (const call of calls) {
    const effects = byCall.get(call.tool_call_id) ?? [];
    if (call.effect === "once") expect(effects.length, `effects of ${call.tool_call_id}`).toBeLessThanOrEqual(1);
    expect(new Set(effects.map((entry) => entry.key)).size).toBeLessThanOrEqual(1);
    if (call.result_status === "success")
      expect(effects.length, `effects of ${call.tool_call_id}`).toBeGreaterThanOrEqual(1);
  }
  const known = new Set(calls.map((call) => call.tool_call_id));
  expect(entries.filter((entry) => !known.has(entry.tool_call_id))).toEqual([]);
}
