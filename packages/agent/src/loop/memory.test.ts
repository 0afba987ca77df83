// What an instance remembers, as its model sees it, over turns, workers that die, fresh starts, resets and answers that come late.

import type { ToolContext } from "@tessera/tool";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { AgentFixture } from "../../test/agent-fixture.ts";
import { startToolCaller } from "../caller/tool-caller.ts";
import { enqueueAgentTurn } from "../deploy/index.ts";
import { extensionsOnDemand } from "../extensions/extensions-on-demand.ts";
import type { ExtensionModule } from "../extensions/index.ts";
import { agentIdOf } from "../instance.ts";
import type { ModelCall } from "../model-port.ts";

let fx: AgentFixture;
const held: (() => void)[] = [];

beforeAll(async () => {
  fx = await AgentFixture.open();
  await fx.define(
    { name: "talker" },
    { name: "brief", memory: { turns: 2, characters: 200_000 } },
    { name: "forgetful", memory: { turns: 0, characters: 1 } },
    { name: "boss" },
    { name: "helper" },
  );
  await fx.tool({
    name: "ask__later",
    parameters: { type: "object", properties: { what: { type: "string" } }, required: ["what"] },
    effect: "idempotent",
    handler: async (ctx: ToolContext, { what }: { what: string }) => {
      const source = { kind: "agent" as const, name: "boss" };
      const event = { id: `evt-${what}`, type: "agent.request", createdAt: new Date(0), source, input: what };
      const { accepted = false } = (await ctx.runtime?.request("helper", event, { async: true })) ?? {};
      return { accepted };
    },
  } as never);
  fx.script = script;
  await fx.worker();
});
afterAll(() => fx.close());

function script(call: ModelCall) {
  const asked = String(call.messages.findLast(({ role }) => role === "user")?.content);
  if (call.agentName === "helper" && asked.startsWith("wait")) {
    return new Promise<{ text: string }>((resolve) => {
      held.push(() => resolve({ text: `helped with ${asked}` }));
    });
  }
  if (call.agentName === "helper")
    return asked === "fail" ? { text: "", tool_calls: [] } : { text: `helped with ${asked}` };
  if (call.agentName === "boss" && call.step === 0 && asked.startsWith("ask ")) {
    return { tool_calls: [{ name: "ask__later", arguments: { what: asked.slice(4) } }] };
  }
  return { text: `I heard ${asked}` };
}

/** What the model was sent in its last request for an agent that matched, as lines. */
function sent(agent: string, key?: string): string[] {
  const calls = fx.modelCalls.filter(({ agentName }) => agentName === agent);
  const call =
    key === undefined ? calls.at(-1) : calls.findLast(({ messages }) => JSON.stringify(messages).includes(key));
  return (call?.messages ?? []).map(({ role, content }) => {
    if (typeof content === "string") return `${role}: ${content}`;
    return `${role}: ${content.map((part) => ("text" in part ? part.text : part.type)).join(" ")}`;
  });
}

async function turn(agent: string, input: string, key: string, more: { is_fresh?: boolean } = {}) {
  const request = { project_id: fx.project, agent, instance_key: key, input, ...more };
  const { agent_turn_id } = await enqueueAgentTurn(fx.kernel, fx.ids, request);
  return await fx.ended(agent_turn_id);
}

describe("an instance", () => {
  it("is sent what it was asked and what it answered, in order, and no other instance is", async () => {
    await turn("talker", "one", "a");
    await turn("talker", "two", "a");
    await turn("talker", "elsewhere", "b");
    expect(sent("talker")).toEqual(["user: elsewhere"]);
    await turn("talker", "three", "a");
    expect(sent("talker")).toEqual([
      "user: one",
      "assistant: I heard one",
      "user: two",
      "assistant: I heard two",
      "user: three",
    ]);
  });

  it("is sent the turns that its policy lets it remember", async () => {
    for (const input of ["one", "two", "three", "four"]) await turn("brief", input, "a");
    expect(sent("brief")).toEqual([
      "user: two",
      "assistant: I heard two",
      "user: three",
      "assistant: I heard three",
      "user: four",
    ]);
    for (const input of ["one", "two"]) await turn("forgetful", input, "a");
    expect(sent("forgetful")).toEqual(["user: two"]);
  });

  it("remembers a turn that was stopped, and how it ended", async () => {
    const project_id = fx.project;
    const { agent_turn_id, agent_id } = await enqueueAgentTurn(fx.kernel, fx.ids, {
      ...{ project_id, agent: "helper", instance_key: "stopped", input: "wait for me" },
    });
    await fx.until(() => held.length > 0, "the helper to think");
    await fx.kernel.stopTurn({ project_id, agent_turn_id, reason: "enough" });
    for (const answer of held.splice(0)) answer();
    expect(agent_id).toBe(agentIdOf(project_id, "helper", "stopped"));
    await turn("helper", "again", "stopped");
    expect(sent("helper", "again")).toEqual([
      "user: wait for me",
      "user: [system note] A turn ended canceled without a result of its own: enough",
      "user: again",
    ]);
  });

  it("begins anew with a fresh turn", async () => {
    await turn("talker", "old", "fresh");
    await turn("talker", "new", "fresh", { is_fresh: true });
    await turn("talker", "newer", "fresh");
    expect(sent("talker")).toEqual(["user: new", "assistant: I heard new", "user: newer"]);
  });

  it("is sent the same again when its worker is lost, though its conversation was reset meanwhile", async () => {
    const own = await AgentFixture.open();
    try {
      const requests: string[] = [];
      let isFirst = true;
      own.script = ({ messages, signal }) => {
        requests.push(JSON.stringify(messages));
        if (requests.length < 2 || !isFirst) return { text: "done" };
        isFirst = false;
        return new Promise((_, reject) => signal.addEventListener("abort", () => reject(new Error("lost"))));
      };
      await own.define({ name: "talker" });
      const worker = await own.worker({ leaseMs: 1_000 });
      await own.ended(await own.ask("talker", "one"));
      const second = await own.ask("talker", "two");
      await own.until(() => requests.length === 2, "the second turn to be asked");
      const agent_id = agentIdOf(own.project, "talker", "default");
      const reset = await own.kernel.resetConversation({
        project_id: own.project,
        agent_id,
        author_id: "sys.operator",
      });
      expect(reset.outcome).toBe("accepted");
      await worker.stop({ graceMs: 1 });
      await own.worker();
      await own.ended(second);
      expect(requests[2]).toBe(requests[1]);
      expect(requests[1]).toContain("one");
      await own.ended(await own.ask("talker", "three"));
      expect(requests[3]).not.toContain("two");
      await own.expectSafe();
    } finally {
      await own.close();
    }
  });

  it("is sent what its tools and extensions gave byte by byte again, by its next worker and in its next turn", async () => {
    const own = await AgentFixture.open();
    const unordered = { zeta: 1, "10": { b: 1, aa: [{ y: "ö", x: null }] }, ä: 2, bb: 3, a: true, "9": [] };
    try {
      const requests: string[][] = [];
      own.script = ({ messages, signal, step }) => {
        requests.push(messages.map((message) => JSON.stringify(message)));
        if (step === 0) return { text: "so", tool_calls: [{ name: "echo__back", arguments: unordered }] };
        if (requests.length > 2) return { text: "done" };
        return new Promise((_, reject) => signal.addEventListener("abort", () => reject(new Error("lost"))));
      };
      await own.tool({ name: "echo__back", effect: "read", handler: async () => unordered } as never);
      const notes: ExtensionModule = {
        name: "notes",
        register: (api) =>
          api.pipeline.register("turn", async (ctx) => {
            await ctx.emitMessageEvent({
              type: "append",
              message: { data: { role: "user", content: [{ type: "data", ...unordered }] } } as never,
            });
            return await ctx.next();
          }),
      };
      const extensions = () =>
        extensionsOnDemand({
          ...{ extensions: [notes], kernel: own.kernel, clock: own.clock },
          ...{ onLog: () => undefined, onWarning: (warning) => void own.warnings.push(warning) },
        });
      await own.define({ name: "talker", extensions: [{ name: "notes", config: null }] });
      const worker = await own.worker({ leaseMs: 1_000, extensions: extensions() });
      const first = await own.ask("talker", "one");
      await own.until(() => requests.length === 2, "the model to be sent the result");
      await worker.stop({ graceMs: 1 });
      await own.worker({ extensions: extensions() });
      expect(await own.ended(first), own.warnings.join("\n")).toMatchObject({ status: "success" });
      const [, told, again] = requests;
      expect(again?.slice(0, told?.length)).toEqual(told); // behind it: what the layer of the next stretch emitted
      await own.ended(await own.ask("talker", "two"));
      expect(requests[3]?.slice(0, told?.length)).toEqual(told);
    } finally {
      await own.close();
    }
  });

  it("costs no reading of what this worker has read before", async () => {
    const reads: number[] = [];
    const own = await AgentFixture.open();
    try {
      await own.define({ name: "talker" });
      await own.worker({ kernel: { ...own.kernel, reads: { ...own.kernel.reads, conversation: count } } });
      async function count(...given: Parameters<typeof own.kernel.reads.conversation>) {
        const turns = await own.kernel.reads.conversation(...given);
        reads.push(turns.filter(({ context }) => context.length > 0).length);
        return turns;
      }
      for (const input of ["1", "2", "3", "4", "5"]) await own.ended(await own.ask("talker", input));
      expect(reads).toEqual([1, 1, 1, 1]);
    } finally {
      await own.close();
    }
  });
});

describe("an answer that was not waited for", () => {
  it("comes with a turn of its own when the asking turn is over", async () => {
    const done = await turn("boss", "ask wait for tea", "late");
    expect(done.status).toBe("success");
    await fx.until(() => held.length > 0, "the helper to think");
    for (const answer of held.splice(0)) answer();
    const agent_id = agentIdOf(fx.project, "boss", "late");
    await fx.until(
      async () => (await fx.kernel.reads.turns(fx.project, { agent_id })).length === 2,
      "the turn for the answer",
    );
    await fx.until(() => sent("boss", "helped with wait for tea").length > 0, "the model to be told");
    expect(sent("boss", "helped with wait for tea")).toEqual([
      "user: ask wait for tea",
      "assistant: tool-call",
      "tool: tool-result",
      expect.stringMatching(/^assistant: I heard/),
      "user: [answer of helper] helped with wait for tea",
    ]);
    await fx.expectSafe();
  });

  it("is not delivered where a direct call asked: there is no conversation that it could come into", async () => {
    const { bus, kernel, clock, ids, project } = fx;
    const isHosted = (name: string) => fx.tools.has(name);
    const caller = await startToolCaller({ bus, kernel, clock, ids, runner: fx.runner, isHosted });
    try {
      const call = { project_id: project, tool_name: "ask__later", arguments: { what: "directly" } };
      const { agent_turn_id, agent_id } = await caller.request(call);
      expect(await fx.ended(agent_turn_id)).toMatchObject({ status: "success" });
      const helper = agentIdOf(project, "helper", agent_id);
      const askedOf = async () => (await kernel.reads.turns(project, { parent_agent_turn_id: agent_turn_id }))[0];
      await fx.until(async () => (await askedOf())?.ended_at != null, `the helper ${helper}`);
      expect(await askedOf()).toMatchObject({ status: "success", answers_parent: false });
      expect(await kernel.reads.turns(project, { agent_id })).toHaveLength(1);
    } finally {
      await caller.stop({ graceMs: 0 });
    }
  });

  it("comes before the next step of the asking turn when that runs, and only once", async () => {
    const own = await AgentFixture.open();
    try {
      const requests: string[] = [];
      let answerNow: (() => void) | null = null;
      own.script = ({ agentName, messages, step }) => {
        if (agentName === "helper") return { text: "the answer" };
        requests.push(JSON.stringify(messages));
        if (messages.at(-1)?.content === "more") return { text: "no more" };
        if (step === 0) return { tool_calls: [{ name: "ask__later", arguments: { what: "it" } }] };
        if (step > 1) return { text: "over" };
        return new Promise((resolve) => {
          answerNow = () => resolve({ tool_calls: [{ name: "ask__nothing", arguments: {} }] });
        });
      };
      await own.define({ name: "boss" }, { name: "helper" });
      for (const tool of fx.tools.values()) await own.register(tool);
      await own.tool({ name: "ask__nothing", effect: "read", handler: async () => null } as never);
      await own.worker();
      const asked = await own.ask("boss", "go");
      const agent_id = agentIdOf(own.project, "helper", "default");
      await own.until(
        async () => (await own.kernel.reads.turns(own.project, { agent_id }))[0]?.ended_at != null,
        "the helper",
      );
      await own.until(() => answerNow !== null, "the boss to think");
      (answerNow as (() => void) | null)?.();
      await own.ended(asked);
      expect(requests.at(-1)?.split("[answer of helper] the answer").length).toBe(2);
      const boss = agentIdOf(own.project, "boss", "default");
      expect(await own.kernel.reads.turns(own.project, { agent_id: boss })).toHaveLength(1);
      await own.ended(await own.ask("boss", "more"));
      expect(requests.at(-1)?.split("[answer of helper] the answer").length).toBe(2);
      await own.expectSafe();
    } finally {
      await own.close();
    }
  });
});
