// kill -9 at every named point of every durable path, on both engines: a process runs a workload that passes them all,
// is killed at one, and another process on the same store brings the work to its end. Nothing is lost, nothing happens
// twice that may not.

import { type Database, KILL_POINTS, type KillPoint } from "@tessera/kernel";
import type { TestEngine } from "@tessera/testkit";
import { describe, expect, test } from "vitest";
import { expectOneOutcomeEach } from "../scenarios/outcome-check.ts";
import type { PlannedTurn } from "../scenarios/turn-plan.ts";
import { withCrashStore } from "./crash-store.ts";
import type { NodeMessage } from "./node-process.ts";

const TEST_MS = 60_000;
const ENGINES: readonly TestEngine[] = ["pglite", "postgres"];

/** Every operation of the kernel is used: all effects, all placements, pointers, notes, a queue, a stop, a request that is not waited for. */
const TURNS: readonly PlannedTurn[] = [
  {
    agent_id: "agent_a",
    agent_turn_id: "turn_a1",
    steps: [
      {
        calls: [
          { tool: "echo", effect: "idempotent", workMs: 400 },
          { tool: "mail", effect: "once" },
          { tool: "search", effect: "read" },
        ],
      },
      {
        hasNote: true,
        calls: [
          { tool: "files", effect: "read", local: true },
          { tool: "files", effect: "once", local: true },
        ],
      },
    ],
  },
  {
    agent_id: "agent_a",
    agent_turn_id: "turn_a2",
    steps: [{ calls: [{ tool: "mail", effect: "once", behave: "pointer" }] }],
  },
  {
    agent_id: "agent_b",
    agent_turn_id: "turn_b1",
    steps: [
      {
        calls: [
          { tool: "files", effect: "idempotent", local: true },
          { tool: "mail", effect: "once", behave: "pointer", canReconcile: true },
        ],
      },
      { calls: [{ tool: "files", effect: "once", local: true }] },
    ],
  },
  {
    agent_id: "agent_c",
    agent_turn_id: "turn_c1",
    steps: [{ calls: [{ tool: "echo", effect: "idempotent", behave: "hang" }] }],
  },
  { agent_id: "agent_d", agent_turn_id: "turn_d1", steps: [] },
  {
    agent_id: "agent_d",
    agent_turn_id: "turn_d2",
    steps: [
      {
        calls: [
          { tool: "search", effect: "read" },
          { tool: "mail", effect: "once" },
          { tool: "echo", effect: "idempotent" },
        ],
      },
    ],
  },
  {
    agent_id: "agent_e",
    agent_turn_id: "turn_e1",
    steps: [
      { asks: { agent_id: "agent_f", agent_turn_id: "turn_f1" }, calls: [{ tool: "search", effect: "read" }] },
      { takesAnswer: true, calls: [{ tool: "files", effect: "once", local: true }] },
    ],
  },
  { agent_id: "agent_f", agent_turn_id: "turn_f1", steps: [], isAsked: true },
];

const CONFIG = {
  roles: ["client", "worker", "tools", "sweeper"],
  targets: ["echo", "mail", "search"],
  turns: TURNS,
  stops: ["turn_c1"],
  leaseMs: 1_000,
  sweepMs: 200,
} as const;

/** More than the first ring (5 s) and any lease, less than any deadline. */
const AHEAD_MS = 30_000;

/** Points that are passed more often are killed at a later passing, in the midst of the work. */
const PASSING: Partial<Record<KillPoint, number>> = {
  "resume.before_commit": 3,
  "resume.after_commit": 3,
  "suspend_on_calls.before_commit": 2,
  "suspend_on_calls.after_commit": 2,
  "open_call.before_commit": 2,
  "open_call.after_commit": 2,
  "report.before_commit": 2,
  "report.after_commit": 2,
  "sweep.before_commit": 4,
  "sweep.after_commit": 4,
  "migrate.before_commit": 2,
  "migrate.after_commit": 2,
  "announce.after_publish": 4,
};

/** The answers in the outputs of turns. */
async function answersIn(database: Database, project: string) {
  return await database.query(
    `select t.agent_turn_id as asked_by, k.metadata ->> 'answer_of' as answer_of
       from state.agent_turns t join card.box_contents b on b.box_id = t.output_box_id
       join card.cards k on k.card_id = b.card_id and k.type = 'agent.answer' and k.agent_turn_id = t.agent_turn_id
      where t.project_id = $1`,
    [project],
  );
}

describe.each(ENGINES)("on %s", (engine) => {
  test.concurrent.each(KILL_POINTS)(
    "a process killed at %s is replaced, and every call still has exactly one outcome",
    { timeout: TEST_MS },
    async (point) => {
      await withCrashStore({ engine, isEmpty: point.startsWith("migrate.") }, async (store) => {
        const first = await store.start({ ...CONFIG, name: "first" }, { killAt: `${point}:${PASSING[point] ?? 1}` });
        await first.expectSignal("SIGKILL");
        expect(store.kills).toBe(`killed at ${point}\n`);

        const second = await store.start({ ...CONFIG, name: "second", time: { aheadMs: AHEAD_MS } });
        await second.waitForMessage<NodeMessage>("drained", (message) => message.event === "drained");
        expect(await second.terminate()).toEqual({ code: 0, signal: null });

        const database = await store.open();
        const { project, ledger } = store;
        const mayEnd = (turn: PlannedTurn) => (turn.agent_turn_id === "turn_c1" ? ["canceled"] : ["success"]);
        await expectOneOutcomeEach({ database, project, ledger, turns: TURNS, mayEnd });
        expect(await answersIn(database, project)).toEqual([{ asked_by: "turn_e1", answer_of: "turn_f1" }]);
      });
    },
  );
});
