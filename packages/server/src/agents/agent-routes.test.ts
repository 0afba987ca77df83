// The roster over HTTP: from a profile or field by field, what is refused by field, and lists by filter.

import { describe, expect, it } from "vitest";
import { OTHER, PROJECT } from "../../test/fixture.ts";
import { useManagement } from "../../test/management-fixture.ts";

const fx = useManagement();
const AGENTS = `/projects/${PROJECT}/agents`;
const make = (json: unknown, key = "operator") => fx.post(AGENTS, json, key);

async function profile(name: string): Promise<string> {
  const payload = `name: ${name}\nworker_target: thinkers\ntags: [deep]\n`;
  const headers = { "content-type": "application/yaml" };
  const answer = await fx.send("POST", `/projects/${PROJECT}/profiles`, { key: "operator", headers, payload });
  return answer.body.profile_box_id;
}

describe("adding an agent", () => {
  it("takes from the profile what the request does not say", async () => {
    const profile_box_id = await profile("sage");
    const made = await make({ agent_id: "a1", profile_name: "sage", metadata: { team: "x" } });
    expect(made.status).toBe(201);
    expect(made.body).toMatchObject({
      ...{ project_id: PROJECT, agent_id: "a1", profile_box_id, worker_target: "thinkers", tags: ["deep"] },
      ...{ display_name: "sage", status: "active", metadata: { team: "x" }, owner_agent_id: null },
    });
    expect((await fx.get(`${AGENTS}/a1`)).body).toEqual(made.body);
    expect((await fx.get(`/projects/${PROJECT}/state/agents`)).body.heads).toContainEqual(
      expect.objectContaining({ agent_id: "a1", status: "idle" }),
    );
  });

  it("takes a box, and lets the request say more than the profile", async () => {
    const profile_box_id = await profile("sage2");
    const wanted = { agent_id: "a2", profile_box_id, worker_target: "own", tags: ["t"], display_name: "Ada" };
    expect((await make(wanted)).body).toMatchObject(wanted);
  });

  it("notes who came into being in which channel", async () => {
    await make({ agent_id: "parent", worker_target: "w" });
    await make({ agent_id: "child", worker_target: "w", owner_agent_id: "parent", channel_id: "lab" });
    const { edges } = (await fx.get(`/projects/${PROJECT}/state/identity/edges?channel_id=lab`)).body;
    expect(edges).toMatchObject([{ target_agent_id: "child", owner_agent_id: "parent", action: "create" }]);
  });

  it("refuses an id that is taken, and leaves that agent as it is", async () => {
    await make({ agent_id: "once", worker_target: "first" });
    const again = await make({ agent_id: "once", worker_target: "second" });
    expect([again.status, again.body.error_detail.field]).toEqual([409, "agent_id"]);
    expect((await fx.get(`${AGENTS}/once`)).body.worker_target).toBe("first");
  });

  it("makes one agent of many requests at once", async () => {
    const targets = ["w1", "w2", "w3", "w4"];
    const answers = await Promise.all(targets.map((worker_target) => make({ agent_id: "wanted", worker_target })));
    const made = answers.filter(({ status }) => status === 201);
    expect(made).toHaveLength(1);
    expect(answers.filter(({ status }) => status === 409)).toHaveLength(3);
    expect((await fx.get(`${AGENTS}/wanted`)).body).toEqual(made[0]?.body);
  });

  it.each([
    [400, "agent_id", { worker_target: "w" }],
    [400, "agent_id", { agent_id: "CON", worker_target: "w" }],
    [400, "worker_target", { agent_id: "x", worker_target: "__proto__" }],
    [400, "agent_id", { agent_id: "a.b", worker_target: "w" }],
    [400, "worker_target", { agent_id: "x" }],
    [400, "worker_target", { agent_id: "x", worker_target: "a b" }],
    [400, "init_state", { agent_id: "x", worker_target: "w", init_state: false }],
    [400, "tags", { agent_id: "x", worker_target: "w", tags: "a" }],
    [400, "metadata", { agent_id: "x", worker_target: "w", metadata: [] }],
    [400, "evil", { agent_id: "x", worker_target: "w", evil: 1 }],
    [404, "profile_name", { agent_id: "x", profile_name: "nobody" }],
    [404, "profile_box_id", { agent_id: "x", worker_target: "w", profile_box_id: "box_none" }],
    [404, "owner_agent_id", { agent_id: "x", worker_target: "w", owner_agent_id: "nobody" }],
  ])("answers %i and names %s", async (status, field, json) => {
    const answer = await make(json);
    expect([answer.status, answer.body.error_detail.field]).toEqual([status, field]);
    expect((await fx.get(`${AGENTS}/x`)).status).toBe(404);
  });

  it("refuses a profile and a box that are not of each other", async () => {
    await profile("one");
    const profile_box_id = await profile("two");
    const answer = await make({ agent_id: "x", profile_name: "one", profile_box_id });
    expect([answer.status, answer.body.error_code]).toEqual([409, "profile_mismatch"]);
  });

  it("does not take a box or an owner of another project", async () => {
    await fx.kernel.putBox({ project_id: OTHER, box_id: "box_other" });
    await fx.kernel.putAgent({ project_id: OTHER, agent_id: "far", worker_target: "w" });
    expect((await make({ agent_id: "x", worker_target: "w", profile_box_id: "box_other" })).status).toBe(404);
    expect((await make({ agent_id: "x", worker_target: "w", owner_agent_id: "far" })).status).toBe(404);
    expect((await fx.get(`${AGENTS}/far`)).status).toBe(404);
  });
});

describe("listing agents", () => {
  it("finds each once, page by page, and filters by target and tag", async () => {
    for (let n = 0; n < 5; n += 1)
      await make({ agent_id: `p${n}`, worker_target: "paged", tags: [n % 2 ? "odd" : "even"] });
    const ids = async (query: string) =>
      (await fx.pages(`${AGENTS}?worker_target=paged${query}`, "agents", 2)).map((row) => row.agent_id);
    expect(await ids("")).toEqual(["p0", "p1", "p2", "p3", "p4"]);
    expect(await ids("&tag=odd")).toEqual(["p1", "p3"]);
    expect(await ids("&tag=none")).toEqual([]);
  });

  it("does not take the cursor of another filter", async () => {
    const page = await fx.get(`${AGENTS}?worker_target=paged&limit=1`);
    const cursor = encodeURIComponent(page.body.next_cursor);
    expect((await fx.get(`${AGENTS}?worker_target=other&cursor=${cursor}`)).status).toBe(400);
  });
});
