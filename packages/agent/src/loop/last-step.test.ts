// What the cards say about the last step, in call order, in whatever order they came to hand.

import type { CardDocument } from "@tessera/kernel";
import { expect, it } from "vitest";
import { lastStepOf } from "./last-step.ts";

const card = (fields: Partial<CardDocument>): CardDocument => ({
  card_id: "c",
  project_id: "p",
  type: "agent.thought",
  author_id: "a",
  content: {},
  metadata: {},
  tool_calls: null,
  tool_call_id: null,
  created_at: "2026-01-01T00:00:00Z",
  ...fields,
});
const result = (id: string, status: string, after = "suspend") =>
  card({
    type: "tool.result",
    tool_call_id: id,
    metadata: { function_name: `tool_${id}` },
    content: { status, after_execution: after, result: null, error: null },
  });
const thought = card({
  tool_calls: [
    { id: "one", name: "t" },
    { id: "two", name: "t" },
  ],
});

it("its results are in the order of its calls, though a worker that took over had the second one first", () => {
  const { results, steps } = lastStepOf([thought, result("two", "failed"), result("one", "success")]);
  expect(steps).toBe(1);
  expect(results.map(({ tool_name }) => tool_name)).toEqual(["tool_one", "tool_two"]);
});

it("any result that terminates ends it, by its own word or its control key", () => {
  expect(lastStepOf([thought, result("one", "success"), result("two", "success")]).afterExecution).toBe("suspend");
  expect(lastStepOf([thought, result("one", "success", "terminate")]).afterExecution).toBe("terminate");
});
