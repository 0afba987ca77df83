// ctx.runtime from inside a tool, on a store in memory. The worker has one place for running turns, so that every request
// below also shows that a turn that waits for another agent gives its place away.

import { type JsonObject, readCallerFacts } from "@tessera/protocol";
import type { AgentEvent, AgentToolRuntime, ToolContext } from "@tessera/tool";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { AgentFixture } from "../../test/agent-fixture.ts";
import { agentIdOf } from "../instance.ts";
import type { AgentWorker } from "../loop/agent-worker.ts";
import type { ModelCall } from "../model-port.ts";
import { createAgentRuntime } from "./agent-runtime.ts";

type Operation = (runtime: AgentToolRuntime, ctx: ToolContext) => Promise<unknown>;

let fx: AgentFixture;
let worker: AgentWorker;
const operations = new Map<string, Operation>();
const heard: string[] = [];
let bosses = 0;

const swarm = {
  name: "crew",
  entry_agent: "boss",
  agents: ["boss", "helper", "former", "failing", "slow", "relay", "deep"],
};

beforeAll(async () => {
  fx = await AgentFixture.open();
  await fx.define(
    ...swarm.agents.map((name) => ({
      ...{ name, swarm },
      allowed_internal_tools: name === "former" ? ["submit_result"] : [],
      worker_target: name === "slow" ? "slow_workers" : "worker_generic",
    })),
    { name: "outsider" },
  );
  await fx.tool({
    name: "ops__run",
    parameters: { type: "object", properties: { op: { type: "string" } }, required: ["op"] },
    effect: "idempotent",
    retry: { maxAttempts: 3, backoffMs: 1 },
    handler: async (ctx: ToolContext, { op }: { op: string }) => {
      if (ctx.runtime === undefined) throw new Error("no runtime");
      return { answer: (await operations.get(op)?.(ctx.runtime, ctx)) ?? null };
    },
  } as never);
  fx.script = script;
  worker = await fx.worker({ concurrencyMax: 1 });
  await fx.worker({ workerTargets: ["slow_workers"] });
});
afterAll(() => fx.close());

function script(call: ModelCall) {
  const asked = textOf(call);
  heard.push(`${call.agentName}: ${asked}`);
  switch (call.agentName) {
    case "boss":
    case "relay":
    case "deep":
      return call.step === 0
        ? { tool_calls: asked.split(" ").map((op) => ({ name: "ops__run", arguments: { op } })) }
        : { text: "over" };
    case "former":
      return { tool_calls: [{ name: "submit_result", arguments: { result: { city: "Oslo", degrees: 4 } } }] };
    case "failing":
      throw new Error("this model is broken");
    case "slow":
      return new Promise<{ text: string }>((resolve) => {
        call.signal.addEventListener("abort", () => resolve({ text: "late" }));
        slowOnes.push(() => resolve({ text: "at last" }));
      });
    default:
      return { text: `heard ${asked}` };
  }
}
const slowOnes: (() => void)[] = [];

function answerSlowOnes(): void {
  for (const answerNow of slowOnes.splice(0)) answerNow();
}

function textOf({ messages }: ModelCall): string {
  return String(messages.findLast((message) => message.role === "user")?.content);
}

function event(input: string, more: Partial<AgentEvent> = {}): AgentEvent {
  const source = { kind: "agent" as const, name: "test" };
  return { id: `evt-${input}`, type: "agent.request", createdAt: new Date(0), source, input, ...more };
}

/** What an operation inside a tool call of a boss answers, or the code of what it throws. */
async function inTool(operation: Operation, key = `key-${++bosses}`): Promise<Record<string, unknown>> {
  const [result] = await resultsOf([operation], key);
  return result?.answer as Record<string, unknown>;
}

async function resultsOf(ops: readonly Operation[], key = `key-${++bosses}`): Promise<{ answer: unknown }[]> {
  const names = ops.map((operation) => {
    const name = `op${operations.size}`;
    operations.set(name, async (runtime, ctx) => {
      return await operation(runtime, ctx).catch((error: Error & { code?: string }) => ({ code: error.code }));
    });
    return name;
  });
  const turn = await fx.ask("boss", names.join(" "), key);
  await fx.ended(turn);
  const cards = (await fx.cards(turn)).filter((card) => card.type === "tool.result");
  return cards.slice(-ops.length).map((card) => card.content.result as { answer: unknown });
}

describe("request", () => {
  it("starts a defined agent under the caller's instance key and answers with its text", async () => {
    const answer = await inTool((runtime) => runtime.request("helper", event("hello")), "mine");
    expect(answer).toMatchObject({ target: "helper", response: "heard hello", correlationId: expect.any(String) });
    const turns = await fx.kernel.reads.turns(fx.project, { agent_id: agentIdOf(fx.project, "helper", "mine") });
    expect(turns).toHaveLength(1);
    // The id of the answer, not of what was sent.
    expect(answer.eventId).toBe(turns[0]?.deliverable_card_id);
  });

  it("goes to the instance that the event names", async () => {
    await inTool((runtime) => runtime.request("helper", event("you", { instanceKey: "other@1" })));
    const turns = await fx.kernel.reads.turns(fx.project, { agent_id: agentIdOf(fx.project, "helper", "other@1") });
    expect(turns).toHaveLength(1);
  });

  it("answers with JSON where the deliverable is not text", async () => {
    const answer = await inTool((runtime) => runtime.request("former", event("the weather")));
    const fields = [
      { name: "city", value: "Oslo" },
      { name: "degrees", value: 4 },
    ];
    expect(answer.response).toEqual({ fields });
  });

  it("of an agent that is not defined, or not of the caller's swarm, is an error", async () => {
    expect(await inTool((runtime) => runtime.request("missing", event("x")))).toEqual({ code: "AGENT_NOT_FOUND" });
    expect(await inTool((runtime) => runtime.request("outsider", event("x")))).toEqual({ code: "AGENT_NOT_FOUND" });
  });

  it("whose target fails gets the target's code", async () => {
    expect(await inTool((runtime) => runtime.request("failing", event("x")))).toEqual({ code: "internal_error" });
  });

  it("that is not answered in time ends with AGENT_REQUEST_TIMEOUT, and the target goes on", async () => {
    const answer = await inTool((runtime) => runtime.request("slow", event("x"), { timeoutMs: 300 }), "late");
    expect(answer).toEqual({ code: "AGENT_REQUEST_TIMEOUT" });
    const [turn] = await fx.kernel.reads.turns(fx.project, { agent_id: agentIdOf(fx.project, "slow", "late") });
    expect(turn?.ended_at).toBeNull();
    await fx.until(() => slowOnes.length > 0, "the slow one to think");
    answerSlowOnes();
    expect(await fx.ended(String(turn?.agent_turn_id))).toMatchObject({ deliverable: { text: "at last" } });
  });

  it("is answered under the name that the caller gave it, which the other agent's turn keeps", async () => {
    const replyTo = { target: "boss", correlationId: "mine-1" };
    const [waited, later, none] = await resultsOf(
      [
        (runtime) => runtime.request("helper", event("named", { replyTo })),
        (runtime) => runtime.request("helper", event("named later", { replyTo }), { async: true }),
        (runtime) => runtime.request("helper", event("x", { replyTo: { ...replyTo, correlationId: "y".repeat(257) } })),
      ],
      "named",
    );
    expect(waited?.answer).toMatchObject({ correlationId: "mine-1", response: "heard named" });
    expect(later?.answer).toMatchObject({ correlationId: "mine-1", accepted: true });
    expect(none?.answer).toEqual({ code: "bad_request" });
    const turns = await fx.kernel.reads.turns(fx.project, { agent_id: agentIdOf(fx.project, "helper", "named") });
    for (const { agent_turn_id } of turns) {
      const turn = await fx.kernel.reads.turn(fx.project, String(agent_turn_id));
      expect(turn?.metadata).toMatchObject({ reply_target: "boss", reply_correlation_id: "mine-1" });
    }
    expect(turns).toHaveLength(2);
  });

  it("with async answers at once", async () => {
    const answer = await inTool((runtime) => runtime.request("helper", event("later"), { async: true }));
    expect(answer).toMatchObject({ accepted: true, async: true, eventId: "evt-later" });
    expect(answer.response).toBeUndefined();
  });

  it("to itself, or to an agent that waits for this one, is refused; send is not", async () => {
    const self = await inTool((runtime) => runtime.request("boss", event("x")));
    expect(self).toEqual({ code: "CIRCULAR_CALL_DETECTED" });
    let back: unknown;
    let sent: unknown;
    operations.set("back", async (runtime) => {
      back = await runtime.request("boss", event("x")).catch((error: { code?: string }) => error.code);
      sent = await runtime.send("boss", event("nop"));
      return "done";
    });
    operations.set("nop", async () => "nothing");
    await inTool((runtime) => runtime.request("relay", event("back")));
    expect(back).toBe("CIRCULAR_CALL_DETECTED");
    expect(sent).toMatchObject({ accepted: true });
  });

  it("to another instance of the same agent is no circle", async () => {
    operations.set("nop", async () => "nothing");
    const answer = await inTool((runtime) => runtime.request("boss", event("nop", { instanceKey: "second" })));
    expect(answer).toMatchObject({ response: "over" });
  });

  it("to the sender of a message is no circle: no caller waits for a message", async () => {
    let response: unknown;
    operations.set("nop", async () => "nothing");
    operations.set("ask-back", async (runtime) => {
      response = (await runtime.request("boss", event("nop"))).response;
      return "done";
    });
    await inTool((runtime) => runtime.send("relay", event("ask-back")), "sender");
    const [turn] = await fx.kernel.reads.turns(fx.project, { agent_id: agentIdOf(fx.project, "relay", "sender") });
    await fx.ended(String(turn?.agent_turn_id));
    expect(response).toBe("over");
  });

  it("goes twenty agents deep and no deeper", async () => {
    let refusal: unknown = null;
    let depth = 0;
    operations.set("down", async (runtime) => {
      depth += 1;
      const next = event("down", { instanceKey: `deep-${depth}` });
      await runtime.request("deep", next).catch((error: { code?: string }) => {
        refusal ??= error.code;
      });
      return depth;
    });
    await inTool((runtime) => runtime.request("deep", event("down", { instanceKey: "deep-0" })));
    expect(refusal).toBe("recursion_depth_exceeded");
    expect(depth).toBe(19); // the boss is at depth 0
  });

  it("is refused when the trace has spent its turns, and so is every descendant's", async () => {
    const answer = await inTool(async (runtime, ctx) => {
      await fx.leaveTurns(ctx.traceId, 1);
      await runtime.request("helper", event("the last one"));
      return await runtime.request("helper", event("one too many"));
    });
    expect(answer).toEqual({ code: "trace_budget_exceeded" });
  });
});

describe("many requests at once", () => {
  it("do not starve their children of the only place, and give back one place for each turn", async () => {
    const ask: Operation = (runtime) => runtime.request("helper", event("many"));
    const five = [ask, ask, ask, ask, ask];
    const all = await Promise.all([...Array(5).keys()].map(() => resultsOf(five)));
    expect(all.flat().map(({ answer }) => (answer as { response: string }).response)).toEqual(
      Array(25).fill("heard many"),
    );
    expect(worker.running).toBeLessThanOrEqual(1);
  });

  it("of tools that gave up waiting leave nothing behind", async () => {
    const late = await inTool(async (runtime) => {
      void runtime.request("slow", event("forgotten")).catch(() => undefined);
      return { left: true };
    });
    expect(late).toEqual({ left: true });
    answerSlowOnes();
    const [answer] = await resultsOf([(runtime) => runtime.request("helper", event("still"))]);
    expect(answer?.answer).toMatchObject({ response: "heard still" });
  });
});

describe("send", () => {
  it("is accepted and heard; to an agent that is not defined it is not", async () => {
    const answer = await inTool((runtime) => runtime.send("helper", event("a note")), "noted");
    expect(answer).toEqual({ eventId: "evt-a note", target: "helper", accepted: true });
    const [turn] = await fx.kernel.reads.turns(fx.project, { agent_id: agentIdOf(fx.project, "helper", "noted") });
    await fx.ended(String(turn?.agent_turn_id));
    expect(heard).toContain("helper: a note");
    expect(await inTool((runtime) => runtime.send("missing", event("x")))).toMatchObject({ accepted: false });
  });

  it("without input still says something to the model", async () => {
    const { input: _, ...silent } = event("");
    await inTool((runtime) => runtime.request("helper", { ...silent, type: "tick" }));
    expect(heard).toContain("helper: [tick]");
  });
});

describe("spawn and list", () => {
  it("make an instance once by target and key, keep its first owner and tell whose it is", async () => {
    const first = await inTool((runtime) => runtime.spawn("helper", { instanceKey: " h1 ", cwd: "sub" }), "owner-a");
    expect(first).toEqual({ target: "helper", instanceKey: "h1", spawned: true, cwd: "sub" });
    const [again, own, all] = await resultsOf(
      [
        (runtime) => runtime.spawn("helper", { instanceKey: "h1", cwd: "elsewhere" }),
        (runtime) => runtime.list(),
        (runtime) => runtime.list({ includeAll: true }),
      ],
      "owner-b",
    );
    expect(again?.answer).toEqual({ target: "helper", instanceKey: "h1", spawned: false, cwd: "sub" });
    expect(own?.answer).toEqual({ agents: [] });
    const h1 = { target: "helper", instanceKey: "h1", ownerAgent: "boss", ownerInstanceKey: "owner-a" };
    expect(all?.answer).toMatchObject({ agents: expect.arrayContaining([expect.objectContaining(h1)]) });
    const listed = await inTool((runtime) => runtime.list(), "owner-a");
    expect(listed).toMatchObject({ agents: [{ instanceKey: "h1", cwd: "sub", createdAt: expect.any(String) }] });
  });

  it("without a key make one up, and refuse what is not defined or not of the swarm", async () => {
    const [one, two, none, outside] = await resultsOf([
      (runtime) => runtime.spawn("helper"),
      (runtime) => runtime.spawn("helper"),
      (runtime) => runtime.spawn("no body"),
      (runtime) => runtime.spawn("outsider", { instanceKey: "k" }),
    ]);
    const [a, b] = [one?.answer as { instanceKey: string }, two?.answer as { instanceKey: string }];
    expect(a.instanceKey).toMatch(/^helper-instance-[0-9a-f]{12}$/);
    expect(a.instanceKey).not.toBe(b.instanceKey);
    expect(none?.answer).toEqual({ code: "AGENT_NOT_FOUND" });
    expect(outside?.answer).toEqual({ code: "AGENT_NOT_FOUND" });
  });
});

describe("a directory for a spawned instance", () => {
  const rosterOf = async (instanceKey: string) =>
    (await fx.kernel.reads.agent(fx.project, agentIdOf(fx.project, "relay", instanceKey)))?.metadata as JsonObject;

  it("is one inside its caller's, also where that has been given one itself", async () => {
    const boss = agentIdOf(fx.project, "boss", "dirs");
    const spawned = await inTool((runtime) => runtime.spawn("relay", { instanceKey: "d1", cwd: "./a//b/" }), "dirs");
    expect(spawned).toMatchObject({ cwd: "a/b", spawned: true });
    expect(await rosterOf("d1")).toMatchObject({ cwd: "a/b", workdir: { agent_id: boss, path: "a/b" } });
    let made: unknown;
    operations.set("deeper", async (runtime) => {
      made = await runtime.spawn("relay", { instanceKey: "d2", cwd: "c" });
      return made;
    });
    await inTool((runtime) => runtime.request("relay", event("deeper", { instanceKey: "d1" })), "dirs");
    expect(made).toMatchObject({ cwd: "c", spawned: true });
    expect(await rosterOf("d2")).toMatchObject({ workdir: { agent_id: boss, path: "a/b/c" } });
  });

  it.each(["/", "/etc", "..", "a/../..", "a/..", "a\0b", `${"d/".repeat(3_000)}d`])("is not %j", async (cwd) => {
    const refused = await inTool((runtime) => runtime.spawn("relay", { instanceKey: "no", cwd }), "dirs");
    expect(refused).toEqual({ code: "path_outside_workdir" });
    expect(await rosterOf("no")).toBeUndefined();
  });

  it("is where the instance's tools work, and their calls say so to executors elsewhere", async () => {
    await inTool((runtime) => runtime.spawn("relay", { instanceKey: "d3", cwd: "work" }), "dirs");
    const workdir = { agent_id: agentIdOf(fx.project, "boss", "dirs"), path: "work" };
    operations.set("nothing", async () => "nothing");
    fx.invocations.length = 0;
    await inTool((runtime) => runtime.request("relay", event("nothing", { instanceKey: "d3" })), "dirs");
    const own = fx.invocations.find(({ agent_name }) => agent_name === "relay");
    expect(own).toMatchObject({ workdir, instance_key: "d3" });
    expect(fx.invocations.find(({ agent_name }) => agent_name === "boss")?.workdir).toBeUndefined();
    const card = await fx.kernel.reads.call(fx.project, String(own?.tool_call_id));
    const [stored] = await fx.kernel.reads.cards(fx.project, [String(card?.call_card_id)]);
    expect(readCallerFacts(stored?.metadata)).toEqual({ agent_name: "relay", instance_key: "d3", workdir });
  });
});

describe("catalog", () => {
  it("names the swarm, its entry and its agents in order; callable are all but the caller", async () => {
    const sorted = swarm.agents.toSorted();
    expect(await inTool((runtime) => runtime.catalog())).toEqual({
      swarmName: "crew",
      entryAgent: "boss",
      selfAgent: "boss",
      availableAgents: sorted,
      callableAgents: sorted.filter((name) => name !== "boss"),
    });
  });
});

describe("a tool that runs again", () => {
  it("after a retryable failure starts nothing twice and gets the earlier answers", async () => {
    const seen: unknown[] = [];
    const key = "retried";
    const answer = await inTool(async (runtime, ctx) => {
      const { eventId } = await runtime.request("helper", event("once", { instanceKey: key }));
      const { instanceKey, spawned } = await runtime.spawn("helper");
      seen.push({ eventId, instanceKey, spawned });
      await runtime.send("helper", event("too", { instanceKey: key }));
      return ctx.attempt;
    });
    expect(answer).toBe(1);
    operations.set("flaky", async (runtime, ctx) => {
      const { eventId } = await runtime.request("helper", event("flaky", { instanceKey: "flaky" }));
      const { instanceKey, spawned } = await runtime.spawn("helper");
      seen.push({ eventId, instanceKey, spawned });
      if (ctx.attempt < 3) throw Object.assign(new Error("try again"), { retryable: true });
      return seen.length;
    });
    seen.length = 0;
    await fx.ended(await fx.ask("boss", "flaky", "flaky-boss"));
    expect(seen).toHaveLength(3);
    expect(seen[1]).toEqual(seen[0]);
    expect(seen[2]).toEqual(seen[0]);
    const turns = await fx.kernel.reads.turns(fx.project, { agent_id: agentIdOf(fx.project, "helper", "flaky") });
    expect(turns).toHaveLength(1);
  });

  it("in another process, at the same moment, shares the turn and its answer", async () => {
    const caller = await inTool(async (_, ctx) => ({ tool_call_id: ctx.toolCallId, turn: ctx.turnId }), "twice");
    const { tool_call_id, turn } = caller as { tool_call_id: string; turn: string };
    const row = await fx.kernel.reads.call(fx.project, tool_call_id);
    const order = { ...row, tool_call_id, agent_turn_id: turn } as never;
    const runtimes = [0, 1].map(() => createAgentRuntime({ kernel: fx.kernel, clock: fx.clock, caller: order }));
    const answers = await Promise.all(runtimes.map((runtime) => runtime.request("helper", event("both"))));
    expect(answers[0]).toEqual(answers[1]);
    expect(heard.filter((line) => line === "helper: both")).toHaveLength(1);
    // Somewhere outside that counts for itself names the operation; another one is another turn.
    const third = createAgentRuntime({ kernel: fx.kernel, clock: fx.clock, caller: order, ordinal: 7 });
    expect((await third.request("helper", event("both"))).eventId).not.toBe(answers[0]?.eventId);
  });

  it("and asks another agent in the same place is refused, and no instance is made for it", async () => {
    const caller = await inTool(async (_, ctx) => ({ tool_call_id: ctx.toolCallId, turn: ctx.turnId }), "misnumbered");
    const { tool_call_id, turn } = caller as { tool_call_id: string; turn: string };
    const row = await fx.kernel.reads.call(fx.project, tool_call_id);
    const order = { ...row, tool_call_id, agent_turn_id: turn } as never;
    const runtime = () => createAgentRuntime({ kernel: fx.kernel, clock: fx.clock, caller: order, ordinal: 3 });
    await runtime().send("helper", event("first"));
    const other = event("first", { instanceKey: "never-made" });
    await expect(runtime().send("helper", other)).rejects.toMatchObject({ code: "conflict" });
    await expect(runtime().request("helper", other)).rejects.toMatchObject({ code: "conflict" });
    const made = await fx.kernel.reads.agent(fx.project, agentIdOf(fx.project, "helper", "never-made"));
    expect(made).toBeNull();
    expect(await runtime().send("helper", event("first"))).toMatchObject({ accepted: true });
  });

  it("does not read anything for a tool that asks nothing of other agents", () => {
    const reads = new Proxy({}, { get: () => () => Promise.reject(new Error("the store is away")) });
    const caller = { project_id: "p", agent_id: "a" } as never;
    // An unhandled rejection would end the process.
    expect(() => createAgentRuntime({ kernel: { reads } as never, clock: fx.clock, caller })).not.toThrow();
  });
});

describe("a worker that goes away", () => {
  it("while its turn waits for another agent stops in time, and another worker finds the same answer", async () => {
    const own = await AgentFixture.open();
    const waiting: (() => void)[] = []; // its own: other tests of this file may still be thinking
    try {
      own.script = (call) => {
        if (call.agentName !== "helper") return script(call);
        return new Promise((resolve, reject) => {
          waiting.push(() => resolve({ text: "slowly" }));
          call.signal.addEventListener("abort", () => reject(new Error("aborted")));
        });
      };
      await own.define({ name: "boss" }, { name: "helper" });
      for (const tool of fx.tools.values()) await own.register(tool);
      let asked = 0;
      operations.set("wait", async (runtime) => {
        asked += 1;
        return (await runtime.request("helper", event("wait"))).response;
      });
      const first = await own.worker();
      const turn = await own.ask("boss", "wait");
      await own.until(() => waiting.length === 1, "the helper to think");
      await first.stop({ graceMs: 50 });
      expect(asked).toBe(1);
      await own.worker();
      await own.until(() => asked === 2 && waiting.length === 2, "another worker to take both");
      for (const answer of waiting) answer();
      await own.ended(turn);
      const [result] = (await own.cards(turn)).filter((card) => card.type === "tool.result");
      expect(result?.content.result).toEqual({ answer: "slowly" });
      const turns = await own.kernel.reads.turns(own.project, { agent_id: agentIdOf(own.project, "helper") });
      expect(turns).toHaveLength(1);
      await own.expectSafe();
    } finally {
      await own.close();
    }
  });
});
