import { defineAgent, defineModel } from "@tessera/agent";
import { defineTool } from "@tessera/tool";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openProcess, type Process } from "../process/open-process.ts";
import { openReadingThreads, type ReadingThreads } from "../reading/reading-threads.ts";
import { awaitToolCall } from "../tools/call-tool.ts";
import { portAdapters } from "./port-adapters.ts";

const project_id = "default";
const echo = defineTool({ name: "echo", effect: "read", handler: (_, input) => ({ said: input }) });
const script = defineModel({
  name: "script",
  provider: "scripted",
  options: { rules: [{ reply: { text: "done" } }] },
});
const boss = defineAgent({
  name: "boss",
  model: script,
  allowedInternalTools: ["delegate_async", "provision_agent"],
  delegationPolicy: { targetProfiles: ["clerk"] },
});
const clerk = defineAgent({ name: "clerk", model: script });

let process: Process;
let ports: ReturnType<typeof portAdapters>;
let reading: ReadingThreads;

beforeAll(async () => {
  process = await openProcess({
    ...{ project: project_id, env: {}, executor: "test", onWarning: () => {}, onFatal: () => {} },
    tools: [echo],
    resources: { models: [script], agents: [boss, clerk] },
    roles: ["kernel", "worker", "pmo", "tools"],
  });
  reading = openReadingThreads(process.node.clock);
  ports = portAdapters({ node: process.node, reading });
});
afterAll(async () => {
  await reading.close();
  await process.close({ graceMs: 0 });
});

const result = (turn: string) => awaitToolCall(process.node, project_id, turn, { waitMs: 20_000 });

describe("a tool call without an agent", () => {
  const order = { project_id, tool_name: "echo", arguments: { a: 1 } };

  it("is a turn that any process with the role works on", async () => {
    const { agent_turn_id, isNew } = await ports.toolCalls.request(order);
    expect(isNew).toBe(true);
    expect(await result(agent_turn_id)).toMatchObject({ status: "success", result: { said: { a: 1 } } });
  });

  it("is the same turn for the same idempotency key, whatever else it says", async () => {
    const first = await ports.toolCalls.request({ ...order, idempotency_key: "once" });
    const again = await ports.toolCalls.request({ ...order, arguments: { b: 2 }, idempotency_key: "once" });
    expect(again).toEqual({ ...first, isNew: false });
    expect(await result(first.agent_turn_id)).toMatchObject({ result: { said: { a: 1 } } });
    await expect(
      ports.toolCalls.request({ ...order, agent_id: "somebody", idempotency_key: "once" }),
    ).rejects.toMatchObject({ code: "conflict" });
    expect(await process.node.kernel.reads.agent(project_id, "somebody")).toBeNull();
    await expect(ports.toolCalls.request({ ...order, idempotency_key: "" })).rejects.toMatchObject({
      code: "bad_request",
    });
  });

  it("takes over no agent that is model-driven", async () => {
    const agent = { project_id, agent_id: "thinker", worker_target: "elsewhere" };
    await process.node.kernel.putAgent(agent);
    await expect(ports.toolCalls.request({ ...order, agent_id: "thinker" })).rejects.toMatchObject({
      code: "conflict",
    });
    expect(await process.node.kernel.reads.agent(project_id, "thinker")).toMatchObject(agent);
  });

  it("cannot be one of an internal tool, nor in a project that is not there", async () => {
    const args = { target_strategy: "new", target_ref: "clerk", instruction: "x" };
    const { agent_turn_id } = await ports.toolCalls.request({
      ...order,
      tool_name: "delegate_async",
      arguments: args,
    });
    expect(await result(agent_turn_id)).toMatchObject({ status: "failed" });
    await expect(ports.toolCalls.request({ ...order, project_id: "nowhere" })).rejects.toMatchObject({
      code: "not_found",
    });
  });
});

describe("a call of an internal tool in an agent's name", () => {
  const channel_id = "public";
  const after_execution = "suspend" as const;

  async function instance(name: string): Promise<string> {
    const { enqueueAgentTurn } = await import("@tessera/agent");
    const { node } = process;
    return (await enqueueAgentTurn(node.kernel, node.ids, { project_id, agent: name, input: "hello" })).agent_id;
  }

  it("has that agent's delegation policy and property", async () => {
    const caller_agent_id = await instance("boss");
    const call = { project_id, channel_id, caller_agent_id, after_execution };
    const { agent_turn_id } = await ports.toolCalls.requestInternal({
      ...call,
      tool_name: "delegate_async",
      arguments: { target_strategy: "new", target_ref: "clerk", instruction: "file this" },
    });
    const answer = await result(agent_turn_id);
    expect(answer).toMatchObject({ status: "success", result: { status: "accepted" } });
    const { agent_id } = answer.result as { agent_id: string };
    expect(await process.node.kernel.reads.agent(project_id, agent_id)).toMatchObject({
      owner_agent_id: caller_agent_id,
    });
    const forbidden = await ports.toolCalls.requestInternal({
      ...call,
      tool_name: "delegate_async",
      arguments: { target_strategy: "new", target_ref: "boss", instruction: "no" },
    });
    expect(JSON.stringify(await result(forbidden.agent_turn_id))).toContain("delegation_denied");
  });

  it("of an agent without a policy is denied", async () => {
    const { agent_turn_id } = await ports.toolCalls.requestInternal({
      ...{ project_id, channel_id, caller_agent_id: await instance("clerk"), after_execution },
      tool_name: "delegate_async",
      arguments: { target_strategy: "new", target_ref: "boss", instruction: "no" },
    });
    expect(JSON.stringify(await result(agent_turn_id))).toContain("delegation_denied");
  });

  it("is refused at once where the agent, the tool or what follows it is not so", async () => {
    const call = { project_id, channel_id, arguments: {}, tool_name: "delegate_async" };
    const caller_agent_id = await instance("boss");
    const { requestInternal } = ports.toolCalls;
    await expect(requestInternal({ ...call, caller_agent_id: "nobody", after_execution })).rejects.toMatchObject({
      code: "agent_not_found",
    });
    await expect(requestInternal({ ...call, caller_agent_id, after_execution, tool_name: "echo" })).rejects.toThrow(
      /no internal tool "echo"/,
    );
    await expect(requestInternal({ ...call, caller_agent_id, after_execution: "terminate" })).rejects.toMatchObject({
      code: "after_execution_mismatch",
    });
  });
});

describe("an uploaded profile", () => {
  const yaml = (description: string) =>
    Buffer.from(
      `name: scribe\nworker_target: worker_generic\ndescription: ${description}\nsystem_prompt: hi\n` +
        "llm_config: { model: gpt-4o, provider: openai }\n",
    );

  it("becomes the profile of its name, changes nothing when repeated, and must be the one that was expected", async () => {
    const deploy = (text: string, expected?: object) =>
      ports.profiles.deploy(yaml(text), { projectId: project_id, ...(expected && { expected: expected as never }) });
    expect(await deploy("one")).toEqual({ name: "scribe", outcome: "new" });
    expect(await deploy("one")).toEqual({ name: "scribe", outcome: "unchanged" });
    await expect(deploy("two", { name: "writer" })).rejects.toMatchObject({ code: "bad_request" });
    const now = await process.node.kernel.reads.profile(project_id, "scribe");
    await expect(deploy("two", { name: "scribe", profile_box_id: "box_other" })).rejects.toMatchObject({
      code: "precondition_failed",
    });
    await expect(deploy("two", { name: "scribe", profile_box_id: null })).rejects.toMatchObject({
      code: "precondition_failed",
    });
    expect(await deploy("two", { name: "scribe", profile_box_id: now?.profile_box_id })).toEqual({
      name: "scribe",
      outcome: "changed",
    });
  });
});
