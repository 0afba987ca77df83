// What the kernel refuses before the store sees it: ids, subjects, cards and values that are none.

import { describe, expect, it } from "vitest";
import { hold, PROJECT, useFixture } from "../fixture.ts";

const fx = useFixture();
const BAD_IDS = ["", "../x", "a/b", "a.b", "*", ">", "a b", "é", "a".repeat(65), "a\u0000", "__proto__"];

describe("an id that is none", () => {
  for (const id of BAD_IDS) {
    it(`is refused wherever it comes: ${JSON.stringify(id.slice(0, 12))}`, async () => {
      const turn = await fx.started();
      const before = await fx.everything();
      const refused = { outcome: "rejected", code: "invalid_id" };
      expect(await fx.kernel.putProject({ project_id: id })).toEqual(refused);
      expect(await fx.kernel.putAgent({ project_id: PROJECT, agent_id: id, worker_target: "w" })).toEqual(refused);
      expect(await fx.kernel.putAgent({ project_id: PROJECT, agent_id: "a", worker_target: id })).toEqual(refused);
      expect(await fx.kernel.putBox({ project_id: PROJECT, box_id: id })).toEqual(refused);
      expect(await fx.kernel.enqueueTurn({ project_id: PROJECT, agent_id: turn.agent_id, agent_turn_id: id })).toEqual(
        refused,
      );
      expect(await fx.kernel.enqueueTurn({ project_id: PROJECT, agent_id: turn.agent_id, channel_id: id })).toEqual(
        refused,
      );
      const step = { ...hold(turn), step_id: fx.ids.mint("step"), thought: { content: { text: "" } } };
      expect(await fx.kernel.suspendOnCalls({ ...step, calls: [fx.call({ tool_call_id: id })] })).toEqual(refused);
      expect(await fx.kernel.suspendOnCalls({ ...step, step_id: id, calls: [fx.call()] })).toEqual(refused);
      expect(await fx.everything()).toBe(before);
    });
  }
});

describe("a call", () => {
  const SUBJECTS = [
    "cg.v1r4.p2.public.cmd.tool.echo.run",
    "cg.v1r4.p1.public.cmd.tool.echo.>",
    "cg.v1r4.p1.public.cmd.agent.workers.wakeup",
    "cg.v1r4.p1.public.evt.tool.echo.run",
    "cg.v9.p1.public.cmd.tool.echo.run",
    "echo",
  ];
  for (const target_subject of SUBJECTS) {
    it(`cannot be sent to ${target_subject}`, async () => {
      const turn = await fx.started();
      const before = await fx.everything();
      const step = { ...hold(turn), step_id: fx.ids.mint("step"), thought: { content: { text: "" } } };
      expect(await fx.kernel.suspendOnCalls({ ...step, calls: [fx.call({ target_subject })] })).toEqual({
        outcome: "rejected",
        code: "invalid_target_subject",
      });
      expect(await fx.everything()).toBe(before);
    });
  }

  it("with arguments that are too large or too deep is refused", async () => {
    const turn = await fx.started();
    const step = { ...hold(turn), step_id: fx.ids.mint("step"), thought: { content: { text: "" } } };
    let deep: object = {};
    for (let n = 0; n < 70; n += 1) deep = { deep };
    for (const [value, code] of [
      [{ text: "x".repeat(300_000) }, "payload_too_large"],
      [deep, "too_deep"],
      [JSON.parse('{"__proto__": 1}'), "forbidden_key"],
    ] as const) {
      expect(await fx.kernel.suspendOnCalls({ ...step, calls: [fx.call({ arguments: value as never })] })).toEqual({
        outcome: "rejected",
        code,
      });
    }
  });
});

describe("a card", () => {
  const card = (draft: object) => ({
    project_id: PROJECT,
    card_id: fx.ids.mint("card"),
    type: "task.instruction",
    author_id: "user.ann",
    content: { text: "x" },
    ...draft,
  });

  it("of an unknown type, or with content that is not its type's, is refused as invalid_card", async () => {
    const before = await fx.everything();
    for (const draft of [
      { type: "task.unknown" },
      { content: "bare" },
      { content: { data: {} } },
      { content: { text: 1 } },
      { content: { text: "x", more: 1 } },
    ]) {
      expect(await fx.kernel.putCard(card(draft) as never)).toEqual({ outcome: "rejected", code: "invalid_card" });
    }
    expect(await fx.everything()).toBe(before);
  });

  it("over a megabyte is refused as payload_too_large", async () => {
    expect(await fx.kernel.putCard(card({ content: { text: "x".repeat(1_048_577) } }))).toEqual({
      outcome: "rejected",
      code: "payload_too_large",
    });
  });
});
