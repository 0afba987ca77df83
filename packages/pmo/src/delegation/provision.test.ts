// provision_agent: what is made, what is kept, and every code of docs/protocol/internal-tools.md#results.

import { beforeAll, beforeEach, describe, expect, it } from "vitest";
import { PROJECT, useFixture } from "../../test/fixture.ts";

const fx = useFixture();
const ALL = { target_tags: [], target_profiles: null };
let boss = "";
let helper = "";
let other = "";
let caller = "";

beforeAll(async () => {
  boss = await fx.profile("boss", { policy: ALL });
  helper = await fx.profile("helper", { tags: ["a", "b"] });
  other = await fx.profile("other");
  caller = await fx.agent(boss);
});
beforeEach(async () => {
  await fx.pmo();
});

async function provision(args: unknown, as?: string) {
  const agent = as ?? (await fx.agent(boss));
  const turn = await fx.calling(agent, "provision_agent", args);
  return { agent, content: await fx.result(turn.tool_call_id) };
}

describe("provisioning", () => {
  it("creates an agent of a profile that the caller owns, and the same again changes nothing", async () => {
    const args = {
      action: "create",
      agent_id: "h1",
      profile_name: "helper",
      display_name: "Helper One",
      metadata: { k: [1] },
    };
    const { agent, content } = await provision(args);
    expect(content).toMatchObject({
      status: "success",
      error: null,
      result: { status: "accepted", agent_id: "h1", roster_updated: true },
    });
    expect(await fx.kernel.reads.agent(PROJECT, "h1")).toMatchObject({
      profile_box_id: helper,
      worker_target: "workers",
      tags: ["a", "b"],
      owner_agent_id: agent,
      display_name: "Helper One",
      metadata: { agent_name: "helper", k: [1] },
    });
    const again = await provision({ action: "ensure", agent_id: "h1" });
    expect(again.content.result).toEqual({ status: "accepted", agent_id: "h1", roster_updated: false });
  });

  it("derives an agent with the other's profile, target and tags", async () => {
    await provision({
      action: "create",
      agent_id: "origin",
      profile_name: "helper",
      tags: ["x"],
      worker_target: "special",
    });
    const { content } = await provision({ action: "derive", agent_id: "derived", derived_from: "origin" });
    expect(content.status).toBe("success");
    expect(await fx.kernel.reads.agent(PROJECT, "derived")).toMatchObject({
      profile_box_id: helper,
      worker_target: "special",
      tags: ["x"],
      metadata: { derived_from: "origin" },
    });
    expect(
      await fx.query("select action, source_agent_id from state.identity_edges where target_agent_id = 'derived'"),
    ).toEqual([{ action: "derive", source_agent_id: "origin" }]);
  });

  it("lets only the owner change what may change", async () => {
    const { agent } = await provision({ action: "create", agent_id: "owned", profile_name: "helper" });
    const change = { action: "ensure", agent_id: "owned", display_name: "New name", active_channel_id: "c2" };
    expect((await provision(change)).content.error?.code).toBe("auth_failed");
    // The owner's turn still waits for nothing: its first call was answered.
    const turn = await fx.callAgain(agent, "provision_agent", change);
    expect((await fx.result(turn.tool_call_id)).result).toMatchObject({ roster_updated: true });
    expect(await fx.kernel.reads.agent(PROJECT, "owned")).toMatchObject({
      display_name: "New name",
      metadata: { agent_name: "helper", active_channel_id: "c2" },
    });
  });

  it("knows the profile of an existing agent when its name was uploaded anew", async () => {
    await fx.profile("changing");
    await provision({ action: "create", agent_id: "old", profile_name: "changing" });
    await fx.profile("changing", { tags: ["newer"] });
    const { content } = await provision({ action: "ensure", agent_id: "old", profile_name: "changing" });
    expect(content.result).toEqual({ status: "accepted", agent_id: "old", roster_updated: false });
  });
});

describe("what cannot be provisioned", () => {
  beforeAll(async () => {
    await fx.kernel.putAgent({
      project_id: PROJECT,
      agent_id: "there",
      worker_target: "workers",
      profile_box_id: helper,
      tags: ["a"],
      owner_agent_id: caller,
      metadata: { derived_from: "another" },
    });
    await fx.kernel.putBox({ project_id: PROJECT, box_id: "box_empty" });
    await fx.kernel.putAgent({
      project_id: PROJECT,
      agent_id: "bare",
      worker_target: "workers",
      profile_box_id: "box_empty",
    });
    const card = fx.ids.mint("card");
    await fx.kernel.putCard({
      project_id: PROJECT,
      card_id: card,
      type: "sys.profile",
      author_id: "sys.test",
      content: { data: { name: "homeless", tags: [] } },
    });
    await fx.kernel.putBox({ project_id: PROJECT, box_id: "box_homeless", card_ids: [card] });
  });

  it.each<[string, Record<string, unknown>, string]>([
    ["an action of another name", { action: "drop", agent_id: "x" }, "invalid_action"],
    ["no action", { agent_id: "x" }, "invalid_action"],
    ["no agent id", { action: "ensure" }, "missing_agent_id"],
    ["an agent id that is none", { action: "ensure", agent_id: "a b" }, "bad_request"],
    ["tags that are no list", { action: "ensure", agent_id: "x", tags: "a" }, "invalid_tags"],
    ["tags that are no strings", { action: "ensure", agent_id: "x", tags: [1] }, "invalid_tags"],
    ["metadata that is no object", { action: "ensure", agent_id: "x", metadata: [] }, "invalid_metadata"],
    [
      "metadata that names another agent of the bundle",
      { action: "ensure", agent_id: "x", metadata: { agent_name: "admin" } },
      "invalid_metadata",
    ],
    ["an unknown field", { action: "ensure", agent_id: "x", colour: "red" }, "bad_request"],
    [
      "a worker target of two tokens",
      { action: "ensure", agent_id: "x", profile_name: "helper", worker_target: "a.b" },
      "bad_request",
    ],
    ["derive from nothing", { action: "derive", agent_id: "x" }, "missing_derived_from"],
    ["derive from a missing agent", { action: "derive", agent_id: "x", derived_from: "missing" }, "not_found"],
    [
      "derive from an agent without a profile",
      { action: "derive", agent_id: "x", derived_from: "bare" },
      "missing_derived_profile_name",
    ],
    [
      "derive with another profile",
      { action: "derive", agent_id: "x", derived_from: "there", profile_name: "other" },
      "profile_mismatch",
    ],
    [
      "an owner that is not there",
      { action: "ensure", agent_id: "x", profile_name: "helper", owner_agent_id: "missing" },
      "not_found",
    ],
    ["no profile", { action: "create", agent_id: "x" }, "missing_profile_name"],
    ["a profile that is not there", { action: "create", agent_id: "x", profile_name: "none" }, "profile_not_found"],
    ["a box that is not there", { action: "create", agent_id: "x", profile_box_id: "box_none" }, "profile_box_missing"],
    ["a box without a profile", { action: "create", agent_id: "x", profile_box_id: "box_empty" }, "profile_not_found"],
    [
      "a profile without a worker target",
      { action: "create", agent_id: "x", profile_box_id: "box_homeless" },
      "worker_target_missing",
    ],
    [
      "another profile for an agent",
      { action: "ensure", agent_id: "there", profile_name: "other" },
      "existing_agent_profile_mutation_forbidden",
    ],
    [
      "another owner for an agent",
      { action: "ensure", agent_id: "there", owner_agent_id: "bare" },
      "existing_agent_owner_mutation_forbidden",
    ],
    [
      "another target for an agent",
      { action: "ensure", agent_id: "there", worker_target: "w2" },
      "existing_agent_worker_target_mutation_forbidden",
    ],
    [
      "other tags for an agent",
      { action: "ensure", agent_id: "there", tags: ["z"] },
      "existing_agent_tags_mutation_forbidden",
    ],
    [
      "an agent derived from another",
      { action: "derive", agent_id: "there", derived_from: "there" },
      "derived_agent_conflict",
    ],
  ])("%s is refused with its code, and the roster stays as it is", async (_what, args, code) => {
    const before = await fx.query(
      "select a.* from resource.project_agents a where agent_id = any ($1) order by agent_id",
      [["x", "there"]],
    );
    const { content } = await provision(args);
    expect({ status: content.status, code: content.error?.code }).toEqual({ status: "failed", code });
    expect(
      await fx.query("select a.* from resource.project_agents a where agent_id = any ($1) order by agent_id", [
        ["x", "there"],
      ]),
    ).toEqual(before);
  });

  it("a name and a box of two profiles are a mismatch", async () => {
    const { content } = await provision({
      action: "create",
      agent_id: "x",
      profile_name: "helper",
      profile_box_id: other,
    });
    expect(content.error?.code).toBe("profile_mismatch");
  });

  it("is denied by the caller's policy", async () => {
    const narrow = await fx.profile("narrow", { policy: { target_tags: [], target_profiles: ["other"] } });
    const { content } = await provision(
      { action: "create", agent_id: "x", profile_name: "helper" },
      await fx.agent(narrow),
    );
    expect(content.result).toMatchObject({ status: "rejected", error_code: "delegation_denied" });
  });
});
