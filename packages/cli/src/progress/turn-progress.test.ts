import type { Turn } from "@tessera/client";
import { expect, it } from "vitest";
import { callOf, clientOfTurns, openTurn, turnOf } from "../../test/turn-fixture.ts";
import { printed } from "../output/printing-gate.ts";
import { progressLine } from "./progress-text.ts";
import { createTurnProgress } from "./turn-progress.ts";

const step = { stepId: "step_1", startedAt: "2026-01-02T03:04:05.000Z", status: "waiting" as const };

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

it("shows a step, then its calls, each once; a wait when it has taken a moment, and again when its reason changes", async () => {
  let turn = openTurn({ status: "running", steps: [step], calls: [callOf()] });
  const { time, look, progress } = watch(() => [turn], { of_step_1: { text: "I look it up." } });
  expect(await look()).toEqual([
    "turn planner started",
    "step planner I look it up.",
    "call planner search__web called",
  ]);
  const wait = { code: "no_executor" as const, says: "nobody", toolCallId: "tc_1", toolName: "search__web" };
  turn = { ...turn, status: "suspended", waitingFor: [wait] };
  expect(await look()).toEqual([]);
  time.ms = 1_500;
  expect(await look()).toEqual(["wait planner search__web nobody"]);
  expect(await look()).toEqual([]);
  expect(progress.open()).toMatchObject([
    { agent: "planner", tool: "search__web", elapsed_ms: 1_500, reason: "nobody" },
  ]);
  turn = { ...turn, waitingFor: [{ ...wait, code: "executor", says: "e1 has it" }] };
  expect(await look()).toEqual(["wait planner search__web e1 has it"]);

  const settled = callOf({
    waitStatus: "received",
    resultStatus: "failed",
    resultCardId: "r",
    receivedAt: "2026-01-02T03:04:06.000Z",
  });
  turn = turnOf({ steps: [step], calls: [settled], status: "failed", errorCode: "tool_crashed" });
  expect(await look()).toEqual(["call planner search__web failed", "turn planner failed tool_crashed"]);
  expect(await look()).toEqual([]);
  expect(progress.open()).toEqual([]);
});

it("leaves a call whose step is not known yet to the next look, but not when the turn has ended", async () => {
  let turn = openTurn({ calls: [callOf()] });
  const { look } = watch(() => [turn]);
  expect(await look()).toEqual(["turn planner started"]);
  turn = turnOf({ calls: [callOf({ waitStatus: "dropped", resultStatus: "canceled" })] });
  expect(await look()).toEqual([
    "call planner search__web called",
    "call planner search__web canceled",
    "turn planner success",
  ]);
});

it("follows the turns that a turn starts, and says the code of a failed call", async () => {
  const child = turnOf({
    agentTurnId: "turn_2",
    agentName: "researcher",
    calls: [callOf({ waitStatus: "applied", resultStatus: "failed", resultCardId: "r" })],
  });
  const parent = openTurn({
    children: [{ agentTurnId: "turn_2", agentId: "a", agentName: "researcher", status: "success" }],
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

it("shows what ended in one look in the order in which it happened: children before the call that waited for them", async () => {
  const at = (ms: number) => `2026-01-02T03:04:05.${String(ms).padStart(3, "0")}Z`;
  const child = (n: number, ended: number) =>
    turnOf({
      agentTurnId: `turn_${n}`,
      agentName: "researcher",
      createdAt: at(20),
      endedAt: at(ended),
      steps: [{ ...step, stepId: `s_${n}`, startedAt: at(30) }],
    });
  const join = { toolName: "fork_join", waitStatus: "applied", resultStatus: "success" } as const;
  const find = { toolName: "find", waitStatus: "applied", resultStatus: "success", createdAt: at(10) } as const;
  const parent = turnOf({
    createdAt: at(0),
    endedAt: at(80),
    steps: [
      { ...step, startedAt: at(10) },
      { ...step, stepId: "step_2", startedAt: at(80) },
    ],
    calls: [
      callOf({ ...find, toolCallId: "tc_1", receivedAt: at(80) }),
      callOf({ ...find, toolCallId: "tc_2", receivedAt: at(15) }),
      // Asked for in the same millisecond as the children, and done in the one in which the last of them ended.
      callOf({ ...join, toolCallId: "tc_3", createdAt: at(20), receivedAt: at(80) }),
    ],
    children: [2, 3].map((n) => {
      return {
        agentTurnId: `turn_${n}`,
        agentId: `a${n}`,
        agentName: "researcher",
        status: "success",
        toolCallId: "tc_3",
      } as const;
    }),
  });
  const progress = createTurnProgress(
    clientOfTurns(() => [parent, child(2, 80), child(3, 50)]),
    { project: "default", nowMs: () => 0 },
  );
  progress.watch("turn_1");
  const lines = (await progress.look()).map((event) =>
    printed([progressLine(event, 0)])
      .slice(10)
      .replace(/ +/g, " ")
      .trim(),
  );
  expect(lines).toEqual([
    "planner turn started",
    "planner step 1",
    "planner call find#1 called",
    "planner call find#2 called",
    "planner call find#2 success 0.01 s",
    "planner call fork_join called",
    "researcher#1 turn started",
    "researcher#2 turn started",
    "researcher#1 step 1",
    "researcher#2 step 1",
    "researcher#2 turn success",
    "researcher#1 turn success",
    "planner call find#1 success 0.07 s",
    "planner call fork_join success 0.06 s",
    "planner step 2",
    "planner turn success",
  ]);
});

it("says in a word what goes on, and keeps the sentence for programs", async () => {
  const child = { agentId: "a", agentName: "researcher", toolCallId: "tc_1" };
  let turn = openTurn({
    status: "running",
    waitingFor: [{ code: "working", says: "the worker w_1 is at work on it" }],
  });
  const { time, progress } = watch(() => [turn, turnOf({ agentTurnId: "turn_2" })]);
  await progress.look();
  expect(progress.open()).toMatchObject([{ reason: "thinking" }]);
  const wait = { code: "children" as const, says: "1 of 2 turns have not ended", toolCallId: "tc_1" };
  turn = openTurn({
    steps: [step],
    calls: [callOf()],
    waitingFor: [wait],
    children: [
      { ...child, agentTurnId: "turn_2", status: "success" },
      { ...child, agentTurnId: "turn_3", status: "running" },
    ],
  });
  const open = openTurn({ agentTurnId: "turn_3" });
  const { look: _, ...rest } = watch(() => [turn, turnOf({ agentTurnId: "turn_2" }), open]);
  await rest.progress.look();
  rest.time.ms = time.ms + 1_500;
  const [event] = (await rest.progress.look()).filter((each) => each.event === "wait");
  expect(event).toMatchObject({ code: "children", reason: wait.says, children_ended: 1, children_total: 2 });
  expect(printed([progressLine(event as never, 0)])).toContain("1 of 2 ended");
  turn = { ...turn, waitingFor: [{ ...wait, code: "executor", says: "tessera-1 is at work on search__web" }] };
  const [running] = await rest.progress.look();
  expect(printed([progressLine(running as never, 0)])).toMatch(/ wait {2}search__web +running/);
  expect(running).toMatchObject({ reason: "tessera-1 is at work on search__web" });
});
