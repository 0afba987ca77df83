import { ApiError, type Turn } from "@tessera/client";
import { VirtualClock } from "@tessera/testkit";
import { expect, it } from "vitest";
import { clientOfTurns, openTurn, turnOf } from "../test/turn-fixture.ts";
import { openWatch } from "./watch-turns.ts";

const AWAY = new ApiError("nobody there", { status: 0, code: "upstream_unavailable" });

function watch(turns: () => readonly Turn[], wait: { until?: number | null; signal?: AbortSignal } = {}) {
  const clock = new VirtualClock();
  const printed = { out: "", err: "" };
  const terminal = {
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
  };
  const { until = null, signal = new AbortController().signal } = wait;
  const opened = openWatch(
    { client: clientOfTurns(turns), clock },
    { flags: { project: "default" }, terminal, until, signal },
  );
  return { clock, printed, watched: opened.turns(["turn_1"]).finally(() => opened.close()) };
}

it("ends with the turn, and answers what it delivered", async () => {
  let turn = openTurn();
  const { clock, watched } = watch(() => [turn]);
  await clock.advance(2_000);
  turn = turnOf({ deliverable: { card_id: "c", text: "done" } });
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

it("tells at once that a server never answered, and gives up one that stays away", async () => {
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
