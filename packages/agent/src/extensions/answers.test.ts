// Answers that were not waited for, as extensions see them: as Goondan shows them, and as text to those that measure every message.

import { isJsonObject, type JsonValue } from "@tessera/protocol";
import type { CoreMessage, ToolContext } from "@tessera/tool";
import { describe, expect, it } from "vitest";
import { extension, fx, host, useExtensionBench } from "../../test/extension-bench.ts";
import { agentIdOf } from "../instance.ts";
import type { AgentProfile } from "../profile.ts";
import type { ExtensionApi, ExtensionModule } from "./api.ts";

useExtensionBench();

/** A boss whose first turn asks a helper without waiting and ends; the answer comes with a turn of its own, and a third turn follows. */
async function bossWith(extensions: AgentProfile["extensions"], asked: string, ...modules: ExtensionModule[]) {
  await fx.define({ name: "boss", extensions }, { name: "helper" });
  await fx.tool({
    name: "ask__later",
    parameters: { type: "object", properties: {} },
    effect: "idempotent",
    handler: async ({ runtime }: ToolContext) => {
      const source = { kind: "agent" as const, name: "boss" };
      const event = { id: "evt-1", type: "agent.request", createdAt: new Date(0), source, metadata: { ticket: 7 } };
      const { correlationId = "" } =
        (await runtime?.request("helper", { ...event, input: asked }, { async: true })) ?? {};
      return { correlationId };
    },
  } as never);
  let answerNow = () => {};
  const mayAnswer = new Promise<void>((resolve) => {
    answerNow = resolve;
  });
  fx.script = async ({ agentName, step, messages }) => {
    if (agentName === "helper") {
      await mayAnswer;
      if (asked === "fail") throw new Error("the helper is ill");
      return { text: `helped with ${asked}` };
    }
    const isFirst = messages.every(({ role }) => role === "user");
    return isFirst && step === 0 ? { tool_calls: [{ name: "ask__later", arguments: {} }] } : { text: "well" };
  };
  await fx.worker({ extensions: host(...modules) });
  await fx.ended(await fx.ask("boss", "go"));
  answerNow();
  const agent_id = agentIdOf(fx.project, "boss", "default");
  await fx.until(async () => {
    const turns = await fx.kernel.reads.turns(fx.project, { agent_id });
    return turns.length === 2 && turns.every(({ ended_at }) => ended_at !== null);
  }, "the turn for the answer to end");
  const statuses = (await fx.kernel.reads.turns(fx.project, { agent_id })).map(({ status }) => status);
  expect(statuses, fx.warnings.join("\n")).toEqual(["success", "success"]);
  const last = await fx.ended(await fx.ask("boss", "more"));
  expect(last.status, fx.warnings.join("\n")).toBe("success");
}

const sentToBoss = () =>
  fx.modelCalls
    .filter(({ agentName }) => agentName === "boss")
    .map(({ messages }) => messages.flatMap(({ role, content }) => (role === "user" ? String(content) : [])));

describe("an answer that was not waited for", () => {
  it("has Goondan's content and metadata, and can be measured part by part, in every turn that remembers it", async () => {
    const seen: { content: CoreMessage["content"]; answer: JsonValue | undefined }[] = [];
    let characters = 0;
    const measures = extension((api: ExtensionApi) =>
      api.pipeline.register("turn", async (ctx) => {
        const { nextMessages, baseMessages } = ctx.conversationState;
        for (const { data, metadata } of [...nextMessages, ...baseMessages]) {
          for (const part of data.content as Iterable<string | { text?: string }>) {
            characters += (typeof part === "string" ? part : (part.text ?? "")).length;
          }
          const answer = metadata.__goondanInterAgentResponse;
          if (answer !== undefined) seen.push({ content: data.content, answer });
        }
        return await ctx.next();
      }),
    );
    await bossWith([{ name: "guard", config: null }], "tea", measures);
    expect(seen).toHaveLength(4); // in the turn for it and in the next one, in both lists
    const from = { fromAgentId: "helper", toAgentId: "boss", status: "ok", requestId: expect.any(String) };
    for (const { content, answer } of seen) {
      expect(isJsonObject(content)).toBe(true);
      expect(JSON.parse(JSON.stringify(content))).toEqual({
        type: "inter_agent_response",
        ...from,
        response: "helped with tea",
      });
      expect(answer).toMatchObject({
        ...{ kind: "inter_agent_response", version: 1, async: true, requestEventId: "evt-1", ...from },
        ...{ requestEventType: "agent.request", receivedAt: expect.stringMatching(/^\d{4}-/) },
      });
    }
    expect(characters).toBeGreaterThan("helped with tea".length * 4);
    await fx.expectSafe();
  });

  it("is text of the built-in inter-agent-response-format, once, and message-compaction counts it", async () => {
    const builtins: AgentProfile["extensions"] = [
      { name: "message-compaction", package: "@tessera/base", config: null },
      { name: "inter-agent-response-format", package: "@tessera/base", config: { includeRequestMetadata: true } },
    ];
    await bossWith(builtins, "tea");
    const told = expect.stringMatching(
      /^\[response of helper to boss: ok, request \S+\]\nhelped with tea\nrequest metadata: /,
    );
    expect(sentToBoss().slice(2)).toEqual([
      ["go", told],
      ["go", told, "more"],
    ]);
    await fx.expectSafe();
  });

  it("that is a failure is passed on by the built-in inter-agent-response-format with its code", async () => {
    await bossWith([{ name: "inter-agent-response-format", package: "@tessera/base", config: null }], "fail");
    const told = expect.stringMatching(/^\[response of helper to boss: error, request \S+\]\n[a-z_]+: .+$/);
    expect(sentToBoss().at(-1)).toEqual(["go", told, "more"]);
  });
});

it("an extension without a configuration is registered without one, so that what it has by default counts", async () => {
  const given: unknown[] = [];
  const modules = ["first", "second"].map((name) => ({
    name,
    register: (_api: ExtensionApi, config: unknown = "by default") => void given.push(config),
  }));
  fx.script = () => ({ text: "done" });
  await fx.worker({ extensions: host(...modules) });
  const extensions = [{ name: "first" }, { name: "second", config: null }] as AgentProfile["extensions"];
  await fx.ended(await fx.enqueue(await fx.agent({ extensions }), "go"));
  expect(given).toEqual(["by default", "by default"]);
});
