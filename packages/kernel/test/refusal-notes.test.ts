// What executors are refused is noted, and no matter how often they ask, the log of a minute stays short and says what it left out.

import { describe, expect, it } from "vitest";
import { PROJECT, useFixture } from "./fixture.ts";

const fx = useFixture();
const JUNK = "0".repeat(64);
const CONTENT = { status: "success", result: 1 };
const ROWS_MAX = 10;
/** Transactions that were open at the same moment may each have seen room for one row more. */
const AT_ONCE = 2;

interface Note {
  readonly kind: string;
  readonly code: string;
  readonly principal: string | null;
  readonly rows: number;
  readonly refusals: number;
}

const notes = (principal: string | null) =>
  fx.query<Note & Record<string, unknown>>(
    `select kind, code, principal, count(*)::int as rows, sum(1 + coalesce((detail ->> 'left_out')::int, 0))::int as refusals
       from state.audit_log where principal is not distinct from $1 and kind <> 'attempt' group by 1, 2, 3 order by 1, 2`,
    [principal],
  );

describe("the audit log", () => {
  it.each([
    ["report", 1_000],
    ["put_result_card", 100],
    ["open_call", 100],
  ] as const)(
    "holds ten rows of a minute in which %s was asked %d times by a forger, and says how many it left out",
    async (kind, times) => {
      const principal = `forger of ${kind}`;
      const turn = await fx.suspended([{}, {}]);
      await fx.opened(turn, 0, { principal: "tool.echo" });
      const call = { project_id: PROJECT, tool_call_id: turn.calls[0]?.tool_call_id ?? "", principal };
      const forge: () => Promise<{ outcome: string; code?: string }> = {
        report: () => fx.kernel.report({ ...call, capability: JUNK, content: CONTENT }),
        put_result_card: () => fx.kernel.putResultCard({ ...call, capability: JUNK, content: CONTENT }),
        open_call: () => fx.kernel.openCall({ ...call, ticket: JUNK, executor: "e" }),
      }[kind];
      const outcomes = await Promise.all(Array.from({ length: times }, forge));
      expect(outcomes.filter(({ code }) => code === "auth_failed")).toHaveLength(times);
      const [note, ...others] = await notes(principal);
      expect(others).toEqual([]);
      expect(note).toMatchObject({ kind, code: "auth_failed", refusals: times });
      expect(note?.rows).toBeGreaterThanOrEqual(ROWS_MAX);
      expect(note?.rows).toBeLessThan(ROWS_MAX + AT_ONCE);
    },
  );

  it("begins anew in the next minute, and counts each principal and code by itself", async () => {
    const turn = await fx.suspended();
    const opened = await fx.opened(turn, 0, { principal: "tool.echo" });
    const call = { project_id: PROJECT, tool_call_id: opened.tool_call_id, content: CONTENT };
    const forge = (principal: string, times: number, more: object = {}) =>
      Promise.all(
        Array.from({ length: times }, () => fx.kernel.report({ ...call, capability: JUNK, principal, ...more })),
      );
    await forge("first", ROWS_MAX + 5);
    await forge("second", 3);
    await fx.clock.advance(60_000);
    await forge("first", ROWS_MAX + 1);
    const code = "auth_failed";
    expect(await notes("first")).toEqual([
      { kind: "report", code, principal: "first", rows: 2 * ROWS_MAX, refusals: 2 * ROWS_MAX + 6 },
    ]);
    expect(await notes("second")).toEqual([{ kind: "report", code, principal: "second", rows: 3, refusals: 3 }]);
    await forge("tool.echo", ROWS_MAX + 5);
    const lying = { ...call, capability: opened.capability, principal: "tool.echo", author_id: "tool.other" };
    for (let times = 0; times < 2; times += 1) {
      expect(await fx.kernel.report(lying)).toMatchObject({ outcome: "rejected", code: "protocol_violation" });
    }
    expect(await notes("tool.echo")).toMatchObject([
      { code: "auth_failed", rows: ROWS_MAX, refusals: ROWS_MAX + 5 },
      { code: "protocol_violation", rows: 2, refusals: 2 },
    ]);
  });

  it("counts what was left out in the activity of its project", async () => {
    const turn = await fx.suspended();
    await fx.opened(turn);
    const since = fx.clock.databaseTime().toISOString();
    const call = { project_id: PROJECT, tool_call_id: turn.calls[0]?.tool_call_id ?? "", content: CONTENT };
    const principal = "counted";
    await Promise.all(Array.from({ length: 25 }, () => fx.kernel.report({ ...call, capability: JUNK, principal })));
    const { refusals } = await fx.kernel.reads.activity(PROJECT, { since, until: null });
    expect(refusals.filter(({ code }) => code === "auth_failed").map(({ count }) => count)).toEqual([
      expect.toSatisfy((count: number) => count >= 25),
    ]);
  });
});
