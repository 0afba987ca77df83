import { VirtualClock } from "@tessera/testkit";
import type { AgentEvent, AgentToolRuntime } from "@tessera/tool";
import { afterEach, describe, expect, it } from "vitest";
import { type Bench, startBench } from "../../test/builtin-bench.ts";

let bench: Bench | null = null;
afterEach(async () => {
  await bench?.[Symbol.asyncDispose]();
  bench = null;
});

function start(runtime?: Partial<AgentToolRuntime>): Bench {
  const context = { agentName: "planner", instanceKey: "chat-1", idempotencyKey: "key-1" };
  bench = startBench({ clock: new VirtualClock(), context: runtime === undefined ? context : { ...context, runtime } });
  return bench;
}

describe("agents", () => {
  it("request hands over an event whose id is the call's key, so that a repeat is the same event", async () => {
    const seen: unknown[] = [];
    const tools = start({
      request: async (target, event, options) => {
        seen.push({ target, event, options });
        return { target, eventId: event.id, correlationId: "c-1", response: { answer: 42 } };
      },
    });
    const input = { target: "worker", input: "hi", metadata: { a: 1 } };
    expect(await tools.output("agents__request", input)).toEqual({
      target: "worker",
      eventId: "key-1",
      correlationId: "c-1",
      accepted: true,
      async: false,
      response: { answer: 42 },
    });
    expect(seen).toEqual([
      {
        target: "worker",
        options: { timeoutMs: 60_000, async: false },
        event: {
          id: "key-1",
          type: "agent.request",
          createdAt: expect.any(Date),
          source: { kind: "agent", name: "planner", instanceKey: "chat-1" },
          traceId: expect.any(String),
          input: "hi",
          instanceKey: "chat-1",
          metadata: { a: 1 },
          replyTo: { target: "planner", correlationId: expect.stringMatching(/^corr_[0-9a-f]{12}$/) },
        },
      },
    ]);
    await tools.output("agents__request", input);
    expect(seen[1]).toEqual(seen[0]);
  });

  it("request says what the runtime answered when it does not wait", async () => {
    const tools = start({
      request: async (target, event) => ({
        target,
        eventId: event.id,
        correlationId: "c",
        accepted: true,
        async: true,
      }),
    });
    expect(await tools.output("agents__request", { target: "w", input: "hi", async: true })).toMatchObject({
      accepted: true,
      async: true,
      response: null,
    });
  });

  it("send and spawn pass on what was asked", async () => {
    const events: AgentEvent[] = [];
    const spawned: unknown[] = [];
    const tools = start({
      send: async (target, event) => {
        events.push(event);
        return { target, eventId: event.id, accepted: true };
      },
      spawn: async (target, options) => {
        spawned.push(options);
        return { target, instanceKey: options?.instanceKey ?? "", spawned: true };
      },
    });
    expect(
      await tools.output("agents__send", { target: "w", input: "hi", instanceKey: "other", eventType: "note" }),
    ).toEqual({
      target: "w",
      eventId: "key-1",
      accepted: true,
    });
    expect(events[0]).toMatchObject({ type: "note", instanceKey: "other" });
    const first = await tools.output("agents__spawn", { target: "w" });
    expect(first).toMatchObject({ target: "w", spawned: true, cwd: null });
    expect(first.instanceKey).toMatch(/^w-instance-[0-9a-f]{12}$/);
    expect((await tools.output("agents__spawn", { target: "w" })).instanceKey).toBe(first.instanceKey);
    await tools.output("agents__spawn", { target: "w", instanceKey: "mine", cwd: "sub" });
    expect(spawned.at(-1)).toEqual({ instanceKey: "mine", cwd: "sub" });
  });

  it("spawn cannot put an agent outside of the workdir", async () => {
    let asked = 0;
    const tools = start({
      spawn: async (target) => {
        asked++;
        return { target, instanceKey: "x", spawned: true };
      },
    });
    for (const cwd of ["/", "..", "/etc"]) {
      expect(await tools.code("agents__spawn", { target: "w", cwd })).toBe("path_outside_workdir");
    }
    expect(asked).toBe(0);
  });

  it("list and catalog count", async () => {
    const agent = {
      target: "w",
      instanceKey: "k",
      ownerAgent: "planner",
      ownerInstanceKey: "chat-1",
      createdAt: "now",
    };
    const asked: unknown[] = [];
    const tools = start({
      list: async (options) => {
        asked.push(options);
        return { agents: [agent] };
      },
      catalog: async () => ({
        swarmName: "s",
        entryAgent: "planner",
        selfAgent: "planner",
        availableAgents: ["planner", "w"],
        callableAgents: ["w"],
      }),
    });
    expect(await tools.output("agents__list")).toEqual({ count: 1, agents: [{ ...agent, cwd: null }] });
    await tools.output("agents__list", { includeAll: true });
    expect(asked).toEqual([{ includeAll: false }, { includeAll: true }]);
    expect(await tools.output("agents__catalog")).toMatchObject({
      swarmName: "s",
      availableCount: 2,
      callableCount: 1,
    });
  });

  it("say so where there is no runtime", async () => {
    const tools = start();
    const calls = { agents__request: { target: "w", input: "x" }, agents__spawn: { target: "w" }, agents__catalog: {} };
    for (const [name, input] of Object.entries(calls)) {
      const { error } = await tools.call(name, input);
      expect(error).toMatchObject({ code: "forbidden", message: expect.stringContaining("no agent runtime") });
    }
  });
});
