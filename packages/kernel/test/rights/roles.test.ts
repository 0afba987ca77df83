// What a tool's own login may do on PostgreSQL: four functions, no table, no choice of time
// (docs/design.md#the-database-has-one-writer). PGlite has one superuser session and no separation of roles; there the suite
// checks only that this is declared.

import { readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Database, DatabaseError } from "../../src/index.ts";
import { PROJECT, useFixture } from "../fixture.ts";

const fx = useFixture();
const rolesSql = readFileSync(new URL("../../../../deploy/roles.sql", import.meta.url), "utf8");

/** Twenty ways in that must all be closed. */
const FORBIDDEN = [
  "select * from card.cards",
  "select * from card.card_documents",
  "select * from state.calls",
  "select * from state.agent_inbox",
  "select * from state.agent_state_head",
  "select * from resource.tool_versions",
  "select * from l0.ticket_keys",
  "select * from l0.migrations",
  "insert into card.cards (card_id) values ('x')",
  "insert into state.events (project_id) values ('x')",
  "insert into state.inbox (inbox_id) values ('x')",
  "update state.calls set wait_status = 'received'",
  "update state.agent_state_head set turn_epoch = turn_epoch + 1",
  "update resource.project_agents set worker_target = 'mine'",
  "delete from state.calls",
  "truncate state.events",
  "select l0.report_at('[]', now())",
  "select l0.open_call_at('[]', now() + interval '1 year')",
  "select l0.suspend_on_calls('[]', now())",
  "select l0.report_plainly('[]', now())",
  "select l0.open_plainly('[]', now() + interval '1 year')",
  "select l0.ticket('\\x00', '\\x00', 'p1', 'tc', 1)",
  "select l0.stop_turn('[]')",
  "create table l0.mine (a int)",
  "create table public.mine (a int)",
  "set role tessera_kernel",
];

const needsRoles = process.env.TESSERA_TEST_ENGINE === "postgres";

if (!needsRoles)
  describe("an engine without roles", () => {
    it("says so", () => {
      expect(fx.store.database.capabilities.roles).toBe(false);
    });
  });

if (needsRoles)
  describe("a tool's login", () => {
    let tool: Database;
    let kernel: Database;
    const suffix = Math.trunc(performance.timeOrigin).toString(36);
    const toolLogin = `echo_tool_${suffix}`;
    const kernelLogin = `node_${suffix}`;

    beforeAll(async () => {
      await fx.store.database.script(rolesSql);
      await fx.store.database.script(rolesSql); // Running it again changes nothing.
      await fx.store.database.script(
        `create role ${toolLogin} login in role tessera_tool; create role ${kernelLogin} login in role tessera_kernel;`,
      );
      tool = await fx.store.another({ user: toolLogin });
      kernel = await fx.store.another({ user: kernelLogin });
    });
    afterAll(async () => {
      await fx.store.database.script(`drop owned by ${toolLogin}; drop role ${toolLogin}; drop role ${kernelLogin};`);
    });

    for (const statement of FORBIDDEN) {
      it(`is refused: ${statement}`, async () => {
        const before = await fx.everything();
        const error = await tool.query(statement).then(
          () => null,
          (refusal: unknown) => refusal,
        );
        expect(error).toBeInstanceOf(DatabaseError);
        expect((error as DatabaseError).kind).toBe("forbidden");
        expect(await fx.everything()).toBe(before);
      });
    }

    const ask = async (name: string, item: object) => {
      const rows = await tool.query<{ answer: { outcome: string; code?: string; capability?: string }[] }>(
        `select l0.${name}($1::jsonb) as answer`,
        [JSON.stringify([item])],
      );
      return rows[0]?.answer[0] ?? { outcome: "none" };
    };

    it("can open, renew, save a card and report, as itself", async () => {
      // Real time: these functions take none.
      const turn = await fx.suspended();
      await fx.query(
        "update state.calls set deadline_at = now() + interval '1 hour', due_at = now() + interval '1 hour' where tool_call_id = $1",
        [turn.calls[0]?.tool_call_id],
      );
      const call = { project_id: PROJECT, tool_call_id: turn.calls[0]?.tool_call_id };
      const opened = await ask("open_call", {
        ...call,
        ticket: turn.calls[0]?.ticket,
        executor: "echo-1",
        claim_id: "c1",
        principal: "somebody_else",
      });
      expect(opened).toMatchObject({ outcome: "accepted", attempt: 1 });
      const rows = await fx.query("select principal from state.calls where tool_call_id = $1", [call.tool_call_id]);
      expect(rows, "its principal is its login, whatever it says").toEqual([{ principal: toolLogin }]);
      const held = { ...call, capability: opened.capability };
      expect(await ask("renew_call", held)).toMatchObject({ outcome: "accepted", cancel: false });
      expect(
        await ask("put_result_card", {
          ...held,
          content: { status: "success", result: 1 },
          card_id: fx.ids.mint("card"),
        }),
      ).toMatchObject({ outcome: "accepted" });
      const stolen = await fx.kernel.report({
        project_id: PROJECT,
        tool_call_id: call.tool_call_id ?? "",
        capability: opened.capability ?? "",
        principal: "tool.other",
        content: { status: "success" },
      });
      expect(stolen, "the capability is no use to another principal").toEqual({
        outcome: "rejected",
        code: "auth_failed",
      });
      expect(await ask("report", { ...held, content: { status: "success", result: 1 } })).toMatchObject({
        outcome: "accepted",
      });
    });

    it("cannot put a type of its own in the place of one that our functions name", async () => {
      await expect(tool.query("create temporary table mine (a int)")).rejects.toMatchObject({ kind: "forbidden" });
      // And if an operator leaves it the right to temporary objects, ours are still found first.
      await fx.store.database.script(
        `grant temporary on database "${new URL(fx.store.url ?? "").pathname.slice(1)}" to ${toolLogin}`,
      );
      const attacker = await fx.store.another({ user: toolLogin, poolMax: 1 });
      await attacker.script(`
        create temporary table proof (who text);
        grant insert on pg_temp.proof to public;
        create function pg_temp.evil(v pg_catalog.timestamptz) returns boolean language plpgsql as
          'begin insert into pg_temp.proof values (current_user); return true; end';
        create domain pg_temp.timestamptz as pg_catalog.timestamptz check (pg_temp.evil(value))`);
      for (const fn of ["open_call", "renew_call", "put_result_card", "report"]) {
        const rows = await attacker.query(`select l0.${fn}($1::jsonb) as answer`, [
          JSON.stringify([{ tool_call_id: "x" }]),
        ]);
        expect(rows).toMatchObject([{ answer: [{ outcome: "rejected" }] }]);
      }
      expect(await attacker.query("select who from pg_temp.proof")).toEqual([]);
      // The bait is a real one: named first, it runs.
      await attacker.query("select now()::pg_temp.timestamptz");
      expect(await attacker.query("select who from pg_temp.proof")).toEqual([{ who: toolLogin }]);
      await fx.store.database.script(
        `revoke temporary on database "${new URL(fx.store.url ?? "").pathname.slice(1)}" from ${toolLogin}`,
      );
    });

    it("cannot open a call without its ticket by claiming a target", async () => {
      const turn = await fx.suspended();
      expect(
        await ask("open_call", {
          project_id: PROJECT,
          tool_call_id: turn.calls[0]?.tool_call_id,
          target: "echo",
          executor: "e",
          claim_id: "c",
        }),
      ).toEqual({ outcome: "rejected", code: "auth_failed" });
    });

    it("cannot open the calls of a target that is bound to another login, though it heard the ticket", async () => {
      const target_subject = "cg.v1r4.p1.public.cmd.tool.payroll.read";
      const turn = await fx.suspended([{ target_subject }, { target_subject }]);
      await fx.query("update state.calls set deadline_at = now() + interval '1 hour' where agent_turn_id = $1", [
        turn.agent_turn_id,
      ]);
      const open = (n: number) =>
        ask("open_call", {
          project_id: PROJECT,
          tool_call_id: turn.calls[n]?.tool_call_id,
          ticket: turn.calls[n]?.ticket,
          executor: "e",
          claim_id: `c${n}`,
        });
      await fx.kernel.bindTarget({ target: "payroll", principal: "payroll_tool" });
      expect(await open(0)).toEqual({ outcome: "rejected", code: "auth_failed" });
      await fx.kernel.bindTarget({ target: "payroll", principal: toolLogin });
      expect(await open(0)).toMatchObject({ outcome: "accepted" });
      await fx.kernel.bindTarget({ target: "payroll", principal: toolLogin, removed: true });
      expect(await open(1)).toEqual({ outcome: "rejected", code: "auth_failed" });
    });

    it("that reports what contradicts itself settles its call as failed, if the call is its own", async () => {
      const turn = await fx.suspended();
      const { tool_call_id, ticket } = turn.calls[0] ?? {};
      await fx.query("update state.calls set deadline_at = now() + interval '1 hour' where tool_call_id = $1", [
        tool_call_id,
      ]);
      const call = { project_id: PROJECT, tool_call_id };
      const opened = await ask("open_call", { ...call, ticket, executor: "e", claim_id: "c" });
      const said = { ...call, content: { status: "ok", result: 7 } };
      const before = await fx.everything();
      for (const fn of ["put_result_card", "report"]) {
        expect(await ask(fn, { ...said, capability: "00".repeat(32) })).toEqual({
          outcome: "rejected",
          code: "auth_failed",
        });
      }
      expect(await fx.everything()).toBe(before);
      const { capability } = opened as { capability: string };
      expect(await ask("report", { ...said, capability })).toMatchObject({
        outcome: "accepted",
        warning: { code: "schema_invalid", message: expect.stringContaining("status must be one of") },
      });
      expect((await fx.kernel.reads.call(PROJECT, String(tool_call_id)))?.result_status).toBe("failed");
    });

    it("meets the JSON gate again: depth, __proto__, numbers, size", async () => {
      const deep = `${"[".repeat(100)}1${"]".repeat(100)}`;
      for (const content of [
        `{"status":"success","result":${deep}}`,
        '{"status":"success","result":{"__proto__":1}}',
        '{"status":"success","result":1e400}',
        `{"status":"success","result":"${"x".repeat(4_200_000)}"}`,
      ]) {
        const item = `[{"project_id":"p1","tool_call_id":"tc_x","capability":"","content":${content}}]`;
        await expect(tool.query("select l0.report($1::jsonb) as answer", [item])).rejects.toThrow(
          /too_deep|forbidden_key|schema_invalid|payload_too_large/,
        );
      }
      await expect(tool.query("select l0.report($1::jsonb)", [JSON.stringify(Array(65).fill({}))])).rejects.toThrow(
        /at most 64/,
      );
      await expect(tool.query("select l0.report($1::jsonb)", ["{}"])).rejects.toThrow(/array/);
    });

    it("is all that a node needs from its own role: a turn runs under tessera_kernel, and cards stay as they are", async () => {
      const node = fx.anotherKernel(kernel);
      const agent = await fx.newAgent();
      const worker = fx.ids.mint("worker");
      await node.renewWorker({ worker_id: worker, worker_target: "workers" });
      await node.enqueueTurn({ project_id: PROJECT, agent_id: agent });
      const started = await node.resume({ project_id: PROJECT, agent_id: agent, worker_id: worker });
      if (started.outcome !== "accepted") throw new Error(JSON.stringify(started));
      const { project_id, agent_id, agent_turn_id, turn_epoch } = started;
      const suspended = await node.suspendOnCalls({
        project_id,
        agent_id,
        agent_turn_id,
        turn_epoch,
        step_id: fx.ids.mint("step"),
        thought: { content: { text: "" } },
        calls: [fx.call()],
      });
      if (suspended.outcome === "rejected") throw new Error(suspended.code);
      const opened = await node.openCall({
        project_id,
        tool_call_id: suspended.calls[0]?.tool_call_id ?? "",
        ticket: suspended.calls[0]?.ticket ?? "",
        executor: "e",
      });
      if (opened.outcome === "rejected") throw new Error(opened.code);
      await node.report({
        project_id,
        tool_call_id: opened.tool_call_id,
        capability: opened.capability,
        content: { status: "success" },
      });
      const resumed = await node.resume({ project_id, agent_id, worker_id: worker });
      if (resumed.outcome !== "accepted") throw new Error(JSON.stringify(resumed));
      expect(
        (
          await node.finishTurn({
            project_id,
            agent_id,
            agent_turn_id,
            turn_epoch: resumed.turn_epoch,
            status: "success",
          })
        ).outcome,
      ).toBe("accepted");
      await node.stopTurn({ project_id, agent_turn_id: "turn_none" });
      await node.sweep();
      for (const statement of [
        "update card.cards set content = '{}'",
        "delete from card.cards",
        "update state.events set status = 'x'",
        "delete from state.calls",
      ]) {
        await expect(kernel.query(statement)).rejects.toMatchObject({ kind: "forbidden" });
      }
    });
  });
