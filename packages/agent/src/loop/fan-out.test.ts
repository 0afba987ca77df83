// A model that gives its work to fifty others, each of which does the same (docs/faults.md#f44).

import { type Pmo, startPmo } from "@tessera/pmo";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { AgentFixture } from "../../test/agent-fixture.ts";

const LEFT = 70;
const FAN_OUT = 50;
const FAN_OUT_BELOW = 3;

let fx: AgentFixture;
let pmo: Pmo;
beforeAll(async () => {
  fx = await AgentFixture.open();
  await fx.define({
    name: "bomb",
    allowed_internal_tools: ["fork_join"],
    delegation_policy: { target_tags: [], target_profiles: null },
  });
  fx.script = ({ step, messages }) => {
    if (step > 0) return { text: "done" };
    const isFirst = JSON.stringify(messages).includes("go");
    const task = { target_strategy: "new", target_ref: "bomb", instruction: "do it" };
    const tasks = Array.from({ length: isFirst ? FAN_OUT : FAN_OUT_BELOW }, () => task);
    return { tool_calls: [{ name: "fork_join", arguments: { tasks } }] };
  };
  pmo = await startPmo({ ...fx.parts, executor: "pmo" });
});
afterAll(async () => {
  await pmo.stop();
  await fx.close();
});

describe("a fan-out bomb", () => {
  it("is refused by the budget of the first turn's trace; all that was started ends and reports to its parent", async () => {
    const turn = await fx.ask("bomb", "go");
    const row = await fx.kernel.reads.turn(fx.project, turn);
    await fx.leaveTurns(String(row?.trace_id), LEFT);
    await fx.worker();
    expect(await fx.ended(turn, 90_000)).toMatchObject({ status: "success" });
    const results = (await fx.cards(turn)).filter((card) => card.type === "tool.result");
    expect(results).toHaveLength(1);
    // Fifty children and what was left for theirs; the turns of every trace that the children have count as one budget.
    expect(await fx.count("state.agent_turns")).toBe(1 + LEFT);
    expect(await fx.count("state.agent_turns where ended_at is null")).toBe(0);
    const refused = await fx.count(
      "card.cards where type = 'tool.result' and content::text like '%trace_budget_exceeded%'",
    );
    expect(refused).toBeGreaterThan(0);
    await fx.expectSafe();
  }, 120_000);
});
