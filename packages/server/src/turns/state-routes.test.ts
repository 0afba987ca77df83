// State over HTTP: heads, steps and edges, by filter and page.

import { beforeAll, describe, expect, it } from "vitest";
import { type Call, PROJECT } from "../../test/fixture.ts";
import { useManagement } from "../../test/management-fixture.ts";

const fx = useManagement();
const STATE = `/projects/${PROJECT}/state`;
let calls: Call[] = [];

beforeAll(async () => {
  // Two turns of one step in the same moment, and three later ones: places that only the id tells apart, too.
  for (let n = 0; n < 5; n += 1) {
    if (n > 1) await fx.clock.advance(1_000);
    calls.push(...(await fx.suspended()));
  }
});

describe("heads", () => {
  it("shows each agent once, page by page, with what it does", async () => {
    const rows = await fx.pages(`${STATE}/agents`, "heads", 2);
    const ids = rows.map((row) => row.agent_id);
    expect(ids).toEqual([...new Set(ids)].toSorted());
    expect(ids).toEqual(expect.arrayContaining(calls.map((call) => call.agent_id)));
    expect(rows[0]).toMatchObject({ project_id: PROJECT, status: "suspended", waiting_tool_count: 1 });
  });

  it("filters by the channel of the active turn", async () => {
    expect(await fx.pages(`${STATE}/agents?channel_id=public`, "heads", 200)).toHaveLength(5);
    expect(await fx.pages(`${STATE}/agents?channel_id=empty`, "heads", 200)).toEqual([]);
  });
});

describe("steps", () => {
  it("are listed each once in either order, page by page", async () => {
    const down = (await fx.pages(`${STATE}/steps`, "steps", 2)).map((row) => row.step_id);
    const up = (await fx.pages(`${STATE}/steps?order=asc`, "steps", 2)).map((row) => row.step_id);
    expect(new Set(down)).toEqual(new Set(calls.map((call) => call.step_id)));
    expect(down).toHaveLength(5);
    expect(up).toEqual(down.toReversed());
  });

  it("do not repeat or hide one when a newer one comes in between two pages", async () => {
    const first = await fx.get(`${STATE}/steps?limit=3`);
    const [late] = await fx.suspended();
    const rest = await fx.get(`${STATE}/steps?limit=3&cursor=${encodeURIComponent(first.body.next_cursor)}`);
    const seen = [...first.body.steps, ...rest.body.steps].map((row: { step_id: string }) => row.step_id);
    expect(new Set(seen)).toEqual(new Set(calls.map((call) => call.step_id)));
    expect(seen).not.toContain(late?.step_id);
    if (late !== undefined) calls = [...calls, late];
  });

  it.each(["agent_id", "agent_turn_id", "step_id"] as const)("are found by %s", async (name) => {
    const [call] = calls;
    const rows = await fx.pages(`${STATE}/steps?${name}=${call?.[name]}`, "steps", 10);
    expect(rows).toMatchObject([{ step_id: call?.step_id, status: "waiting", tool_call_ids: [call?.tool_call_id] }]);
  });

  it("are found by trace, state and time", async () => {
    const [row] = (await fx.get(`${STATE}/steps?step_id=${calls[3]?.step_id}`)).body.steps;
    const count = async (query: string) => (await fx.get(`${STATE}/steps?${query}`)).body.steps.length;
    expect(await count(`trace_id=${row.trace_id}`)).toBe(1);
    expect(await count("status=waiting")).toBe(6);
    expect(await count("status=done")).toBe(0);
    expect(await count(`started_before=${row.started_at}`)).toBe(3);
    expect(await count(`started_after=${row.started_at}`)).toBe(2);
    expect(await count("parent_step_id=none")).toBe(0);
  });

  it.each([
    "status=queued",
    "order=sideways",
    "order=id;drop table",
    "started_after=yesterday",
    "trace_id=xyz",
    "agent_id=a.b",
    "sort=started_at",
    "limit=301",
  ])("refuses %s by its name", async (query) => {
    const answer = await fx.get(`${STATE}/steps?${query}`);
    expect(answer.status).toBe(400);
    expect(answer.body.error_message).toContain(query.split("=")[0]);
  });

  it("takes no cursor that it did not write, not even a plain place", async () => {
    const [row] = (await fx.get(`${STATE}/steps?limit=1`)).body.steps;
    for (const cursor of [`${row.started_at},${row.step_id}`, `${row.started_at}|${row.step_id}`]) {
      const answer = await fx.get(`${STATE}/steps?cursor=${encodeURIComponent(cursor)}`);
      expect([answer.status, answer.body.error_detail]).toEqual([400, { field: "cursor" }]);
    }
  });
});

describe("execution edges", () => {
  it("are listed each once, the newest first, page by page", async () => {
    const rows = await fx.pages(`${STATE}/execution/edges`, "edges", 2);
    const ids = rows.map((row) => row.edge_id);
    expect(new Set(ids).size).toBe(ids.length);
    expect(rows.filter((row) => row.primitive === "tool_call")).toHaveLength(calls.length);
    expect(rows.filter((row) => row.primitive === "enqueue")).toHaveLength(calls.length);
    const times = rows.map((row) => String(row.created_at));
    expect(times).toEqual(times.toSorted().toReversed());
  });

  it("are found by what they are and whom they concern", async () => {
    const [call] = calls;
    const of = async (query: string) => (await fx.get(`${STATE}/execution/edges?${query}`)).body.edges;
    expect(await of(`correlation_id=${call?.tool_call_id}`)).toMatchObject([
      { primitive: "tool_call", edge_phase: "request", source_agent_id: call?.agent_id },
    ]);
    expect(await of(`agent_id=${call?.agent_id}&primitive=tool_call`)).toHaveLength(1);
    expect(await of("edge_phase=response")).toEqual([]);
    expect(await of("channel_id=elsewhere")).toEqual([]);
  });

  it.each(["primitive=call", "edge_phase=both", "agent_id=", "limit=501", "offset=3"])("refuses %s", async (query) => {
    expect((await fx.get(`${STATE}/execution/edges?${query}`)).status).toBe(400);
  });
});

describe("identity edges", () => {
  beforeAll(async () => {
    for (let n = 0; n < 5; n += 1) {
      await fx.post(`/projects/${PROJECT}/agents`, {
        agent_id: `i${n}`,
        worker_target: n % 2 ? "odd" : "even",
        tags: [`t${n}`],
      });
    }
  });

  it("are listed each once, page by page", async () => {
    const rows = await fx.pages(`${STATE}/identity/edges`, "edges", 2);
    expect(rows.map((row) => row.target_agent_id).toSorted()).toEqual(["i0", "i1", "i2", "i3", "i4"]);
  });

  it("are found by the agent, its target, its tags and the action", async () => {
    const of = async (query: string) => (await fx.get(`${STATE}/identity/edges?${query}`)).body.edges.length;
    expect([await of("worker_target=odd"), await of("tag=t3"), await of("agent_id=i0")]).toEqual([2, 1, 1]);
    expect([await of("action=create"), await of("action=derive"), await of("owner_agent_id=i0")]).toEqual([5, 0, 0]);
  });

  it.each(["worker_target=a.b", "tag=", "limit=0", "jaeger=http://x"])("refuses %s", async (query) => {
    expect((await fx.get(`${STATE}/identity/edges?${query}`)).status).toBe(400);
  });
});
