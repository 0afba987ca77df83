// What one turn shows when there is more than is shown, and which call a child belongs to.

import type { Row, StepRow, TimelineRow } from "@tessera/kernel";
import { expect, it } from "vitest";
import { type TurnReads, wholeTurn } from "./turn-document.ts";

const step = (n: number) => ({ step_id: `s${n}`, started_at: `t${n}`, status: "done" }) as Partial<StepRow> as StepRow;
const entry = (n: number) => ({ kind: "step", step_id: `s${n}` }) as Partial<TimelineRow> as TimelineRow;
const numbers = (count: number) => Array.from({ length: count }, (_, n) => n);

function shown(
  { steps, timeline, children = [] }: { readonly steps: number; readonly timeline: number; readonly children?: Row[] },
  turn: Row = { project_id: "p", agent_turn_id: "t", agent_id: "a", ended_at: "now", deliverable_card_id: null },
) {
  const reads: Partial<TurnReads["reads"]> = {
    turn: async () => turn,
    agent: async () => null,
    callsOfTurn: async () => [],
    childTurns: async () => children,
    steps: async (_project, _filter, { order, limit }) =>
      (order === "desc" ? numbers(steps).toReversed() : numbers(steps)).slice(0, limit).map(step),
    timeline: async (_project, _turn, limit) => ({
      entries: numbers(timeline).slice(-limit).map(entry),
      isCut: timeline > limit,
    }),
    instructions: async () => new Map(),
  };
  return wholeTurn({ reads: reads as TurnReads["reads"] }, "p", "t") as Promise<{
    readonly steps: readonly { readonly step_id: string }[];
    readonly timeline: readonly { readonly step_id: string }[];
    readonly steps_cut: boolean;
    readonly timeline_cut: boolean;
    readonly children: readonly object[];
  }>;
}

it("shows the newest steps and entries in their order, and says that there are older ones", async () => {
  const turn = await shown({ steps: 201, timeline: 501 });
  expect([turn.steps.length, turn.steps[0]?.step_id, turn.steps.at(-1)?.step_id]).toEqual([200, "s1", "s200"]);
  expect([turn.timeline.length, turn.timeline[0]?.step_id, turn.timeline.at(-1)?.step_id]).toEqual([500, "s1", "s500"]);
  expect([turn.steps_cut, turn.timeline_cut]).toEqual([true, true]);
});

it("says that nothing is left out where nothing is", async () => {
  const turn = await shown({ steps: 200, timeline: 500 });
  expect([turn.steps[0]?.step_id, turn.steps.length, turn.timeline.length]).toEqual(["s0", 200, 500]);
  expect([turn.steps_cut, turn.timeline_cut]).toEqual([false, false]);
});

it("names the call of a child also after the turn has ended, where it is known", async () => {
  const child = { agent_turn_id: "c", agent_id: "b", turn_status: "success" };
  const children = [
    { ...child, parent_tool_call_id: "tc" },
    { ...child, parent_tool_call_id: null },
  ];
  const turn = await shown({ steps: 0, timeline: 0, children });
  expect(turn.children).toEqual([
    { agent_turn_id: "c", agent_id: "b", agent_name: null, status: "success", tool_call_id: "tc" },
    { agent_turn_id: "c", agent_id: "b", agent_name: null, status: "success" },
  ]);
});
