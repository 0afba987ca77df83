// Profiles by name, and the reads that delegation needs: the roster by filter, a turn's children.

import { describe, expect, it } from "vitest";
import type { ProfileRecord, TurnPlace } from "../../src/index.ts";
import { PROJECT, useFixture } from "../fixture.ts";

const fx = useFixture();

async function draft(name: string, rest: Partial<ProfileRecord> = {}): Promise<ProfileRecord> {
  const box = fx.ids.mint("box");
  await fx.kernel.putBox({ project_id: PROJECT, box_id: box });
  return { project_id: PROJECT, name, profile_box_id: box, worker_target: "workers", tags: ["a", "b"], ...rest };
}

describe("a profile", () => {
  it("is found by its name and its box, and the same upload again changes nothing", async () => {
    const planner = await draft("planner", { description: "plans" });
    expect(await fx.kernel.putProfile(planner)).toEqual({ outcome: "accepted" });
    const stored = { ...planner, tags: ["a", "b"], description: "plans" };
    expect(await fx.kernel.reads.profile(PROJECT, "planner")).toMatchObject(stored);
    expect(await fx.kernel.reads.profileByBox(PROJECT, planner.profile_box_id)).toMatchObject(stored);
    const before = await fx.everything();
    expect(await fx.kernel.putProfile(planner)).toEqual({ outcome: "duplicate" });
    expect(await fx.everything()).toBe(before);
  });

  it("that is uploaded again under its name means the new box only", async () => {
    const first = await draft("writer");
    const second = await draft("writer", { worker_target: "others", tags: [] });
    await fx.kernel.putProfile(first);
    expect(await fx.kernel.putProfile(second)).toEqual({ outcome: "accepted" });
    expect(await fx.kernel.reads.profile(PROJECT, "writer")).toMatchObject({
      profile_box_id: second.profile_box_id,
      worker_target: "others",
      tags: [],
    });
    expect(await fx.kernel.reads.profileByBox(PROJECT, first.profile_box_id)).toBeNull();
  });

  it("that is removed is gone by name, box and list, until it is uploaded again", async () => {
    const gone = await draft("gone");
    await fx.kernel.putProfile(gone);
    const name = { project_id: PROJECT, name: "gone" };
    expect(await fx.kernel.removeProfile(name)).toEqual({ outcome: "accepted" });
    expect(await fx.kernel.removeProfile(name)).toEqual({ outcome: "rejected", code: "not_found" });
    expect(await fx.kernel.reads.profile(PROJECT, "gone")).toBeNull();
    expect(await fx.kernel.reads.profileByBox(PROJECT, gone.profile_box_id)).toBeNull();
    expect((await fx.kernel.reads.profiles(PROJECT)).map((profile) => profile.name)).not.toContain("gone");
    expect(await fx.kernel.putProfile(gone)).toEqual({ outcome: "accepted" });
    expect(await fx.kernel.reads.profile(PROJECT, "gone")).toMatchObject({ name: "gone" });
  });

  it("keeps the case of its name, and the list is in the order of names", async () => {
    for (const name of ["list-b", "list-B", "list-a"]) await fx.kernel.putProfile(await draft(name));
    expect(await fx.kernel.reads.profile(PROJECT, "LIST-B")).toBeNull();
    const names = (await fx.kernel.reads.profiles(PROJECT)).map((profile) => profile.name);
    expect(names.filter((name) => name.startsWith("list-"))).toEqual(["list-B", "list-a", "list-b"]);
  });

  it.each([
    ["without a box that exists", { profile_box_id: "box_nowhere" }, "not_found"],
    ["of another project's box", { project_id: "p9" }, "not_found"],
    ["without a name", { name: " " }, "bad_request"],
    ["with a control character in its name", { name: "a\nb" }, "bad_request"],
    ["with a worker target of two tokens", { worker_target: "a.b" }, "invalid_id"],
    ["with a description over the limit", { description: "x".repeat(5_000) }, "bad_request"],
  ])("%s is refused and nothing is written", async (_what, wrong, code) => {
    const profile = { ...(await draft("refused")), ...wrong };
    const before = await fx.everything();
    expect(await fx.kernel.putProfile(profile)).toEqual({ outcome: "rejected", code });
    expect(await fx.everything()).toBe(before);
  });
});

describe("the roster", () => {
  it("is listed by worker target, tag, owner and profile, page by page", async () => {
    const { profile_box_id } = await draft("roster");
    const agent = (agent_id: string, rest: object) =>
      fx.kernel.putAgent({ project_id: PROJECT, agent_id, worker_target: "roster", profile_box_id, ...rest });
    await agent("roster_a", { tags: ["red"] });
    await agent("roster_b", { tags: ["red", "blue"], owner_agent_id: "roster_a" });
    await agent("roster_c", { worker_target: "other" });
    const ids = async (filter: object) => (await fx.kernel.reads.agents(PROJECT, filter)).map((row) => row.agent_id);
    expect(await ids({ profile_box_id })).toEqual(["roster_a", "roster_b", "roster_c"]);
    expect(await ids({ profile_box_id, worker_target: "roster" })).toEqual(["roster_a", "roster_b"]);
    expect(await ids({ profile_box_id, tag: "blue" })).toEqual(["roster_b"]);
    expect(await ids({ owner_agent_id: "roster_a" })).toEqual(["roster_b"]);
    expect(await ids({ profile_box_id, after: "roster_a", limit: 1 })).toEqual(["roster_b"]);
  });
});

describe("a turn's children", () => {
  it("are the turns it enqueued, of its own project only", async () => {
    const parent = await fx.started();
    const child = await fx.newAgent();
    const enqueued = await fx.kernel.enqueueTurn({
      project_id: PROJECT,
      agent_id: child,
      parent_agent_turn_id: parent.agent_turn_id,
    });
    const children = await fx.kernel.reads.childTurns(PROJECT, parent.agent_turn_id);
    expect(children).toMatchObject([{ agent_id: child, turn_status: "dispatched", recursion_depth: 1 }]);
    expect(children[0]?.agent_turn_id).toBe(enqueued.outcome === "accepted" && enqueued.agent_turn_id);
    expect(await fx.kernel.reads.childTurns("p9", parent.agent_turn_id)).toEqual([]);
    const listed = { parent_agent_turn_id: parent.agent_turn_id };
    const ids = async (project: string, filter: object) =>
      (await fx.kernel.reads.turns(project, { ...listed, ...filter })).map((turn) => turn.agent_id);
    expect(await ids(PROJECT, {})).toEqual([child]);
    expect(await ids(PROJECT, { status: "success" })).toEqual([]);
    expect(await ids(PROJECT, { before: children[0] })).toEqual([]);
    expect(await ids("p9", {})).toEqual([]);
  });
});

describe("the turns of a project", () => {
  it("are listed newest first by time, whatever their ids say, page after page", async () => {
    const project_id = "p_listed";
    await fx.kernel.putProject({ project_id });
    // Ids that follow from a caller's key: their order says nothing about time.
    const asked = ["turn_m", "turn_z", "turn_a", "turn_k"];
    for (const agent_turn_id of asked) {
      const agent_id = `agent_of_${agent_turn_id}`;
      await fx.kernel.putAgent({ project_id, agent_id, worker_target: "w" });
      await fx.kernel.enqueueTurn({ project_id, agent_id, agent_turn_id });
      await fx.clock.advance(1);
    }
    const listed: string[] = [];
    for (let before: TurnPlace | undefined; ; ) {
      const page = await fx.kernel.reads.turns(project_id, { limit: 1, ...(before === undefined ? {} : { before }) });
      const last = page.at(-1);
      if (last === undefined) break;
      listed.push(String(last.agent_turn_id));
      before = last as typeof last & TurnPlace;
    }
    expect(listed).toEqual(asked.toReversed());
  });
});
