import { describe, expect, it } from "vitest";
import { invocationForTest } from "../../test/handler-runs.ts";
import type { AgentToolRuntime, ToolProgress } from "../api.ts";
import type { ToolInvocation } from "../invocation.ts";
import { PROGRESS_UPDATES_MAX } from "./progress.ts";
import { buildToolContext } from "./tool-context.ts";

const signal = new AbortController().signal;
const parts = { workdir: "/workspace", logger: console, signal, progress: () => undefined };
const build = (more: Partial<ToolInvocation> = {}) => buildToolContext(invocationForTest(more), parts);

describe("a handler's context", () => {
  it("has exactly these keys", () => {
    const keys = [
      "agentName",
      "instanceKey",
      "turnId",
      "traceId",
      "toolCallId",
      "message",
      "workdir",
      "logger",
      "signal",
      "idempotencyKey",
      "attempt",
      "progress",
    ];
    expect(Object.keys(build())).toEqual(keys);
    const runtime = {} as AgentToolRuntime;
    expect(Object.keys(buildToolContext(invocationForTest(), { ...parts, runtime }))).toEqual([
      ...keys.slice(0, 8),
      "runtime",
      ...keys.slice(8),
    ]);
  });

  it("gives what is read late to a copy, an heir and a wrapper, made once", () => {
    const ctx = build();
    const { message } = ctx;
    const copy = Object.defineProperties({}, Object.getOwnPropertyDescriptors(ctx)) as typeof ctx;
    for (const seen of [{ ...ctx }, Object.create(ctx) as typeof ctx, new Proxy(ctx, {}), copy]) {
      expect(seen.message).toBe(message);
      expect([seen.workdir, seen.logger]).toEqual(["/workspace", console]);
    }
    expect(build().message).not.toBe(message);
  });

  it("says which call of which agent this is", () => {
    expect(build()).toMatchObject({
      agentName: "agent_1",
      instanceKey: "p1:public:agent_1",
      turnId: "turn_1",
      traceId: "0af7651916cd43dd8448eb211c80319c",
      toolCallId: "tc_1",
      workdir: "/workspace",
      idempotencyKey: "key_1",
      attempt: 2,
    });
    expect(build({ agent_name: "coder", instance_key: "telegram:1" })).toMatchObject({
      agentName: "coder",
      instanceKey: "telegram:1",
    });
  });
});

describe("the message of a context", () => {
  it("is the assistant's, with its text and all its calls, and the input of this call only", () => {
    const tool_calls = [
      { id: "tc_0", name: "other" },
      { id: "tc_1", name: "demo__run" },
    ];
    expect(build({ message: { card_id: "card_1", content: { text: "let me see" }, tool_calls } }).message).toEqual({
      id: "card_1",
      data: {
        role: "assistant",
        content: [
          { type: "text", text: "let me see" },
          { type: "tool-call", toolCallId: "tc_0", toolName: "other" },
          { type: "tool-call", toolCallId: "tc_1", toolName: "demo__run", input: { text: "a" } },
        ],
      },
      metadata: {},
      createdAt: new Date(0),
      source: { type: "assistant", stepId: "step_1" },
    });
  });

  it.each([
    ["no text", { text: "" }, [{ id: "tc_1", name: "demo__run" }]],
    ["no calls", { text: "" }, null],
    ["calls of a wrong shape", null, [null, 1, { id: 2, name: "x" }, { id: "tc_9" }]],
  ])("holds this call even if the card has %s", (_, content, tool_calls) => {
    expect(build({ message: { card_id: "card_1", content, tool_calls } }).message.data.content).toEqual([
      { type: "tool-call", toolCallId: "tc_1", toolName: "demo__run", input: { text: "a" } },
    ]);
  });

  it("has the card's time where the host knows it", () => {
    const at = (created_at: unknown) =>
      build({ message: { ...invocationForTest().message, created_at } as ToolInvocation["message"] }).message.createdAt;
    expect(at("2026-01-02T03:04:05.000Z")).toEqual(new Date("2026-01-02T03:04:05.000Z"));
    expect(at("yesterday")).toEqual(new Date(0));
  });

  it("shares nothing with the handler's input", () => {
    const invocation = invocationForTest();
    const { message } = buildToolContext(invocation, parts);
    invocation.arguments.text = "changed";
    expect(JSON.stringify(message.data)).toContain('"input":{"text":"a"}');
  });
});

describe("progress", () => {
  function recorder() {
    const seen: ToolProgress[] = [];
    const { progress } = buildToolContext(invocationForTest(), { ...parts, progress: (update) => seen.push(update) });
    return { seen, progress };
  }

  it("passes on what is plain and bounded", () => {
    const { seen, progress } = recorder();
    progress({ message: "half", fraction: 0.5, data: { rows: 3 } });
    progress({ message: "m".repeat(5_000), fraction: 7 });
    progress({ fraction: Number.NaN, other: 1 } as ToolProgress);
    expect(seen[0]).toEqual({ message: "half", fraction: 0.5, data: { rows: 3 } });
    expect(seen[1]).toEqual({ message: expect.stringMatching(/^m+\.\.\. \(truncated\)$/), fraction: 1 });
    expect(seen[1]?.message).toHaveLength(1_000);
    expect(seen[2]).toEqual({});
  });

  it("never throws", () => {
    const { seen, progress } = recorder();
    const { proxy, revoke } = Proxy.revocable({}, {});
    revoke();
    for (const update of [proxy, { data: 1n }, { data: "x".repeat(20_000) }]) progress(update as ToolProgress);
    expect(seen).toEqual([]);
    const failing = buildToolContext(invocationForTest(), {
      ...parts,
      progress: () => {
        throw new Error("no listener");
      },
    });
    expect(() => failing.progress({})).not.toThrow();
  });

  it("ends after so many updates", () => {
    const { seen, progress } = recorder();
    for (let n = 0; n < PROGRESS_UPDATES_MAX + 5; n++) progress({ fraction: 0 });
    expect(seen).toHaveLength(PROGRESS_UPDATES_MAX);
  });
});
