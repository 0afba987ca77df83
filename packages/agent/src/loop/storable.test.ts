// Whatever a model or a tool says, its turn ends: what the store cannot take is replaced, never waited for.

import { TesseraError } from "@tessera/protocol";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { AgentFixture } from "../../test/agent-fixture.ts";

let fx: AgentFixture;
beforeEach(async () => {
  fx = await AgentFixture.open();
  await fx.worker();
});
afterEach(() => fx.close());

describe("a turn ends", () => {
  it.each([
    ["a NUL", "a\u0000b"],
    ["half of a surrogate pair", "x\ud83d"],
    ["two megabytes", "y".repeat(2_000_000)],
  ])("though its model wrote %s", async (_, text) => {
    fx.script = () => ({ text });
    const turn = await fx.ended(await fx.enqueue(await fx.agent(), "go"));
    expect(turn.status).toBe("success");
    await fx.expectSafe();
  });

  it("though the error of its model cannot be stored", async () => {
    fx.script = () => {
      throw new TesseraError("model_failed", "no \ud83d key");
    };
    const turn = await fx.ended(await fx.enqueue(await fx.agent(), "go"));
    expect(turn).toMatchObject({ status: "failed", error_code: "model_failed" });
  });

  it("though the results that end it are too large for one deliverable together", async () => {
    await fx.tool({
      name: "big__end",
      effect: "read",
      handler: () => ({ text: "z".repeat(700_000), __cg_control: { after_execution: "terminate" } }),
    } as never);
    const call = { name: "big__end", arguments: {} };
    fx.script = () => ({ tool_calls: [call, call] });
    const turn = await fx.ended(await fx.enqueue(await fx.agent(), "go"));
    expect(turn.status).toBe("success");
    expect(JSON.stringify(turn.deliverable)).toContain("tool.result cards");
  });

  it("though a submitted field is larger than a card, and says so", async () => {
    fx.script = () => ({
      tool_calls: [{ name: "submit_result", arguments: { result: { huge: "w".repeat(1_200_000) } } }],
    });
    const agent = await fx.agent({ allowed_internal_tools: ["submit_result"], max_steps: 2 });
    const turn = await fx.ended(await fx.enqueue(agent, "go"));
    expect(["failed", "partial"]).toContain(turn.status);
  });
});
