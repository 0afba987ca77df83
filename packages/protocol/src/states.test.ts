import { expect, test } from "vitest";
import { HEAD_MOVES, isLegalMove, STATE_MACHINES, terminalStates } from "./states.ts";

test.each(STATE_MACHINES)("$noun: every move names known states, and every state can be reached", (machine) => {
  const reached = new Set([machine.initial]);
  for (const { from, to } of Object.values(machine.moves)) {
    for (const state of [...from, to]) expect(machine.states).toContain(state);
    reached.add(to);
  }
  // Rows that need no dispatch are inserted as `pending`; `queued` is the other way in.
  expect([...reached].sort()).toEqual([...machine.states].sort());
});

test("only finish, stop and exhaust make a head idle", () => {
  const idle = Object.entries(HEAD_MOVES).filter(([, move]) => move.to === "idle");
  expect(idle.map(([name]) => name)).toEqual(["finish", "stop", "exhaust"]);
});

test("a move is legal from its own states only", () => {
  expect(isLegalMove(HEAD_MOVES.stop, "suspended")).toBe(true);
  expect(isLegalMove(HEAD_MOVES.stop, "idle")).toBe(false);
});

test("settled things stay settled", () => {
  const ends = Object.fromEntries(STATE_MACHINES.map((machine) => [machine.noun, terminalStates(machine)]));
  expect(ends).toEqual({
    head: [],
    inbox: ["consumed", "error", "skipped"],
    wait: ["applied", "dropped"],
    claim: [],
    batch: ["success", "failed", "timeout", "partial"],
    batch_task: ["success", "failed", "canceled", "timeout", "partial"],
  });
});
