// What a turn waits for, in data and in words: one row for each reason.

import type { Row } from "@tessera/kernel/ports";
import { describe, expect, it } from "vitest";
import { WAIT_CODES, type WaitFacts, waitsOf, whyOpen } from "./wait-reasons.ts";

const DEADLINE = "2026-01-01T00:01:00Z";
const MADE = "2026-01-01T00:00:00Z";
const TAKEN = "2026-01-01T00:00:05Z";
const UPDATED = "2026-01-01T00:00:09Z";
const turn: Row = { agent_turn_id: "t1", turn_status: "suspended", ended_at: null, created_at: MADE, holder: null };
const call: Row = {
  ...{ tool_call_id: "c1", tool_name: "search__web", wait_status: "waiting", local: false, batch_id: null, attempt: 0 },
  ...{ claimed_by: null, claimed_at: null, created_at: MADE, deadline_at: DEADLINE, received_at: null },
  target_subject: "cg.v1r4.p1.public.cmd.tool.search.web",
};
const both = "the call's deadline: the tool's timeout and two leases, 60000 ms together";
const about = { tool_call_id: "c1", tool_name: "search__web", deadline_at: DEADLINE };
const until = `until ${DEADLINE} at the latest`;
const facts = (turnFields: Row, more: Partial<WaitFacts> = {}): WaitFacts => ({
  ...{ turn: { ...turn, ...turnFields }, head: { active_agent_turn_id: "t0", updated_at: UPDATED } },
  ...{ agent: { worker_target: "workers" }, calls: [], tasks: new Map() },
  ...more,
});
const waiting = (fields: Row, tasks: WaitFacts["tasks"] = new Map()) =>
  facts({}, { calls: [{ ...call, ...fields }], tasks });
const task = (status: string, current_agent_turn_id: string | null) => ({ status, current_agent_turn_id });

const CASES: [string, WaitFacts, object[]][] = [
  [
    "behind another turn of its agent",
    facts({ turn_status: "queued" }),
    [{ code: "queued_behind", says: "its agent works on another turn first: t0", agent_turn_ids: ["t0"], since: MADE }],
  ],
  [
    "in a queue that is just moving",
    facts({ turn_status: "queued" }, { head: null }),
    [{ code: "queued_behind", says: "its agent works on another turn first", since: MADE }],
  ],
  [
    "for a worker",
    facts({ turn_status: "dispatched" }),
    [{ code: "no_worker", says: "no worker of workers has taken it yet", target: "workers", since: UPDATED }],
  ],
  [
    "for the worker that has it",
    facts({ turn_status: "running", holder: "w7" }),
    [{ code: "working", says: "the worker w7 is at work on it", executor: "w7", since: UPDATED }],
  ],
  [
    "for an executor to come",
    waiting({}),
    [
      {
        ...{ code: "no_executor", says: `no executor of search has taken search__web, ${until}` },
        ...{ ...about, target: "search", since: MADE },
        bounded_by: `${both}; its queueTimeoutMs would bound the wait for an executor by itself`,
      },
    ],
  ],
  [
    "for an executor to come, within a queue time",
    waiting({ queue_timeout_ms: 2_000 }),
    [
      {
        ...{ code: "no_executor", says: `no executor of search has taken search__web, ${until}` },
        ...{ ...about, target: "search", since: MADE, bounded_by: "the tool's queueTimeoutMs (2000 ms)" },
      },
    ],
  ],
  [
    "for another attempt, within a queue time",
    waiting({ attempt: 1, queue_timeout_ms: 2_000 }),
    [
      {
        code: "retry",
        says: `attempt 1 of search__web ended without a result; an executor of search may take the next one, ${until}`,
        ...{ ...about, target: "search" },
        bounded_by: "the tool's queueTimeoutMs (2000 ms), which began anew when the call was given back",
      },
    ],
  ],
  [
    "for the PMO",
    waiting({ tool_name: "fork_join", target_subject: "cg.v1r4.p1.public.cmd.sys.pmo.internal.fork_join" }),
    [
      {
        ...{ code: "no_executor", says: `no executor of sys.pmo has taken fork_join, ${until}` },
        ...{ ...about, tool_name: "fork_join", target: "sys.pmo", since: MADE, bounded_by: both },
      },
    ],
  ],
  [
    "for the executor that has it",
    waiting({ claimed_by: "py-1", claimed_at: TAKEN, attempt: 1 }),
    [
      {
        ...{ code: "executor", says: `py-1 is at work on search__web, ${until}` },
        ...{ ...about, target: "search", executor: "py-1", since: TAKEN },
      },
    ],
  ],
  [
    "for a tool of its own worker",
    waiting({ local: true }),
    [{ code: "local_tool", says: `its worker runs search__web, ${until}`, ...about, since: MADE }],
  ],
  [
    "for a tool of its own worker, which keeps the turn meanwhile",
    facts({ turn_status: "running", holder: "w7" }, { calls: [{ ...call, local: true }] }),
    [{ code: "local_tool", says: `its worker runs search__web, ${until}`, ...about, since: MADE }],
  ],
  [
    "for its worker, when every result is there",
    facts({ turn_status: "running", holder: "w7" }, { calls: [{ ...call, local: true, wait_status: "received" }] }),
    [{ code: "working", says: "the worker w7 is at work on it", executor: "w7", since: UPDATED }],
  ],
  [
    "for another attempt",
    waiting({ attempt: 2 }),
    [
      {
        code: "retry",
        says: `attempt 2 of search__web ended without a result; an executor of search may take the next one, ${until}`,
        ...{ ...about, target: "search" },
        bounded_by: "the call's deadline, which all of its attempts share",
      },
    ],
  ],
  [
    "for the turns that it asked for",
    waiting(
      { batch_id: "b1", claimed_by: "sys.pmo", claimed_at: TAKEN },
      new Map([["b1", [task("success", "x1"), task("dispatched", "x2"), task("pending", null)]]]),
    ),
    [
      {
        ...{ code: "children", says: `1 of 3 turns that search__web asked for have ended, ${until}` },
        ...{ ...about, agent_turn_ids: ["x2"], since: TAKEN },
      },
    ],
  ],
  [
    "to have a result read",
    waiting({ wait_status: "received", received_at: TAKEN }),
    [
      {
        ...{ code: "result_ready", says: "the result of search__web is here; no worker has read it yet" },
        ...{ ...about, since: TAKEN },
      },
    ],
  ],
  ["for nothing, once it has ended", facts({ turn_status: "success", ended_at: UPDATED }, { calls: [call] }), []],
];

describe("a turn waits", () => {
  it.each(CASES)("%s", (_, given, expected) => {
    expect(waitsOf(given)).toEqual(expected);
  });

  it("for every reason there is, by one of these cases", () => {
    const shown = new Set(CASES.flatMap(([, , waits]) => waits.map((wait) => (wait as { code: string }).code)));
    expect([...shown].sort()).toEqual([...WAIT_CODES].sort());
  });
});

describe("why, in one sentence", () => {
  it("is what the only wait says, and the sum of several", () => {
    const one = waitsOf(waiting({}));
    expect(whyOpen(one)).toBe(one[0]?.says);
    const several = waitsOf(facts({}, { calls: [call, { ...call, local: true }, { ...call, tool_call_id: "c2" }] }));
    expect(whyOpen(several)).toBe("it waits for 3 calls: 2 that no executor has taken, 1 in its own worker");
    expect(whyOpen([])).toBe("it is about to go on");
  });
});
