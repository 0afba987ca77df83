// delegate_async, launch_principal, ask_expert from the call's card to the child's context.

import { beforeAll, beforeEach, describe, expect, it } from "vitest";
import { PATIENCE, PROJECT, useFixture } from "../../test/fixture.ts";

const fx = useFixture();
const ALL = { target_tags: [], target_profiles: null };
let boss = "";
let expert = "";

beforeAll(async () => {
  boss = await fx.profile("boss", { policy: ALL });
  expert = await fx.profile("expert", { tags: ["clever"] });
});
beforeEach(async () => {
  await fx.pmo();
});

const task = (target_strategy: string, target_ref: string, rest: object = {}) => ({
  target_strategy,
  target_ref,
  instruction: "Find out.",
  ...rest,
});

describe("a delegation to a new agent", () => {
  it("starts a child with its own roster row, context and identity, and answers at once", async () => {
    const caller = await fx.calling(await fx.agent(boss), "delegate_async", task("new", "expert"));
    const { status, result, error } = await fx.result(caller.tool_call_id);
    expect({ status, error }).toEqual({ status: "success", error: null });
    const [child] = await fx.children(caller);
    expect(result).toEqual({
      status: "accepted",
      agent_id: child?.agent_id,
      agent_turn_id: child?.agent_turn_id,
      turn_epoch: 1,
      context_box_id: child?.context_box_id,
      output_box_id: child?.output_box_id,
    });
    expect(child).toMatchObject({ recursion_depth: 1, profile_box_id: expert, turn_status: "dispatched" });
    const agentId = String(child?.agent_id);
    expect(agentId).toMatch(new RegExp(`^${expert.slice(0, 31)}_[0-9a-f]{32}$`));
    expect(await fx.kernel.reads.agent(PROJECT, agentId)).toMatchObject({
      worker_target: "workers",
      tags: ["clever"],
      owner_agent_id: caller.agent_id,
      profile_box_id: expert,
    });
    const cards = await fx.cardsOf(child?.context_box_id);
    expect(cards.map(({ type, author_id, content }) => ({ type, author_id, content }))).toEqual([
      { type: "task.instruction", author_id: "delegate_async", content: { text: "Find out." } },
      { type: "meta.parent_pointer", author_id: "sys.pmo", content: { data: { parent_agent_id: caller.agent_id } } },
    ]);
    expect(
      await fx.query("select action, source_agent_id from state.identity_edges where target_agent_id = $1", [agentId]),
    ).toEqual([{ action: "create", source_agent_id: caller.agent_id }]);
    const parent = await fx.kernel.reads.turn(PROJECT, caller.agent_turn_id);
    expect(child?.trace_id).toBe(parent?.trace_id);
  });

  it("by launch_principal and ask_expert is the same thing under other names", async () => {
    const launched = await fx.calling(await fx.agent(boss), "launch_principal", {
      profile_name: "expert",
      instruction: "Go.",
    });
    const asked = await fx.calling(await fx.agent(boss), "ask_expert", { expert_profile: "expert", question: "Why?" });
    for (const [caller, author, text] of [
      [launched, "launch_principal", "Go."],
      [asked, "ask_expert", "Why?"],
    ] as const) {
      expect((await fx.result(caller.tool_call_id)).status).toBe("success");
      const [child] = await fx.children(caller);
      expect((await fx.cardsOf(child?.context_box_id))[0]).toMatchObject({ author_id: author, content: { text } });
    }
  });
});

describe("history", () => {
  it("is handed over by ask_expert without the step that is still waiting", async () => {
    const agent = await fx.agent(boss);
    const first = await fx.calling(agent, "delegate_async", task("new", "expert"));
    await fx.result(first.tool_call_id);
    const second = await fx.callAgain(agent, "ask_expert", {
      expert_profile: "expert",
      question: "And now?",
      include_history: true,
    });
    expect((await fx.result(second.tool_call_id)).status).toBe("success");
    const children = await fx.children(second);
    const boxes = await Promise.all(children.map((row) => fx.cardsOf(row.context_box_id)));
    expect(boxes.map((cards) => cards.map((card) => card.type))).toContainEqual([
      "agent.thought",
      "tool.call",
      "tool.result",
      "task.instruction",
      "meta.parent_pointer",
    ]);
  });

  it("in a box of the caller comes first, each card once", async () => {
    const instruction = { card_id: fx.ids.mint("card"), type: "task.instruction", content: { text: "the whole task" } };
    const agent = await fx.agent(boss);
    const enqueued = await fx.kernel.enqueueTurn({
      project_id: PROJECT,
      agent_id: agent,
      context_cards: [instruction],
    });
    const box = enqueued.outcome === "accepted" ? (enqueued.context_box_id ?? "") : "";
    const caller = await fx.callAgain(agent, "delegate_async", task("new", "expert", { context_box_id: box }));
    expect((await fx.result(caller.tool_call_id)).status).toBe("success");
    const [child] = await fx.children(caller);
    const texts = (await fx.cardsOf(child?.context_box_id)).map((card) => card.content.text);
    expect(texts).toEqual(["the whole task", "Find out.", undefined]);
  });

  it.each([
    ["another agent's box is refused", "foreign", "auth_failed", /inherit_context: unauthorized box_id/],
    ["a box that does not exist is not found", "box_nowhere", "not_found", /inherit_context/],
  ])("%s", async (_what, box, code, message) => {
    const foreign = fx.ids.mint("box");
    await fx.kernel.putBox({ project_id: PROJECT, box_id: foreign });
    const context_box_id = box === "foreign" ? foreign : box;
    const caller = await fx.calling(await fx.agent(boss), "delegate_async", task("new", "expert", { context_box_id }));
    const { status, result, error } = await fx.result(caller.tool_call_id);
    expect({ status, result }).toEqual({ status: "failed", result: { status: "rejected", error_code: code } });
    expect(error?.message).toMatch(message);
    expect(await fx.children(caller)).toEqual([]);
  });
});

describe("a delegation to an agent that exists", () => {
  it("by reuse goes on in the box it wrote last, and waits in its queue while it is busy", async () => {
    const worker = await fx.agent(expert);
    await fx.kernel.enqueueTurn({ project_id: PROJECT, agent_id: worker });
    const caller = await fx.calling(await fx.agent(boss), "delegate_async", task("reuse", worker));
    const { status, result } = await fx.result(caller.tool_call_id);
    const head = await fx.kernel.reads.head(PROJECT, worker);
    expect(status).toBe("success");
    expect(result).toMatchObject({ agent_id: worker, turn_epoch: null, output_box_id: head?.output_box_id });
    await fx.work(worker);
    expect((await fx.children(caller))[0]).toMatchObject({ turn_status: "dispatched" });
  });

  it("by clone makes a new agent of the same profile that has what the first one wrote", async () => {
    const worker = await fx.agent(expert);
    await fx.kernel.enqueueTurn({ project_id: PROJECT, agent_id: worker });
    await fx.work(worker, { content: { text: "earlier work" } });
    const caller = await fx.calling(await fx.agent(boss), "delegate_async", task("clone", worker));
    expect((await fx.result(caller.tool_call_id)).status).toBe("success");
    const [child] = await fx.children(caller);
    expect(child?.agent_id).not.toBe(worker);
    expect(child).toMatchObject({ profile_box_id: expert });
    const cards = await fx.cardsOf(child?.context_box_id);
    expect(cards.map((card) => card.type)).toEqual(["task.deliverable", "task.instruction", "meta.parent_pointer"]);
    expect(await fx.kernel.reads.agent(PROJECT, String(child?.agent_id))).toMatchObject({
      metadata: { derived_from: worker },
    });
  });

  it.each([
    ["reuse of an agent that is not there", "reuse", "agent_nobody", "agent_not_found"],
    ["clone of an agent that has written nothing", "clone", "", "bad_request"],
  ])("%s is refused", async (_what, strategy, ref, code) => {
    const target = ref === "" ? await fx.agent(expert) : ref;
    const caller = await fx.calling(await fx.agent(boss), "delegate_async", task(strategy, target));
    const { status, error } = await fx.result(caller.tool_call_id);
    expect({ status, code: error?.code }).toEqual({ status: "failed", code });
  });
});

describe("a policy", () => {
  it.each<[string, unknown, string, "accepted" | "delegation_denied" | "profile_not_found"]>([
    ["is missing", null, "expert", "delegation_denied"],
    ["cannot be read", { target_tags: "clever" }, "expert", "delegation_denied"],
    ["allows all profiles", { target_tags: [], target_profiles: null }, "expert", "accepted"],
    ["names no field", {}, "expert", "accepted"],
    ["allows no profile", { target_tags: [], target_profiles: [] }, "expert", "delegation_denied"],
    ["lists the profile", { target_tags: [], target_profiles: ["expert"] }, "expert", "accepted"],
    ["lists it in other case", { target_tags: [], target_profiles: ["Expert"] }, "expert", "delegation_denied"],
    ["is asked for a name in other case", { target_tags: [], target_profiles: null }, "Expert", "profile_not_found"],
    ["shares a tag", { target_tags: ["dull", "clever"], target_profiles: null }, "expert", "accepted"],
    ["shares no tag", { target_tags: ["dull"], target_profiles: null }, "expert", "delegation_denied"],
    [
      "lists it but shares no tag",
      { target_tags: ["dull"], target_profiles: ["expert"] },
      "expert",
      "delegation_denied",
    ],
  ])("that %s decides", async (_what, policy, target, expected) => {
    const profile = await fx.profile(fx.ids.mint("profile"), { policy: policy as never });
    const caller = await fx.calling(await fx.agent(profile), "delegate_async", task("new", target));
    const { status, result, error } = await fx.result(caller.tool_call_id);
    if (expected === "accepted") expect(status).toBe("success");
    else {
      expect(status).toBe("failed");
      expect(result).toMatchObject({ status: "rejected", error_code: expected });
      expect(error?.code).toBe(expected);
      expect(await fx.children(caller)).toEqual([]);
    }
  });

  it("counts for reuse and clone by the target's profile", async () => {
    const profile = await fx.profile("narrow", { policy: { target_tags: [], target_profiles: ["boss"] } });
    const worker = await fx.agent(expert);
    for (const strategy of ["reuse", "clone"]) {
      const caller = await fx.calling(await fx.agent(profile), "delegate_async", task(strategy, worker));
      const { error } = await fx.result(caller.tool_call_id);
      expect(error?.code).toBe("delegation_denied");
    }
  });
});

describe("wrong arguments", () => {
  it.each<[string, string, unknown, string]>([
    ["delegate_async", "no strategy", { target_ref: "expert", instruction: "x" }, "args.target_strategy"],
    ["delegate_async", "another strategy", task("borrow", "expert"), "args.target_strategy"],
    ["delegate_async", "no target", { target_strategy: "new", instruction: "x" }, "args.target_ref"],
    ["delegate_async", "no instruction", { target_strategy: "new", target_ref: "expert" }, "args.instruction"],
    ["delegate_async", "an empty instruction", task("new", "expert", { instruction: " " }), "args.instruction"],
    ["delegate_async", "a box that is no id", task("new", "expert", { context_box_id: "../x" }), "args.context_box_id"],
    ["delegate_async", "an unknown field", task("new", "expert", { extra: 1 }), "args.extra"],
    ["launch_principal", "no profile", { instruction: "x" }, "args.profile_name"],
    ["launch_principal", "an unknown field", { profile_name: "expert", instruction: "x", tags: [] }, "args.tags"],
    ["ask_expert", "no question", { expert_profile: "expert" }, "args.question"],
    [
      "ask_expert",
      "a flag that is none",
      { expert_profile: "expert", question: "x", include_history: 1 },
      "include_history",
    ],
  ])("of %s with %s are a bad request that names the field", async (tool, _what, args, field) => {
    const caller = await fx.calling(await fx.agent(boss), tool, args);
    const { status, error } = await fx.result(caller.tool_call_id);
    expect({ status, code: error?.code }).toEqual({ status: "failed", code: "bad_request" });
    expect(error?.message).toContain(field);
    expect(error?.message).toContain(tool);
    expect(await fx.children(caller)).toEqual([]);
  });
});

describe("limits", () => {
  it("of depth are reported as a result and leave no agent behind", async () => {
    let parent: string | undefined;
    let caller = await fx.calling(await fx.agent(boss), "delegate_async", task("new", "missing"));
    for (let depth = 1; depth < 20; depth += 1) {
      parent = caller.agent_turn_id;
      caller = await fx.calling(await fx.agent(boss), "delegate_async", task("new", "expert"), {
        parent_agent_turn_id: parent,
      });
    }
    const { status, result } = await fx.result(caller.tool_call_id);
    expect({ status, result }).toEqual({
      status: "failed",
      result: { status: "rejected", error_code: "recursion_depth_exceeded" },
    });
    expect(await fx.kernel.reads.agents(PROJECT, { owner_agent_id: caller.agent_id })).toEqual([]);
  });

  it("of turns in a trace are reported as a result", async () => {
    const agent = await fx.agent(boss);
    const first = await fx.calling(agent, "delegate_async", task("new", "missing"));
    await fx.result(first.tool_call_id);
    const turn = await fx.kernel.reads.turn(PROJECT, first.agent_turn_id);
    await fx.query("update state.trace_budgets set turns = 1000 where trace_id = $1", [turn?.trace_id]);
    const caller = await fx.callAgain(agent, "delegate_async", task("new", "expert"));
    const { status, result } = await fx.result(caller.tool_call_id);
    expect(status).toBe("failed");
    expect(result).toMatchObject({ status: "rejected", error_code: "trace_budget_exceeded" });
  });

  it("of an agent's backlog make it busy, which may be tried again", async () => {
    const worker = await fx.agent(expert);
    await fx.kernel.enqueueTurn({ project_id: PROJECT, agent_id: worker });
    await fx.query("update state.agent_state_head set queue_length = 10000 where agent_id = $1", [worker]);
    const caller = await fx.calling(await fx.agent(boss), "delegate_async", task("reuse", worker));
    for (let attempt = 1; attempt < 3; attempt += 1) {
      await expect
        .poll(async () => (await fx.kernel.reads.call(PROJECT, caller.tool_call_id))?.attempt, PATIENCE)
        .toBe(attempt);
      await expect
        .poll(async () => (await fx.kernel.reads.call(PROJECT, caller.tool_call_id))?.claimed_by, PATIENCE)
        .toBeNull();
      await fx.afterDeath(4_000);
    }
    const { status, result, error } = await fx.result(caller.tool_call_id);
    expect({ status, result }).toEqual({
      status: "failed",
      result: { status: "busy", error_code: "backlog_full", agent_id: worker },
    });
    expect(error?.retryable).toBe(true);
    await fx.query("update state.agent_state_head set queue_length = 0 where agent_id = $1", [worker]);
  });
});
