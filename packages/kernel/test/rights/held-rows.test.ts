// What a tool's login can hold up by leaving a transaction open, on PostgreSQL with the roles of deploy/roles.sql. PGlite has one
// session: no session waits there.
//
//   H1. A request that is refused leaves nothing locked, whichever of the four functions refused it and why.
//   H2. Judged first, locked after: who waited for a row that changed meanwhile is judged again.

import { readFileSync } from "node:fs";
import { waitFor } from "@tessera/testkit";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { CallDraft, Database, Statements } from "../../src/index.ts";
import { PROJECT, type Suspended, useFixture } from "../fixture.ts";

const fx = useFixture();
const rolesSql = readFileSync(new URL("../../../../deploy/roles.sql", import.meta.url), "utf8");
const needsRoles = process.env.TESSERA_TEST_ENGINE === "postgres";
const suffix = Math.trunc(performance.timeOrigin).toString(36);
const TOOL = `held_tool_${suffix}`;
const OTHER_TOOL = `held_other_${suffix}`;
const JUNK = "0".repeat(64);
const CONTENT = { status: "success", result: 1 };

type Answer = { readonly outcome: string; readonly code?: string; readonly capability?: string };

async function ask(tool: Statements, fn: string, item: object): Promise<Answer> {
  const rows = await tool.query<{ answer: Answer[] }>(`select l0.${fn}($1::jsonb) as answer`, [JSON.stringify([item])]);
  return rows[0]?.answer[0] ?? { outcome: "none" };
}

/** These functions take no time from the caller, and the fixture's stands still. */
async function suspendedNow(calls = 1, draft: Partial<CallDraft> = {}): Promise<Suspended> {
  const turn = await fx.suspended(Array.from({ length: calls }, () => draft));
  await fx.query(
    "update state.calls set deadline_at = now() + interval '1 hour', due_at = now() + interval '1 hour' where agent_turn_id = $1",
    [turn.agent_turn_id],
  );
  return turn;
}

const named = (turn: Suspended, n = 0) => ({
  project_id: PROJECT,
  tool_call_id: turn.calls[n]?.tool_call_id ?? "",
});
const opening = (turn: Suspended, n = 0) => ({
  ...named(turn, n),
  ticket: turn.calls[n]?.ticket,
  executor: "e",
  claim_id: "c1",
});

/** The rows of calls and heads that a session has locked, and the advisory locks of this database. */
async function lockedRows(): Promise<string[]> {
  const rows = await fx.query<{ what: string }>(`
    select 'call ' || c.tool_call_id as what from state.calls c
     where c.tool_call_id not in (select k.tool_call_id from state.calls k for update skip locked)
    union all
    select 'head ' || h.agent_id from state.agent_state_head h
     where h.agent_id not in (select k.agent_id from state.agent_state_head k for update skip locked)
    union all
    select 'advisory ' || l.objid from pg_locks l
     where l.locktype = 'advisory' and l.database = (select oid from pg_database where datname = current_database())`);
  return rows.map(({ what }) => what);
}

if (needsRoles) {
  let tool: Database;
  beforeAll(async () => {
    await fx.store.database.script(rolesSql);
    await fx.store.database.script(
      `create role ${TOOL} login in role tessera_tool; create role ${OTHER_TOOL} login in role tessera_tool;`,
    );
    tool = await fx.store.another({ user: TOOL, poolMax: 2 });
  });
  afterAll(async () => {
    await fx.store.database.script(`drop role ${TOOL}, ${OTHER_TOOL};`);
  });

  describe("a request that is refused to a tool's login leaves nothing locked", () => {
    interface Refusal {
      readonly says: string;
      readonly fn: string;
      readonly code: string;
      /** The item that will be refused. */
      readonly prepare: () => Promise<object>;
    }

    const held = async (calls = 1) => {
      const turn = await suspendedNow(calls);
      const opened = await ask(tool, "open_call", opening(turn));
      expect(opened.outcome).toBe("accepted");
      return { ...named(turn), capability: opened.capability };
    };
    const settled = async () => {
      const hold = await held();
      expect(await ask(tool, "report", { ...hold, content: CONTENT })).toMatchObject({ outcome: "accepted" });
      return hold;
    };
    const ofAnother = async () => {
      const other = await fx.store.another({ user: OTHER_TOOL, poolMax: 1 });
      const turn = await suspendedNow();
      const opened = await ask(other, "open_call", opening(turn));
      return { ...named(turn), capability: opened.capability };
    };
    const lost = async () => {
      const hold = await held();
      const retry = { status: "failed", error: { code: "x", message: "again", source: "tool", retryable: true } };
      expect(await ask(tool, "report", { ...hold, content: retry })).toMatchObject({ outcome: "accepted" });
      return hold;
    };

    const REFUSALS: readonly Refusal[] = [
      {
        says: "a ticket that is none",
        fn: "open_call",
        code: "auth_failed",
        prepare: async () => ({ ...opening(await suspendedNow()), ticket: JUNK }),
      },
      {
        says: "no ticket",
        fn: "open_call",
        code: "auth_failed",
        prepare: async () => ({ ...opening(await suspendedNow()), ticket: undefined, target: "echo" }),
      },
      {
        says: "another project",
        fn: "open_call",
        code: "tenant_mismatch",
        prepare: async () => ({ ...opening(await suspendedNow()), project_id: "p2" }),
      },
      {
        says: "another card",
        fn: "open_call",
        code: "card_not_found",
        prepare: async () => ({ ...opening(await suspendedNow()), tool_call_card_id: "card_none" }),
      },
      {
        says: "a ticket that was used",
        fn: "open_call",
        code: "already_claimed",
        prepare: async () => {
          const turn = await suspendedNow();
          await ask(tool, "open_call", opening(turn));
          return { ...opening(turn), claim_id: "c2" };
        },
      },
      {
        says: "a ticket of an earlier attempt",
        fn: "open_call",
        code: "stale_attempt",
        prepare: async () => {
          const turn = await suspendedNow();
          const opened = await ask(tool, "open_call", opening(turn));
          const error = { code: "x", message: "again", source: "tool", retryable: true };
          const hold = { ...named(turn), capability: opened.capability };
          await ask(tool, "report", { ...hold, content: { status: "failed", error } });
          return { ...opening(turn), claim_id: "c2" };
        },
      },
      {
        says: "a deadline that has passed",
        fn: "open_call",
        code: "tool_timeout",
        prepare: async () => {
          const turn = await suspendedNow();
          await fx.query("update state.calls set deadline_at = now() - interval '1 second' where tool_call_id = $1", [
            named(turn).tool_call_id,
          ]);
          return opening(turn);
        },
      },
      ...(["renew_call", "put_result_card", "report"] as const).flatMap((fn): Refusal[] => [
        {
          says: "a capability that is none",
          fn,
          code: "auth_failed",
          prepare: async () => ({ ...(await held()), capability: JUNK, content: CONTENT }),
        },
        {
          says: "a capability that is none, of a call with siblings",
          fn,
          code: "auth_failed",
          prepare: async () => ({ ...(await held(3)), capability: JUNK, content: CONTENT }),
        },
        {
          says: "another project",
          fn,
          code: "not_found",
          prepare: async () => ({ ...(await held(2)), project_id: "p2", content: CONTENT }),
        },
        {
          says: "the capability of another login",
          fn,
          code: "auth_failed",
          prepare: async () => ({ ...(await ofAnother()), content: CONTENT }),
        },
        {
          says: "the capability of an earlier attempt",
          fn,
          code: "stale_attempt",
          prepare: async () => ({ ...(await lost()), content: CONTENT }),
        },
        ...(fn === "report"
          ? []
          : [
              {
                says: "a call that is settled",
                fn,
                code: "already_settled",
                prepare: async () => ({ ...(await settled()), content: CONTENT }),
              },
            ]),
        ...(fn === "renew_call"
          ? []
          : [
              {
                says: "the author of another call",
                fn,
                code: "protocol_violation",
                prepare: async () => ({ ...(await held()), content: CONTENT, author_id: "tool.other" }),
              },
            ]),
      ]),
    ];

    it.each(REFUSALS.map((refusal) => [refusal.fn, refusal.says, refusal] as const))(
      "%s: %s",
      async (fn, _, { code, prepare }) => {
        const item = await prepare();
        await tool.transaction(async (tx) => {
          expect(await ask(tx, fn, item)).toMatchObject({ outcome: "rejected", code });
          expect(await lockedRows()).toEqual([]);
        });
      },
    );

    it("and one that is accepted has its own row locked, so that the look above can see one", async () => {
      const turn = await suspendedNow();
      await tool.transaction(async (tx) => {
        expect(await ask(tx, "open_call", opening(turn))).toMatchObject({ outcome: "accepted" });
        expect(await lockedRows()).toEqual([`call ${named(turn).tool_call_id}`]);
      });
    });
  });
  describe("who waited for a row that changed meanwhile", () => {
    /** What `second` is answered when the row that it waits for is let go. */
    async function whileHeld<T>(
      first: (tx: Statements) => Promise<unknown>,
      second: () => Promise<T>,
      by: Database = tool,
    ): Promise<T> {
      const waiting: Promise<T>[] = [];
      await by.transaction(async (tx) => {
        await first(tx);
        waiting.push(second());
        await waitFor(
          async () =>
            (
              await fx.query(
                "select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'",
              )
            ).length > 0,
          { what: "another session to wait" },
        );
      });
      return await (waiting[0] as Promise<T>);
    }

    it("to open a call that was opened is refused, and the other keeps it", async () => {
      const turn = await suspendedNow();
      const other = await fx.store.another({ user: OTHER_TOOL, poolMax: 1 });
      let first: Answer = { outcome: "none" };
      const late = await whileHeld(
        async (tx) => {
          first = await ask(tx, "open_call", opening(turn));
        },
        () => ask(other, "open_call", { ...opening(turn), claim_id: "c2" }),
      );
      expect(late).toEqual({ outcome: "rejected", code: "already_claimed" });
      const hold = { ...named(turn), capability: first.capability };
      expect(await ask(tool, "report", { ...hold, content: CONTENT })).toMatchObject({ outcome: "accepted" });
    });

    it("to open a call whose turn was stopped is refused, and no executor has it", async () => {
      const turn = await suspendedNow();
      const stop = { project_id: PROJECT, agent_turn_id: turn.agent_turn_id };
      const late = await whileHeld(
        async (tx) => expect(await ask(tx, "stop_turn", stop)).toMatchObject({ outcome: "accepted" }),
        () => ask(tool, "open_call", opening(turn)),
        fx.store.database,
      );
      expect(late).toEqual({ outcome: "rejected", code: "already_settled" });
      expect(await rowOf(turn)).toMatchObject({ claimed_by: null, attempt: 0 });
    });

    const rowOf = async (turn: Suspended) => {
      const [row] = await fx.query("select * from state.calls where tool_call_id = $1", [named(turn).tool_call_id]);
      return row;
    };

    /** As when the executor that has the call is lost. */
    async function release(tx: Statements, turn: Suspended): Promise<void> {
      await tx.query("update state.calls set lease_until = now(), due_at = now() where tool_call_id = $1", [
        named(turn).tool_call_id,
      ]);
      await tx.query("select l0.sweep_calls(10)", []);
    }

    it("to open a call that another took and lost is answered that its ticket is an earlier attempt's", async () => {
      const turn = await suspendedNow(1, { effect: "read" });
      const late = await whileHeld(
        async (tx) => {
          expect(await ask(tx, "open_call", opening(turn))).toMatchObject({ outcome: "accepted" });
          await release(tx, turn);
        },
        () => ask(tool, "open_call", { ...opening(turn), claim_id: "c2" }),
        fx.store.database,
      );
      expect(late).toEqual({ outcome: "rejected", code: "stale_attempt" });
    });

    it("to open again a call that it has lost is answered the same, and no executor has it", async () => {
      const turn = await suspendedNow(1, { effect: "read" });
      await ask(tool, "open_call", opening(turn));
      const late = await whileHeld(
        (tx) => release(tx, turn),
        () => ask(tool, "open_call", opening(turn)),
        fx.store.database,
      );
      expect(late).toEqual({ outcome: "rejected", code: "stale_attempt" });
      expect(await rowOf(turn)).toMatchObject({ claimed_by: null, cap_sha256: null });
    });

    it.each(["renew_call", "put_result_card", "report"])(
      "of an attempt that ended in a failure to be retried: %s says that it is an earlier one",
      async (fn) => {
        const turn = await suspendedNow(1, { effect: "read", attempts_max: 2 });
        const { capability } = await ask(tool, "open_call", opening(turn));
        const item = { ...named(turn), capability, content: CONTENT };
        const error = { code: "busy", message: "not now", retryable: true };
        const again = await fx.store.another({ user: TOOL, poolMax: 1 });
        const late = await whileHeld(
          async (tx) =>
            expect(await ask(tx, "report", { ...item, content: { status: "failed", error } })).toHaveProperty(
              "retry_at",
            ),
          () => ask(again, fn, item),
        );
        expect(late).toMatchObject({ outcome: "rejected", code: "stale_attempt" });
        expect(await rowOf(turn)).toMatchObject({ wait_status: "waiting", lease_until: null });
      },
    );

    it.each([
      ["renew_call", { outcome: "rejected", code: "already_settled" }],
      ["put_result_card", { outcome: "rejected", code: "already_settled" }],
      ["report", { outcome: "duplicate" }],
    ])("of a call that was reported: %s says so", async (fn, answer) => {
      const turn = await suspendedNow();
      const { capability } = await ask(tool, "open_call", opening(turn));
      const item = { ...named(turn), capability, content: CONTENT };
      const again = await fx.store.another({ user: TOOL, poolMax: 1 });
      const late = await whileHeld(
        (tx) => ask(tx, "report", item),
        () => ask(again, fn, item),
      );
      expect(late).toMatchObject(answer);
    });

    it("and brought other items along has every answer in its place", async () => {
      const [held, free, gone] = [await suspendedNow(), await suspendedNow(), await suspendedNow()];
      await ask(tool, "open_call", opening(gone));
      const other = await fx.store.another({ user: OTHER_TOOL, poolMax: 1 });
      const items = [{ ...opening(free), ticket: JUNK }, opening(held), opening(free), opening(gone)];
      const rows = await whileHeld(
        (tx) => ask(tx, "open_call", opening(held)),
        () =>
          other.query<{ answer: Answer[] }>("select l0.open_call($1::jsonb) as answer", [
            JSON.stringify([items[0], items[1], { ...items[2], claim_id: "c9" }, items[3]]),
          ]),
      );
      expect(rows[0]?.answer.map(({ outcome, code }) => code ?? outcome)).toEqual([
        "auth_failed",
        "already_claimed",
        "accepted",
        "already_claimed",
      ]);
    });

    it("because a sibling reported wakes the agent, though it began first", async () => {
      const turn = await suspendedNow(2);
      const holds: object[] = [];
      for (const n of [0, 1]) {
        const { capability } = await ask(tool, "open_call", opening(turn, n));
        holds.push({ ...named(turn, n), capability, content: CONTENT });
      }
      const again = await fx.store.another({ user: TOOL, poolMax: 1 });
      const late = await whileHeld(
        async (tx) => expect(await ask(tx, "report", holds[0] ?? {})).not.toHaveProperty("wake"),
        () => ask(again, "report", holds[1] ?? {}),
      );
      expect(late).toMatchObject({ outcome: "accepted", wake: { agent_id: turn.agent_id } });
    });
  });
} else {
  it("an engine with one session has no second session to wait", () => {
    expect(fx.store.database.capabilities.roles).toBe(false);
  });
}
