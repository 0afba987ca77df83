import type { Turn } from "@tessera/client";
import { expect, it } from "vitest";
import { callOf, clientOfTurns, openTurn, turnOf } from "../test/turn-fixture.ts";
import { createTurnProgress } from "./turn-progress.ts";

const step = { step_id: "step_1", started_at: "2026-01-02T03:04:05.000Z", status: "waiting" as const };

function watch(turns: () => readonly Turn[], cards = {}) {
  const time = { ms: 0 };
  const progress = createTurnProgress(clientOfTurns(turns, cards), { project: "default", nowMs: () => time.ms });
  progress.watch("turn_1");
  const look = async () =>
    (await progress.look()).map(({ event, agent, tool, status, reason, text, error_code }) =>
      [event, agent, tool, status, reason, text, error_code].filter((part) => part !== undefined).join(" "),
    );
  return { time, look, progress };
}

it("tells a step, then its calls, each once; a wait when it has taken a moment, and again when its reason changes", async () => {
  let turn = openTurn({ status: "running", steps: [step], calls: [callOf()] });
  const { time, look, progress } = watch(() => [turn], { of_step_1: { text: "I look it up." } });
  expect(await look()).toEqual([
    "turn planner started",
    "step planner I look it up.",
    "call planner search__web called",
  ]);
  const wait = { code: "no_executor" as const, says: "nobody", tool_call_id: "tc_1", tool_name: "search__web" };
  turn = { ...turn, status: "suspended", waiting_for: [wait] };
  expect(await look()).toEqual([]);
  time.ms = 1_500;
  expect(await look()).toEqual(["wait planner search__web nobody"]);
  expect(await look()).toEqual([]);
  expect(progress.open()).toMatchObject([
    { agent: "planner", tool: "search__web", elapsed_ms: 1_500, reason: "nobody" },
  ]);
  turn = { ...turn, waiting_for: [{ ...wait, code: "executor", says: "e1 has it" }] };
  expect(await look()).toEqual(["wait planner search__web e1 has it"]);

  const settled = callOf({
    wait_status: "received",
    result_status: "failed",
    result_card_id: "r",
    received_at: "2026-01-02T03:04:06.000Z",
  });
  turn = turnOf({ steps: [step], calls: [settled], status: "failed", error_code: "tool_crashed" });
  expect(await look()).toEqual(["call planner search__web failed", "turn planner failed tool_crashed"]);
  expect(await look()).toEqual([]);
  expect(progress.open()).toEqual([]);
});

it("leaves a call whose step is not known yet to the next look, but not when the turn has ended", async () => {
  let turn = openTurn({ calls: [callOf()] });
  const { look } = watch(() => [turn]);
  expect(await look()).toEqual(["turn planner started"]);
  turn = turnOf({ calls: [callOf({ wait_status: "dropped", result_status: "canceled" })] });
  expect(await look()).toEqual([
    "call planner search__web called",
    "call planner search__web canceled",
    "turn planner success",
  ]);
});

it("follows the turns that a turn starts, and says the code of a failed call", async () => {
  const child = turnOf({
    agent_turn_id: "turn_2",
    agent_name: "researcher",
    calls: [callOf({ wait_status: "applied", result_status: "failed", result_card_id: "r" })],
  });
  const parent = openTurn({
    children: [{ agent_turn_id: "turn_2", agent_id: "a", agent_name: "researcher", status: "success" }],
  });
  const { look } = watch(() => [parent, child], { r: { error: { code: "E_NO" } } });
  expect(await look()).toEqual([
    "turn planner started",
    "turn researcher started",
    "call researcher search__web called",
    "call researcher search__web failed E_NO",
    "turn researcher success",
  ]);
});
