// Compare-and-set of projects, tools and profiles: of two writers with one expectation one wins. And the audit log.

import { describe, expect, it } from "vitest";
import { type Database, DatabaseError, toolDigest } from "../src/index.ts";
import { PROJECT, useFixture } from "./fixture.ts";

const fx = useFixture();
let projects = 0;

async function newProject(): Promise<string> {
  projects += 1;
  const project_id = `compared_${projects}`;
  expect(await fx.kernel.putProject({ project_id })).toEqual({ outcome: "accepted", revision: 1 });
  return project_id;
}

const tool = (project_id: string, description = "") => ({
  project_id,
  tool_name: "echo__run",
  description,
  target_subject: `cg.v1r4.${project_id}.public.cmd.tool.echo.run`,
  after_execution: "suspend" as const,
});

describe("compare-and-set", () => {
  const failed = { outcome: "rejected", code: "precondition_failed" };
  const winners = (outcomes: readonly { outcome: string }[]) =>
    outcomes.filter(({ outcome }) => outcome === "accepted");

  it("of a project lets one of two writers with one expectation through", async () => {
    const project_id = await newProject();
    const another = fx.anotherKernel(await fx.store.another({ poolMax: 1 }));
    const outcomes = await Promise.all([
      fx.kernel.putProject({ project_id, title: "a", expected_revision: 1 }),
      another.putProject({ project_id, title: "a", expected_revision: 1 }),
    ]);
    expect(winners(outcomes)).toEqual([{ outcome: "accepted", revision: 2 }]);
    expect(outcomes).toContainEqual(failed);
    expect(await fx.kernel.reads.project(project_id)).toMatchObject({ title: "a", revision: 2 });
    expect(await fx.kernel.putProject({ project_id, expected_revision: null })).toEqual(failed);
    expect(await fx.kernel.putProject({ project_id: "none", expected_revision: 1 })).toEqual(failed);
    expect(await fx.kernel.reads.project("none")).toBeNull();
    const fresh = await Promise.all([
      fx.kernel.putProject({ project_id: "fresh", expected_revision: null }),
      another.putProject({ project_id: "fresh", expected_revision: null }),
    ]);
    expect(winners(fresh)).toHaveLength(1);
    expect(fresh).toContainEqual(failed);
  });

  it("of a tool does, too: a new one, a changed one, a removed one", async () => {
    const project_id = await newProject();
    const another = fx.anotherKernel(await fx.store.another({ poolMax: 1 }));
    const race = async (description: string, expected_digest: string | null) => {
      const definition = { ...tool(project_id, description), expected_digest };
      return await Promise.all([fx.kernel.putTool(definition), another.putTool(definition)]);
    };
    const made = await race("first", null);
    expect(winners(made)).toHaveLength(1);
    expect(made).toContainEqual(expect.objectContaining(failed));
    const digest = toolDigest(tool(project_id, "first"));
    const changed = await race("second", digest);
    expect(winners(changed)).toHaveLength(1);
    expect(changed).toContainEqual(expect.objectContaining(failed));
    const name = { project_id, tool_name: "echo__run" };
    expect(await fx.kernel.removeTool({ ...name, expected_digest: digest })).toMatchObject(failed);
    expect(await fx.kernel.putTool({ ...tool(project_id, "third"), expected_digest: null })).toMatchObject(failed);
    const second = toolDigest(tool(project_id, "second"));
    expect(await fx.kernel.putTool({ ...tool(project_id, "second"), expected_digest: second })).toMatchObject({
      outcome: "duplicate",
    });
    expect(await fx.kernel.removeTool({ ...name, expected_digest: second })).toMatchObject({ outcome: "accepted" });
    expect(await fx.kernel.putTool({ ...tool(project_id, "third"), expected_digest: null })).toMatchObject({
      outcome: "accepted",
      version: 4,
    });
  });

  it("of a profile does, too", async () => {
    const project_id = await newProject();
    const boxes = [fx.ids.mint("box"), fx.ids.mint("box")] as const;
    for (const box_id of boxes) await fx.kernel.putBox({ project_id, box_id });
    const another = fx.anotherKernel(await fx.store.another({ poolMax: 1 }));
    const race = async (profile_box_id: string, expected_profile_box_id: string | null) => {
      const profile = { project_id, name: "planner", profile_box_id, worker_target: "w", expected_profile_box_id };
      return await Promise.all([fx.kernel.putProfile(profile), another.putProfile(profile)]);
    };
    const made = await race(boxes[0], null);
    expect(winners(made)).toHaveLength(1);
    expect(made).toContainEqual(failed);
    const changed = await race(boxes[1], boxes[0]);
    expect(winners(changed)).toHaveLength(1);
    expect(changed).toContainEqual(failed);
    const name = { project_id, name: "planner" };
    expect(await fx.kernel.removeProfile({ ...name, expected_profile_box_id: boxes[0] })).toEqual(failed);
    expect(await fx.kernel.removeProfile({ ...name, expected_profile_box_id: boxes[1] })).toEqual({
      outcome: "accepted",
    });
    expect(winners(await race(boxes[0], null))).toHaveLength(1);
  });

  it("gives a lost answer again instead of refusing its own change", async () => {
    const project_id = await newProject();
    const box_id = fx.ids.mint("box");
    await fx.kernel.putBox({ project_id, box_id });
    const profile = {
      project_id,
      name: "planner",
      profile_box_id: box_id,
      worker_target: "w",
      expected_profile_box_id: null,
    };
    const kernel = fx.anotherKernel(losingAnswers(fx.store.database));
    // The kernel pauses before it asks again; time stands still until it is moved.
    const settle = async <T>(work: Promise<T>): Promise<T> => {
      let isOver = false;
      const over = () => {
        isOver = true;
      };
      work.then(over, over);
      while (!isOver) {
        await fx.query("select 1");
        await fx.clock.advance(25);
      }
      return await work;
    };
    expect(await settle(kernel.putProject({ project_id, title: "t", expected_revision: 1 }))).toEqual({
      outcome: "duplicate",
      revision: 2,
    });
    expect(await settle(kernel.putTool({ ...tool(project_id), expected_digest: null }))).toMatchObject({
      outcome: "duplicate",
      version: 1,
    });
    expect(await settle(kernel.putProfile(profile))).toEqual({ outcome: "duplicate" });
  });
});

/** Commits each statement and loses its answer the first time. */
function losingAnswers(database: Database): Database {
  const lost = new Set<string>();
  return {
    ...database,
    capabilities: database.capabilities,
    query: async (text, values) => {
      const rows = await database.query(text, values);
      if (lost.has(text)) return rows as never;
      lost.add(text);
      throw new DatabaseError("connection_lost", "lost");
    },
  };
}

describe("the audit log", () => {
  it("is read newest first, page by page, and never another project's", async () => {
    const project_id = await newProject();
    const other = await newProject();
    for (let n = 0; n < 5; n += 1) {
      await fx.kernel.putAudit({
        project_id,
        kind: "api.write",
        code: "ok",
        principal: `key_${n}`,
        agent_turn_id: "turn_x",
        detail: { n },
      });
      await fx.kernel.putAudit({ project_id: other, kind: "api.write", code: "ok" });
      await fx.kernel.putDeadLetter({ project_id, reason: `r${n}` });
      await fx.kernel.putDeadLetter({ project_id: other, reason: "other" });
    }
    const first = await fx.kernel.reads.audit(project_id, 2);
    const rest = await fx.kernel.reads.audit(project_id, 10, Number(first.at(-1)?.audit_id));
    expect([...first, ...rest].map((row) => row.principal)).toEqual(["key_4", "key_3", "key_2", "key_1", "key_0"]);
    expect(first[0]).toMatchObject({ kind: "api.write", code: "ok", agent_turn_id: "turn_x", detail: { n: 4 } });
    const letters = await fx.kernel.reads.deadLetters(project_id, 3);
    const older = await fx.kernel.reads.deadLetters(project_id, 9, Number(letters.at(-1)?.dead_letter_id));
    expect([...letters, ...older].map((row) => row.reason)).toEqual(["r4", "r3", "r2", "r1", "r0"]);
  });

  it("of the store has what belongs to no project, newest first, page by page", async () => {
    for (const code of ["a", "b", "c"]) await fx.kernel.putAudit({ project_id: null, kind: "api.verifyStore", code });
    await fx.kernel.putAudit({ project_id: PROJECT, kind: "api.write", code: "of a project" });
    const first = await fx.kernel.reads.storeAudit(2);
    const rest = await fx.kernel.reads.storeAudit(1, Number(first.at(-1)?.audit_id));
    expect([...first, ...rest].map(({ project_id, code }) => [project_id, code])).toEqual([
      [null, "c"],
      [null, "b"],
      [null, "a"],
    ]);
  });

  it("takes small details and no project that is not there", async () => {
    const note = { project_id: PROJECT, kind: "api.write", code: "ok" };
    const before = (await fx.kernel.reads.audit(PROJECT)).length;
    const large = { text: "x".repeat(5_000) };
    expect(await fx.kernel.putAudit({ ...note, detail: large })).toEqual({
      outcome: "rejected",
      code: "payload_too_large",
    });
    expect(await fx.kernel.putAudit({ ...note, kind: "k".repeat(300) })).toEqual({
      outcome: "rejected",
      code: "bad_request",
    });
    expect(await fx.kernel.putAudit({ ...note, project_id: "p_none" })).toEqual({ outcome: "accepted" });
    expect(await fx.kernel.reads.audit("p_none")).toEqual([]);
    const [newest] = await fx.kernel.reads.storeAudit(1);
    expect(newest).toMatchObject({ ...note, project_id: null, detail: { project_id: "p_none" } });
    expect(await fx.kernel.reads.audit(PROJECT)).toHaveLength(before);
  });
});
