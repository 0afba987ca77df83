// What the logins of a worker, of the API and of a reader may do on PostgreSQL: their own part, and none of the others'.
// A tool's login has a file of its own (roles.test.ts). PGlite has one superuser session; there is nothing to hold there.

import { readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { checkSchema, type Database, DatabaseError, type Kernel, verifyStore } from "../../src/index.ts";
import { PROJECT, SUBJECT, useFixture } from "../fixture.ts";

const fx = useFixture();
const rolesSql = readFileSync(new URL("../../../../deploy/roles.sql", import.meta.url), "utf8");
const needsRoles = process.env.TESSERA_TEST_ENGINE === "postgres";
const ROLES = ["worker", "api", "api_ro"] as const;
type Role = (typeof ROLES)[number];

/** Only the owner's functions may do these. */
const FORBIDDEN_TO_ALL = [
  "update card.cards set content = '{}'",
  "delete from card.cards",
  "delete from card.boxes",
  "truncate card.cards",
  "delete from state.calls",
  "delete from state.events",
  "update state.events set status = 'x'",
  "update state.audit_log set code = 'ok'",
  "delete from state.audit_log",
  "update resource.tool_versions set digest = 'x'",
  "delete from resource.projects",
  "delete from resource.api_keys",
  "delete from state.workers",
  "insert into resource.target_principals values ('t', 'p', now())",
  "insert into l0.migrations values (99, 'x', 'x', true, now())",
  "update l0.ticket_keys set key_id = 1",
  "select l0.sweep_calls(1, now())",
  "select l0.sweep_inbox(1, now())",
  "select l0.sweep_workers(1, now())",
  "select l0.free_leases(now())",
  "select l0.put_target_principals('[]', now())",
  "create table public.mine (a int)",
  "create temporary table mine (a int)",
  "set role tessera_kernel",
];

const FORBIDDEN: Readonly<Record<Role, readonly string[]>> = {
  worker: [
    "select * from resource.api_keys",
    "insert into resource.api_keys (key_id) values ('x')",
    "update resource.projects set status = 'deleting'",
    "update resource.projects set revision = 9",
    "select l0.delete_project('p1', 0, 0, now())",
    "select l0.put_api_keys('[]', now())",
    "select l0.living_api_key('x', now())",
    "select l0.put_audit('[]', now())",
    "set role tessera_api",
  ],
  api: [
    "insert into state.calls (tool_call_id) values ('x')",
    "insert into state.workers (worker_id) values ('x')",
    "update state.workers set lease_until = now()",
    "insert into state.pmo_batches (batch_id) values ('x')",
    "update state.pmo_batches set status = 'failed'",
    "select l0.resume('[]', now())",
    "select l0.suspend_on_calls('[]', now())",
    "select l0.resume_plainly('[]', now())",
    "select l0.suspend_plainly('[]', now())",
    "select l0.suspend_locally('[]', now())",
    "select l0.apply_results('[]', now())",
    "select l0.apply_plainly('[]', now())",
    "select l0.finish_turn('[]', now())",
    "select l0.finish_plainly('[]', now())",
    "select l0.renew_worker('[]', now())",
    "select l0.open_batch('[]', now())",
    "set role tessera_worker",
  ],
  api_ro: [
    "select * from resource.api_keys",
    "select secret_sha256 from resource.api_keys",
    "select * from l0.ticket_keys",
    "insert into state.audit_log (kind, code, created_at) values ('x', 'x', now())",
    "insert into card.cards (card_id) values ('x')",
    "update resource.projects set title = 'x'",
    "select 1 from resource.projects for key share",
    "select l0.enqueue_turn('[]', now())",
    "select l0.put_audit('[]', now())",
    "select l0.put_projects('[]', now())",
    "select l0.delete_project('p1', 0, 0, now())",
    "set role tessera_api",
  ],
};

if (!needsRoles)
  describe("an engine without roles", () => {
    it("says so", () => {
      expect(fx.store.database.capabilities.roles).toBe(false);
    });
  });

if (needsRoles)
  describe("the login of", () => {
    const suffix = Math.trunc(performance.timeOrigin).toString(36);
    const logins = ROLES.map((role) => `split_${role}_${suffix}`);
    const databases = new Map<Role, Database>();
    const kernelOf = (role: Role): Kernel => fx.anotherKernel(databaseOf(role));
    const databaseOf = (role: Role): Database => {
      const database = databases.get(role);
      if (database === undefined) throw new Error(role);
      return database;
    };

    beforeAll(async () => {
      await fx.store.database.script(rolesSql);
      await fx.store.database.script(rolesSql); // Running it again changes nothing.
      for (const [n, role] of ROLES.entries()) {
        const user = logins[n] as string;
        await fx.store.database.script(`create role ${user} login in role tessera_${role}`);
        databases.set(role, await fx.store.another({ user }));
      }
    });
    afterAll(async () => {
      for (const login of logins) await fx.store.database.script(`drop role ${login}`);
    });

    for (const role of ROLES) {
      for (const statement of [...FORBIDDEN_TO_ALL, ...FORBIDDEN[role]]) {
        it(`${role} is refused: ${statement}`, async () => {
          const error = await databaseOf(role)
            .query(statement)
            .catch((refusal: unknown) => refusal);
          expect(error).toBeInstanceOf(DatabaseError);
          expect((error as DatabaseError).kind).toBe("forbidden");
        });
      }
    }

    it("a worker takes a turn through its whole life, with children, a batch and what its bundle brings", async () => {
      const node = kernelOf("worker");
      await checkSchema(databaseOf("worker"));
      const bundle = { project_id: "bundle", expected_revision: null };
      expect(await node.putProject(bundle)).toMatchObject({ outcome: "accepted" });
      // Two workers that start at once on a new store both try; the second may not change the row, and need not.
      expect(await node.putProject(bundle)).toMatchObject({ outcome: "rejected", code: "precondition_failed" });
      const definition = { tool_name: "echo__run", target_subject: SUBJECT, after_execution: "suspend" } as const;
      expect(await node.putTool({ project_id: PROJECT, ...definition })).toMatchObject({ outcome: "accepted" });
      const box_id = fx.ids.mint("box");
      const card_id = fx.ids.mint("card");
      const card = {
        project_id: PROJECT,
        card_id,
        type: "sys.profile",
        author_id: "sys.deploy",
        content: { data: {} },
      };
      expect(await node.putCard(card)).toMatchObject({ outcome: "accepted" });
      expect(await node.putBox({ project_id: PROJECT, box_id, card_ids: [card_id] })).toMatchObject({
        outcome: "accepted",
      });
      const profile = { project_id: PROJECT, name: "p", profile_box_id: box_id, worker_target: "workers" };
      expect(await node.putProfile(profile)).toEqual({ outcome: "accepted" });
      expect(await node.putProfile({ ...profile, description: "x" })).toEqual({ outcome: "accepted" });
      for (const agent_id of ["split_parent", "split_child"]) {
        const agent = { project_id: PROJECT, agent_id, worker_target: "workers", profile_box_id: box_id };
        const identity_edge = { edge_id: fx.ids.mint("edge"), action: "provision" };
        expect(await node.putAgent({ ...agent, identity_edge })).toEqual({ outcome: "accepted" });
      }
      const worker_id = fx.ids.mint("worker");
      expect(await node.renewWorker({ worker_id, worker_target: "workers" })).toMatchObject({ outcome: "accepted" });
      await node.enqueueTurn({ project_id: PROJECT, agent_id: "split_parent" });
      const taken = await node.resume({ project_id: PROJECT, agent_id: "split_parent", worker_id });
      if (taken.outcome !== "accepted") throw new Error(JSON.stringify(taken));
      const { project_id, agent_id, agent_turn_id, turn_epoch } = taken;
      const hold = { project_id, agent_id, agent_turn_id, turn_epoch };
      const thought = { card_id: fx.ids.mint("card"), type: "agent.thought", content: { text: "" } };
      expect(await node.appendCards({ ...hold, cards: [thought] })).toMatchObject({ outcome: "accepted" });
      const suspended = await node.suspendOnCalls({
        ...hold,
        step_id: fx.ids.mint("step"),
        thought: { content: { text: "" } },
        calls: [fx.call(), fx.call()],
      });
      if (suspended.outcome === "rejected") throw new Error(suspended.code);
      const [first, second] = await Promise.all(
        suspended.calls.map(async ({ tool_call_id, ticket }) => {
          const opened = await node.openCall({ project_id, tool_call_id, ticket: ticket ?? "", executor: "e" });
          if (opened.outcome === "rejected") throw new Error(opened.code);
          return { project_id, tool_call_id, capability: opened.capability };
        }),
      );
      if (first === undefined || second === undefined) throw new Error("two calls were made");
      expect(await node.renewCall(first)).toMatchObject({ outcome: "accepted" });
      expect(await node.report({ ...first, content: { status: "success" } })).toMatchObject({ outcome: "accepted" });
      const batch_id = fx.ids.mint("batch");
      const batch_task_id = fx.ids.mint("task");
      const tasks = [{ batch_task_id, agent_id: "split_child" }];
      expect(await node.openBatch({ batch_id, ...second, tasks })).toMatchObject({ outcome: "accepted" });
      expect((await node.takeDueBatches(10)).map((batch) => batch.batch_id)).toContain(batch_id);
      expect(
        await node.dispatchBatchTask({
          batch_task_id,
          only_idle: false,
          project_id,
          turn: {
            project_id,
            agent_id: "split_child",
            agent_turn_id: fx.ids.mint("turn"),
            context_box_id: box_id,
            parent_agent_turn_id: agent_turn_id,
          },
        }),
      ).toMatchObject({ outcome: "accepted" });
      const child = await node.resume({ project_id, agent_id: "split_child", worker_id });
      if (child.outcome !== "accepted") throw new Error(JSON.stringify(child));
      expect(await node.stopTurn({ project_id, agent_turn_id: child.agent_turn_id })).toMatchObject({
        outcome: "accepted",
      });
      const end = { batch_id, project_id, status: "failed", result: {} } as const;
      expect(await node.finishBatch(end)).toMatchObject({ outcome: "accepted" });
      const resumed = await node.resume({ project_id, agent_id, worker_id });
      if (resumed.outcome !== "accepted") throw new Error(JSON.stringify(resumed));
      const finished = { ...hold, turn_epoch: resumed.turn_epoch, status: "success" } as const;
      expect(await node.finishTurn(finished)).toMatchObject({ outcome: "accepted" });
      await node.putDeadLetter({ project_id, reason: "test" });
      await node.childrenOfStopped(10);
      await node.overdueMessages({ worker_target: "workers" });
      await node.retireWorker(worker_id);
      expect((await node.reads.eventsAfter(project_id, 0)).length).toBeGreaterThan(0);
      expect(await node.reads.timeline(project_id, agent_turn_id, 50)).not.toEqual([]);
    });

    it("the API keeps resources and keys, asks for turns, stops them, serves executors, and deletes a project", async () => {
      const api = kernelOf("api");
      await checkSchema(databaseOf("api"));
      const project_id = "split_api";
      expect(await api.putProject({ project_id, expected_revision: null })).toMatchObject({ outcome: "accepted" });
      expect(await api.putProject({ project_id, title: "t", expected_revision: 1 })).toMatchObject({ revision: 2 });
      const key = await api.createApiKey({ role: "admin", project_id });
      if (key.outcome === "rejected") throw new Error(key.code);
      expect(await api.authenticate(key.text)).toMatchObject({ key_id: key.key_id });
      const target_subject = `cg.v1r4.${project_id}.public.cmd.tool.echo.run`;
      const definition = { tool_name: "echo__run", target_subject, after_execution: "suspend" } as const;
      expect(await api.putTool({ project_id, ...definition })).toMatchObject({ outcome: "accepted" });
      const box_id = fx.ids.mint("box");
      expect(await api.putBox({ project_id, box_id })).toMatchObject({ outcome: "accepted" });
      const profile = { project_id, name: "p", profile_box_id: box_id, worker_target: "workers" };
      expect(await api.putProfile(profile)).toEqual({ outcome: "accepted" });
      expect(await api.removeProfile({ project_id, name: "p" })).toEqual({ outcome: "accepted" });
      const agent_id = "split_agent";
      const agent = { project_id, agent_id, worker_target: "workers", profile_box_id: box_id };
      expect(await api.putAgent(agent)).toEqual({ outcome: "accepted" });
      const asked = await api.enqueueTurn({ project_id, agent_id });
      if (asked.outcome === "rejected") throw new Error(asked.code);
      // The worker is another process; its calls come in over the API.
      const turn = await fx.resumed(agent_id, await fx.newWorker(), project_id);
      await fx.suspend(turn, [{ target_subject }, { target_subject }]);
      const [opened] = await api.claimCalls({ project_id, target: "echo", executor: "e", principal: "key" });
      if (opened === undefined) throw new Error("nothing to claim");
      const { tool_call_id, capability } = opened;
      const call = { project_id, tool_call_id, capability, principal: "key" };
      expect(await api.renewCall(call)).toMatchObject({ outcome: "accepted" });
      const content = { status: "success", result: 1 };
      const saved = await api.putResultCard({ ...call, content });
      if (saved.outcome === "rejected") throw new Error(saved.code);
      const pointer = { tool_result_card_id: saved.tool_result_card_id, status: "success", after_execution: "suspend" };
      expect(await api.report({ ...call, ...pointer })).toMatchObject({ outcome: "accepted" });
      expect(await api.deleteProject(project_id)).toMatchObject({ outcome: "rejected", open_turns: 1 });
      expect(await api.stopTurn({ project_id, agent_turn_id: turn.agent_turn_id })).toMatchObject({
        outcome: "accepted",
      });
      expect(await api.putAudit({ project_id, kind: "api.write", code: "ok" })).toEqual({ outcome: "accepted" });
      expect(await api.revokeApiKey({ key_id: key.key_id })).toEqual({ outcome: "accepted" });
      await readAll(api, project_id, turn.agent_turn_id);
      expect((await verifyStore(databaseOf("api"), { only: "safety" })).violations).toEqual([]);
      expect(await api.deleteProject(project_id)).toEqual({ outcome: "accepted" });
      expect(await api.reads.project(project_id)).toBeNull();
    });

    it("a reader reads everything that the API shows", async () => {
      const reader = kernelOf("api_ro");
      const turn = await fx.suspended();
      await checkSchema(databaseOf("api_ro"));
      await readAll(reader, PROJECT, turn.agent_turn_id);
      expect(await reader.reads.apiKeys(null)).toBeInstanceOf(Array);
      expect(await reader.reads.lastEventSeq(PROJECT)).toBeGreaterThan(0);
      expect((await verifyStore(databaseOf("api_ro"), { only: "safety" })).violations).toEqual([]);
    });
  });

async function readAll({ reads }: Kernel, project: string, turn: string): Promise<void> {
  const page = { order: "desc", limit: 5 } as const;
  expect(await reads.projects({ limit: 5 })).not.toEqual([]);
  expect(await reads.heads(project, { limit: 5 })).not.toEqual([]);
  expect(await reads.steps(project, {}, page)).not.toEqual([]);
  expect(await reads.steps(project, { agent_turn_id: turn }, { ...page, order: "asc" })).not.toEqual([]);
  expect(await reads.executionEdges(project, {}, 5)).not.toEqual([]);
  expect(await reads.identityEdges(project, {}, 5)).toBeInstanceOf(Array);
  expect((await reads.timeline(project, turn, 5)).entries).not.toEqual([]);
  expect((await reads.activity(project, { since: "2020-01-01T00:00:00Z", until: null })).turns).not.toEqual([]);
  expect(await reads.eventsAfter(project, 0)).not.toEqual([]);
  expect(await reads.turns(project)).not.toEqual([]);
  expect(await reads.callsOfTurn(project, turn)).not.toEqual([]);
  await reads.audit(project);
  await reads.storeAudit();
  await reads.childTurns(project, turn);
  await reads.turns(project, { parent_agent_turn_id: turn });
  await reads.deadLetters(project);
}
