// Deploying profiles and asking for turns, on a store in memory.

import { waitFor } from "@tessera/testkit";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { AgentFixture, PROFILE } from "../../test/agent-fixture.ts";
import { agentIdOf } from "../instance.ts";
import type { AgentProfile } from "../profile.ts";
import { read, resource } from "../resources/bundle-text.fixture.ts";
import { profilesOf } from "../resources/profiles.ts";
import { deployProfiles, withdrawProfiles } from "./deploy-profiles.ts";
import { type AgentTurnRequest, enqueueAgentTurn } from "./enqueue-agent-turn.ts";

let fx: AgentFixture;
beforeEach(async () => {
  fx = await AgentFixture.open();
});
afterEach(() => fx.close());

const deploy = (...profiles: Partial<AgentProfile>[]) =>
  deployProfiles(
    fx.kernel,
    fx.project,
    profiles.map((profile) => ({ ...PROFILE, ...profile })),
  );
const ask = (request: Partial<AgentTurnRequest> = {}) =>
  enqueueAgentTurn(fx.kernel, fx.ids, {
    project_id: fx.project,
    input: "go",
    ...(request.agent_id === undefined ? { agent: "planner" } : {}),
    ...request,
  });
const rowOf = (agentId: string) => fx.kernel.reads.agent(fx.project, agentId);

describe("deploying", () => {
  it("stores each profile as a card in a box under its name, and the same again changes nothing", async () => {
    const first = await deploy({ tags: ["a"], description: "Plans." }, { name: "reviewer" });
    expect(first.profiles.map(({ name, outcome }) => [name, outcome])).toEqual([
      ["planner", "new"],
      ["reviewer", "new"],
    ]);
    const row = await fx.kernel.reads.profile(fx.project, "planner");
    expect(row).toMatchObject({
      tags: ["a"],
      description: "Plans.",
      profile_box_id: first.profiles[0]?.profile_box_id,
    });
    const [card] = await fx.kernel.reads.boxCards(fx.project, String(row?.profile_box_id));
    expect(card).toMatchObject({
      type: "sys.profile",
      content: { data: { ...PROFILE, tags: ["a"], description: "Plans." } },
    });

    const again = await deploy({ description: "Plans.", tags: ["a"] }, { name: "reviewer" });
    expect(again.profiles).toEqual(first.profiles.map((profile) => ({ ...profile, outcome: "unchanged" })));
    expect(again.moved).toEqual([]);
  });

  it("of one bundle by many processes at once gives one profile", async () => {
    const all = await Promise.all([deploy({}), deploy({}), deploy({})]);
    expect(new Set(all.map(({ profiles }) => profiles[0]?.profile_box_id)).size).toBe(1);
    expect(await fx.kernel.reads.profiles(fx.project)).toHaveLength(1);
  });

  it("keeps the boxes of two projects apart", async () => {
    const other = fx.ids.mint("p");
    await fx.kernel.putProject({ project_id: other });
    const [here, there] = [await deploy({}), await deployProfiles(fx.kernel, other, [PROFILE])];
    expect(there.profiles[0]?.profile_box_id).not.toBe(here.profiles[0]?.profile_box_id);
  });

  it("moves the instances of the name to the new profile, and leaves what they have of their own", async () => {
    await deploy({ tags: ["a"] }, { name: "reviewer" });
    const { agent_id } = await ask();
    const { agent_id: tuned } = await ask({ instance_key: "tuned" });
    const { agent_id: other } = await ask({ agent: "reviewer" });
    const own = { worker_target: "worker_own", tags: ["mine"], status: "inactive" as const };
    await fx.kernel.putAgent({ project_id: fx.project, agent_id: tuned, ...own });

    const { profiles, moved } = await deploy({ tags: ["b"], worker_target: "worker_new", max_steps: 3 });
    const to = profiles[0]?.profile_box_id;
    expect(profiles[0]?.outcome).toBe("changed");
    expect(moved.map((each) => each.agent_id).toSorted()).toEqual([agent_id, tuned].toSorted());
    expect(await rowOf(agent_id)).toMatchObject({
      profile_box_id: to,
      worker_target: "worker_new",
      tags: ["b"],
      metadata: { agent_name: "planner", instance_key: "default" },
    });
    expect(await rowOf(tuned)).toMatchObject({ profile_box_id: to, ...own });
    expect((await rowOf(other))?.profile_box_id).not.toBe(to);
  });

  it("goes on where an earlier deployment was cut off", async () => {
    await deploy({});
    const { agent_id } = await ask();
    const old = await rowOf(agent_id);
    const { profiles } = await deploy({ max_steps: 3 });
    const { worker_target, profile_box_id } = old as { worker_target: string; profile_box_id: string };
    await fx.kernel.putAgent({ project_id: fx.project, agent_id, worker_target, profile_box_id });
    const { moved } = await deploy({ max_steps: 3 });
    expect(moved).toEqual([
      { agent_id, agent_name: "planner", from: old?.profile_box_id, to: profiles[0]?.profile_box_id },
    ]);
  });

  it("refuses a profile that no card can hold, and names it", async () => {
    await expect(deploy({ system_prompt: "x".repeat(1_100_000) })).rejects.toMatchObject({
      code: "payload_too_large",
      message: expect.stringContaining("planner"),
    });
  });

  it("leaves a parked turn the profile it began with; the next turn has the new one", async () => {
    await fx.tool({ name: "far__away", placement: "service", effect: "read", handler: () => ({}) } as never);
    fx.script = ({ step, system }) =>
      step === 0 && system.includes("old")
        ? { tool_calls: [{ name: "far__away", arguments: "{}" }] }
        : { text: system };
    await deploy({ system_prompt: "old" });
    await fx.worker();
    const { agent_turn_id, agent_id } = await ask();
    const call = await waitFor(
      async () => (await fx.kernel.claimCalls({ project_id: fx.project, target: "far", executor: "e" }))[0] ?? null,
      { what: "the turn to wait for its call" },
    );
    const { moved } = await deploy({ system_prompt: "new" });
    expect(moved).toHaveLength(1);

    const { tool_call_id, capability } = call;
    await fx.kernel.report({
      project_id: fx.project,
      tool_call_id,
      capability,
      content: { status: "success", result: {} },
    });
    expect(await fx.ended(agent_turn_id)).toMatchObject({ deliverable: { text: "old" } });
    const next = await ask();
    expect(next.agent_id).toBe(agent_id);
    expect(await fx.ended(next.agent_turn_id)).toMatchObject({ deliverable: { text: "new" } });
    await fx.expectSafe();
  });
});

describe("an agent that leaves its bundle", () => {
  const boxOf = async (name: string) => String((await fx.kernel.reads.profile(fx.project, name))?.profile_box_id);

  it("is asked for nothing new, ends what it was asked for, and comes back as it was with its instances", async () => {
    await deploy({ tags: ["a"] });
    fx.script = ({ system }) => ({ text: system });
    const { agent_turn_id, agent_id } = await ask();
    await withdrawProfiles(fx.kernel, fx.project, new Map([["planner", await boxOf("planner")]]));
    await expect(ask()).rejects.toMatchObject({ code: "agent_not_found" });
    await expect(ask({ instance_key: "new" })).rejects.toMatchObject({ code: "agent_not_found" });
    await expect(ask({ agent_id })).rejects.toMatchObject({ code: "agent_not_found" });
    await fx.worker();
    expect(await fx.ended(agent_turn_id)).toMatchObject({ status: "success" });

    const before = await rowOf(agent_id);
    expect(before).toMatchObject({ status: "inactive", tags: ["a"] });
    await deploy({ tags: ["a"] });
    expect(await rowOf(agent_id)).toMatchObject({ status: "active", tags: ["a"] });
    expect((await rowOf(agent_id))?.metadata).not.toHaveProperty("is_withdrawn");
    expect((await ask()).agent_id).toBe(agent_id);
    await fx.expectSafe();
  });

  it("stays where the name means something else by now, and an instance that was inactive before stays so", async () => {
    await deploy({});
    const old = await boxOf("planner");
    const { agent_id } = await ask();
    await deploy({ system_prompt: "another prompt" });
    await withdrawProfiles(fx.kernel, fx.project, new Map([["planner", old]]));
    expect((await ask()).agent_id).toBe(agent_id);

    const worker_target = "worker_generic";
    await fx.kernel.putAgent({ project_id: fx.project, agent_id, worker_target, status: "inactive" });
    await withdrawProfiles(fx.kernel, fx.project, new Map([["planner", await boxOf("planner")]]));
    await deploy({});
    expect((await rowOf(agent_id))?.status).toBe("inactive");
  });
});

describe("asking for a turn", () => {
  it("makes the instance, and gives its turn the instruction and the fields to deliver", async () => {
    await deploy({});
    const turn = await ask({
      instance_key: "chat:1",
      channel_id: "c1",
      result_fields: [{ name: "city", description: "Where" }],
    });
    expect(turn).toMatchObject({ outcome: "accepted", channel_id: "c1", recursion_depth: 0 });
    expect(turn.agent_id).toBe(agentIdOf(fx.project, "planner", "chat:1"));
    const row = await fx.kernel.reads.turn(fx.project, turn.agent_turn_id);
    const cards = await fx.kernel.reads.boxCards(fx.project, String(row?.context_box_id));
    expect(cards.map(({ type, content }) => [type, content])).toEqual([
      ["task.instruction", { text: "go" }],
      ["task.result_fields", { fields: [{ name: "city", description: "Where" }] }],
    ]);
  });

  it("of a bundle's agent runs with the model of that bundle", async () => {
    const bundle = await read([
      resource("Model", "m", "  provider: scripted\n  options: {rules: [{reply: {text: hi}}]}\n"),
      resource("Agent", "main", "  modelConfig: {modelRef: Model/m}\n  prompt: {system: Hello.}\n"),
    ]);
    await deployProfiles(fx.kernel, fx.project, profilesOf(bundle));
    await fx.worker();
    fx.script = ({ model, system }) => ({ text: `${model.provider} ${system}` });
    const { agent_turn_id } = await ask({ agent: "main" });
    expect(await fx.ended(agent_turn_id)).toMatchObject({
      status: "success",
      deliverable: { text: "scripted Hello." },
    });
  });

  it("with the same key twice is one turn; for another agent the key is a conflict", async () => {
    await deploy({}, { name: "reviewer" });
    const first = await ask({ idempotency_key: "order 7" });
    const again = await ask({ idempotency_key: "order 7", input: "other words" });
    expect(again).toMatchObject({ outcome: "duplicate", agent_turn_id: first.agent_turn_id });
    await expect(ask({ agent: "reviewer", idempotency_key: "order 7" })).rejects.toMatchObject({ code: "conflict" });
  });

  it("of an agent that is not there is refused with what there is", async () => {
    await deploy({});
    await expect(ask({ agent: "plannr" })).rejects.toMatchObject({
      code: "agent_not_found",
      message: expect.stringContaining("defined are planner"),
    });
    await expect(ask({ agent_id: "missing" })).rejects.toMatchObject({ code: "agent_not_found" });
  });

  it("goes to an agent of the roster by its id, unless it is not active", async () => {
    const agent_id = await fx.agent();
    expect(await ask({ agent_id })).toMatchObject({ outcome: "accepted", agent_id });
    const worker_target = "worker_generic";
    await fx.kernel.putAgent({ project_id: fx.project, agent_id, worker_target, status: "inactive" });
    await expect(ask({ agent_id })).rejects.toMatchObject({ code: "agent_not_found" });
  });

  it("that says whom it means twice or not at all, or with a bad key, is a bad request", async () => {
    await deploy({});
    const base = { project_id: fx.project, input: "go" };
    const bad = { code: "bad_request" };
    await expect(enqueueAgentTurn(fx.kernel, fx.ids, base)).rejects.toMatchObject(bad);
    await expect(ask({ agent: "planner", agent_id: "x" })).rejects.toMatchObject(bad);
    await expect(ask({ instance_key: "a b" })).rejects.toMatchObject(bad);
    await expect(ask({ idempotency_key: "" })).rejects.toMatchObject(bad);
  });
});
