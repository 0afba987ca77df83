// What a page of a list reads, at two sizes of the store: a page of a large project costs what one of a small project costs.
// Counted in blocks that the statement touched (EXPLAIN), not in time.

import { beforeAll, describe, expect, it } from "vitest";
import { sqlQuery } from "../../src/store/sql-files.ts";
import { useFixture } from "../fixture.ts";

const fx = useFixture({ checkSafety: false });
const SMALL = 300;
const LARGE = 6_000;
const PAGE = 21;
const START = "2026-01-01T00:00:00Z";

/** Turns of one step with one call each, one every second, for 800 ms, save that each hundredth takes an hour. */
async function fill(project: string, turns: number): Promise<void> {
  const columns = `select n, $1 || '_' || n as id, $2::timestamptz + n * interval '1 second' as at,
    case when n % 100 = 0 then interval '1 hour' else interval '800 milliseconds' end as took from generate_series(1, $3::int) n`;
  const values = [project, START, turns];
  await fx.query(
    `insert into state.agent_turns (agent_turn_id, project_id, agent_id, channel_id, correlation_id, status, recursion_depth, trace_id, span_id,
       output_box_id, box_start, deliverable_card_id, created_at, dispatched_at, ended_at)
     select id, $1, 'a', 'public', id, 'success', 0, id, 's', id, 0, 'd', at, at, at + took from (${columns}) t`,
    values,
  );
  await fx.query(
    `insert into state.edges (edge_id, project_id, channel_id, primitive, edge_phase, correlation_id, recursion_depth, created_at)
     select id, $1, 'public', 'enqueue', 'request', id, 0, at from (${columns}) t`,
    values,
  );
  await fx.query(
    `insert into card.cards (card_id, project_id, type, author_id, agent_turn_id, step_id, tool_call_id, trace_id, box_id, pos, content, tool_calls, sha256, created_at)
     select id || k.suffix, $1, k.type, 'a', id, id || 's', case when k.pos > 0 then id || 'c' end, id, id, k.pos, '{}',
            case when k.pos = 0 then jsonb_build_array(jsonb_build_object('id', id || 'c')) end, '', at + k.pos * interval '200 milliseconds'
       from (${columns}) t, (values (0, 't', 'agent.thought'), (1, 'k', 'tool.call'), (2, 'r', 'tool.result')) k (pos, suffix, type)`,
    values,
  );
  await fx.query(
    `insert into state.calls (tool_call_id, project_id, agent_id, agent_turn_id, channel_id, step_id, trace_id, span_id, turn_epoch, recursion_depth,
       call_index, step_size, tool_name, target_subject, author_id, effect, after_execution, local, can_reconcile, attempts_max, backoff_ms,
       call_card_id, box_id, result_pos, created_at, deadline_at, wait_status, settled_by, result_card_id, result_status, result_after, received_at, applied_at)
     select id || 'c', $1, 'a', id, 'public', id || 's', id, 's', 1, 0, 0, 1, 't', 's', 'tool.t', 'once', 'suspend', false, false, 1, 0,
            id || 'k', id, 2, at, at + interval '1 minute', 'applied', 'report', id || 'r', 'success', 'suspend', at + interval '400 milliseconds', at
       from (${columns}) t`,
    values,
  );
}

interface Plan {
  readonly "Shared Hit Blocks": number;
  readonly "Shared Read Blocks": number;
  readonly "Actual Rows": number;
}

async function cost(
  name: string,
  values: readonly unknown[],
): Promise<{ readonly blocks: number; readonly rows: number }> {
  const [row] = await fx.query<{ "QUERY PLAN": { Plan: Plan }[] }>(
    `explain (analyze, buffers, format json) ${sqlQuery(name)}`,
    values,
  );
  const plan = row?.["QUERY PLAN"][0]?.Plan;
  if (plan === undefined) throw new Error("no plan");
  return { blocks: plan["Shared Hit Blocks"] + plan["Shared Read Blocks"], rows: plan["Actual Rows"] };
}

const at = (n: number) => new Date(Date.parse(START) + n * 1_000).toISOString();
const stepPage = (project: string, cursor: number | null) => [
  ...[project, null, null, null, null, null, null, null, null],
  ...[cursor === null ? null : at(cursor), cursor === null ? null : "", PAGE],
];
const edgePage = (project: string, cursor: number | null) => [
  ...[project, null, null, null, null, null, null],
  ...[cursor === null ? null : at(cursor), cursor === null ? null : "", PAGE],
];

describe("a page of a large project touches no more than one of a small project", () => {
  beforeAll(async () => {
    await fill("small", SMALL);
    await fill("large", LARGE);
    await fx.query("analyze");
  }, 120_000);

  it.each([
    ["steps_newest", "the first", stepPage, null],
    ["steps_newest", "a middle", stepPage, 0.5],
    ["steps_newest", "a last", stepPage, 0.1],
    ["steps_oldest", "the first", stepPage, null],
    ["steps_oldest", "a middle", stepPage, 0.5],
    ["steps_oldest", "a late", stepPage, 0.9],
    ["execution_edges_newest", "the first", edgePage, null],
    ["execution_edges_newest", "a middle", edgePage, 0.5],
    ["execution_edges_newest", "a last", edgePage, 0.1],
  ] as const)("%s, %s page", async (name, _, page, part) => {
    const small = await cost(name, page("small", part === null ? null : SMALL * part));
    const large = await cost(name, page("large", part === null ? null : LARGE * part));
    expect([small.rows, large.rows]).toEqual([PAGE, PAGE]);
    expect(large.blocks).toBeLessThan(small.blocks * 2 + 200); // some turns of an hour more are alive in it
  });
});
