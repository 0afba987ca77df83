import type { Wait } from "@tessera/client";
import { expect, it } from "vitest";
import { callOf, clientOfTurns, openTurn, turnOf } from "../../test/turn-fixture.ts";
import { followWaits, nextCommand, whySentence } from "./turn-why.ts";

const FLAGS = { project: "default", data: "./store" };
const DEADLINE = "2026-01-02T04:00:00.000Z";

function waiting(wait: Partial<Wait> & Pick<Wait, "code" | "says">) {
  return openTurn({ waitingFor: [wait] });
}

async function why(
  turns: Parameters<typeof clientOfTurns>[0],
  flags: Parameters<typeof nextCommand>[1] = FLAGS,
  isAbandoned = false,
) {
  const found = await followWaits(clientOfTurns(turns), "default", "turn_1");
  return { ...nextCommand(found, flags, isAbandoned), sentence: whySentence(found, isAbandoned), found };
}

it.each([
  [
    waiting({
      code: "no_executor",
      says: `no executor of web has taken it, until ${DEADLINE} at the latest`,
      target: "web",
      deadlineAt: DEADLINE,
    }),
    FLAGS,
    `The turn of planner has not ended: no executor of web has taken it, until ${DEADLINE} at the latest.`,
    "tessera keys create --role executor --target web --data ./store",
  ],
  [
    waiting({ code: "no_executor", says: "no executor", target: "web" }),
    { project: "p", postgres: "postgres://me:secret@h/d" },
    "The turn of planner has not ended: no executor.",
    "tessera start BUNDLE --role tools --postgres postgres://me@h/d --project p",
  ],
  [
    waiting({ code: "no_worker", says: "no worker has taken it yet" }),
    { project: "default", postgres: "postgres://h/d" },
    "The turn of planner has not ended: no worker has taken it yet.",
    "tessera start BUNDLE --role worker --postgres postgres://h/d",
  ],
  [
    waiting({ code: "no_worker", says: "no worker has taken it yet" }),
    { project: "p", data: "./my store" },
    "The turn of planner has not ended: no worker has taken it yet.",
    "tessera start BUNDLE --role kernel,worker,pmo,tools,api --data './my store' --project p",
  ],
  [
    waiting({ code: "executor", says: "e1 is at work on it", deadlineAt: DEADLINE }),
    { project: "default", url: "http://h:1" },
    `The turn of planner has not ended: e1 is at work on it, until ${DEADLINE} at the latest.`,
    "tessera turns stop turn_1 --url http://h:1",
  ],
  [
    turnOf({ status: "failed", errorCode: "model_error", errorMessage: "no words" }),
    FLAGS,
    "The turn of planner ended at 2026-01-02T03:04:07.500Z (failed), with model_error: no words.",
    "tessera turns show turn_1 --data ./store",
  ],
])("one wait is one sentence and one command: %#", async (turn, flags, sentence, command) => {
  expect(await why(() => [turn], flags)).toMatchObject({ sentence, command });
});

it("follows turns that are waited for down to the one where the wait is, past those that have ended, never in a circle", async () => {
  const child = { agentId: "a", agentName: "researcher", status: "suspended" as const };
  const root = openTurn({
    waitingFor: [{ code: "children", says: "1 of 2", agentTurnIds: ["turn_2", "turn_3"] }],
    children: [
      { ...child, agentTurnId: "turn_2", status: "success" },
      { ...child, agentTurnId: "turn_3" },
    ],
  });
  const leaf = openTurn({ agentTurnId: "turn_3", agentName: "researcher" });
  const working = { ...leaf, waitingFor: [{ code: "local_tool" as const, says: "its worker runs slow" }] };
  const told = await why(() => [root, working]);
  expect(told.sentence).toBe(
    "The turn of planner waits for the turn turn_3 of researcher, which has not ended: its worker runs slow.",
  );
  expect(told.command).toBe("tessera turns stop turn_3 --data ./store");

  const circle = {
    ...leaf,
    waitingFor: [{ code: "queued_behind" as const, says: "behind", agentTurnIds: ["turn_1"] }],
  };
  expect((await why(() => [root, circle])).found.path).toHaveLength(2);
});

it("names first what needs an action of a person", async () => {
  const turn = openTurn({
    waitingFor: [
      { code: "executor", says: "e1 is at work" },
      { code: "no_executor", says: "no executor of web", target: "web" },
    ],
  });
  expect((await why(() => [turn])).sentence).toContain("no executor of web");
});

it("says that no worker runs a turn whose store no process holds, and how to go on", async () => {
  const told = await why(() => [waiting({ code: "working", says: "w1 is at work on it" })], FLAGS, true);
  expect(told.sentence).toBe("The turn of planner has not ended: no process holds its store, so no worker runs it.");
  expect(told.command).toBe("tessera run BUNDLE --resume --data ./store");
});

it("says until when an executor counts as there, and what happens then", async () => {
  const leaseUntil = "2026-01-02T03:05:00.000Z";
  const wait = { code: "executor" as const, says: "e1 is at work on search__web", toolCallId: "tc_1" };
  const of = (effect: "read" | "once") =>
    openTurn({ waitingFor: [wait], calls: [callOf({ effect, leaseUntil: leaseUntil })] });
  const told = "The turn of planner has not ended: e1 is at work on search__web; its lease runs until";
  expect((await why(() => [of("read")])).sentence).toBe(
    `${told} ${leaseUntil}: if it is gone, the call is queued again then.`,
  );
  expect((await why(() => [of("once")])).sentence).toBe(
    `${told} ${leaseUntil}: if it is gone, the outcome of the call is unknown then.`,
  );
});

it("knows that a store is shared also where no flag names it", async () => {
  const turn = waiting({ code: "no_executor", says: "no executor of web", target: "web" });
  const found = await followWaits(
    clientOfTurns(() => [turn]),
    "default",
    "turn_1",
  );
  expect(nextCommand(found, { project: "default" }, false, true).command).toBe("tessera start BUNDLE --role tools");
});
