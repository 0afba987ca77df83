import { ApiError, type Client, type Turn } from "@tessera/client";
import { VirtualClock } from "@tessera/testkit";
import { expect, it } from "vitest";
import { callOf, clientOfTurns, openTurn, turnOf } from "../../test/turn-fixture.ts";
import { gated } from "../output/printing-gate.ts";
import { openWatch, type Past } from "./watch-turns.ts";

const AWAY = new ApiError("no answer", { status: 0, code: "upstream_unavailable" });

interface Given {
  readonly until?: number | null;
  readonly signal?: AbortSignal;
  readonly past?: Past;
  readonly renew?: () => Promise<Client | null>;
}

function watch(turns: () => readonly Turn[], wait: Given = {}) {
  const clock = new VirtualClock();
  const printed = { out: "", err: "" };
  const terminal = gated({
    env: {},
    out: (text: string) => {
      printed.out += text;
    },
    err: (text: string) => {
      printed.err += text;
    },
    input: async () => "",
    isWatched: false,
    isOutWatched: false,
    stopped: () => new Promise<void>(() => undefined),
  });
  const { until = null, signal = new AbortController().signal, past, renew } = wait;
  const opened = openWatch(
    { client: clientOfTurns(turns), clock, renew },
    { flags: { project: "default" }, terminal, until, signal },
  );
  return { clock, printed, watched: opened.turns(["turn_1"], past).finally(() => opened.close()) };
}

it("ends with the turn, and answers what it delivered", async () => {
  let turn = openTurn();
  const { clock, watched } = watch(() => [turn]);
  await clock.advance(2_000);
  turn = turnOf({ deliverable: { cardId: "c", text: "done" } });
  await clock.advance(1_000);
  expect(await watched).toMatchObject({ answers: [{ status: "success", deliverable: "done" }], open: [] });
  expect(clock.pending).toBe(0);
});

it("ends with the time, and when it is interrupted; the turn is then open", async () => {
  const timed = watch(() => [openTurn()], { until: 500 });
  await timed.clock.advance(1_000);
  expect(await timed.watched).toEqual({ answers: [], open: ["turn_1"] });
  const interrupt = new AbortController();
  const interrupted = watch(() => [openTurn()], { signal: interrupt.signal });
  await interrupted.clock.advance(100);
  interrupt.abort();
  expect(await interrupted.watched).toEqual({ answers: [], open: ["turn_1"] });
});

it("waits for a server that is away for a while, and says so once", async () => {
  let isAway = false;
  let turn = openTurn();
  const { clock, printed, watched } = watch(() => {
    if (isAway) throw AWAY;
    return [turn];
  });
  await clock.advance(500);
  isAway = true;
  await clock.advance(10_000);
  expect(printed.err.split("the server does not answer; trying again\n")).toHaveLength(2);
  isAway = false;
  turn = turnOf();
  await clock.advance(1_000);
  expect(printed.err).toContain("the server answers again\n");
  expect((await watched).answers).toHaveLength(1);
});

it("reports at once that a server never answered, and gives up one that stays away", async () => {
  const never = watch(() => {
    throw AWAY;
  });
  await expect(never.watched).rejects.toBe(AWAY);
  let isAway = false;
  const gone = watch(() => {
    if (isAway) throw AWAY;
    return [openTurn()];
  });
  const failed = expect(gone.watched).rejects.toBe(AWAY);
  await gone.clock.advance(500);
  isAway = true;
  await gone.clock.advance(70_000);
  await failed;
});

it("finds a holder again that has started anew, with another address and another key", async () => {
  let isGone = false;
  let turn = openTurn();
  const renewed: string[] = [];
  const { clock, printed, watched } = watch(
    () => {
      if (!isGone) return [turn];
      throw new ApiError("no key", { status: 401, code: "unauthenticated", requestId: "r" });
    },
    {
      renew: async () => {
        renewed.push("asked");
        return renewed.length < 3 ? null : clientOfTurns(() => [turn]); // it takes a moment to start
      },
    },
  );
  await clock.advance(500);
  isGone = true;
  await clock.advance(5_000);
  turn = turnOf({ deliverable: { cardId: "c", text: "done" } });
  await clock.advance(1_000);
  expect(await watched).toMatchObject({ answers: [{ status: "success", deliverable: "done" }] });
  expect(printed.err).toContain("the server answers again\n");
  expect(renewed).toHaveLength(3);
  expect(clock.pending).toBe(0);
});

it("marks what had happened before the command watched; a turn that was open has ended since", async () => {
  const calls = [callOf({ waitStatus: "applied", resultStatus: "success" })];
  const tail = watch(() => [turnOf({ calls })], { past: "any" });
  await tail.watched;
  expect(tail.printed.err.split("\n").filter((line) => line.startsWith(" earlier  planner "))).toHaveLength(4);
  const resumed = watch(() => [turnOf({ calls })], { past: "open" });
  await resumed.watched;
  expect(resumed.printed.err.match(/^ earlier /gm)).toHaveLength(3);
  expect(resumed.printed.err).toMatch(/^ +0\.00 s {2}planner {7}turn {2}success$/m);
  const child = { agentTurnId: "turn_2", agentId: "a", agentName: "cook", toolCallId: "tc_1" };
  const parent = turnOf({ calls, children: [{ ...child, status: "success" }] });
  const withChild = watch(() => [parent, turnOf({ agentTurnId: "turn_2", agentName: "cook" })], { past: "open" });
  await withChild.watched;
  expect(withChild.printed.err).toMatch(/^ earlier {2}cook {10}turn {2}success$/m);
  const fresh = watch(() => [turnOf({ calls })]);
  await fresh.watched;
  expect(fresh.printed.err).not.toContain("earlier");
});
