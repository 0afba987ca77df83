import { expect, it } from "vitest";
import { unknownTool } from "../commands/known-tools.ts";
import { printed } from "./printing-gate.ts";
import { exitCodeOfCall, failureText, openCallText, type ToolCallAnswer } from "./tool-call-answer.ts";

function answer(status: ToolCallAnswer["status"], code?: string): ToolCallAnswer {
  return { agent_turn_id: "turn_1", status, error: code === undefined ? null : { code, message: "why" } };
}

it.each([
  [answer("success"), 0],
  [answer("partial"), 0],
  [answer("failed", "bad_request"), 5],
  [answer("timeout", "tool_timeout"), 5],
  [answer("canceled", "canceled"), 5],
  [answer("waiting"), 6],
  [answer("failed", "outcome_unknown"), 7],
  [answer("timeout", "outcome_unknown"), 7],
])("%j exits %i", (given, exitCode) => {
  expect(exitCodeOfCall(given)).toBe(exitCode);
});

it("a failure without a suggestion of the tool says what the catalogue says", () => {
  expect(printed(failureText("t", answer("timeout", "outcome_unknown")))).toContain(
    "  what to do  Check the outside system",
  );
});

it("the command to ask again can be pasted, and has no password in it", () => {
  const open = { isInterrupted: true, waitSeconds: 60, reason: "r", keptIn: "K" };
  const flags = { data: "my store", project: "p", bundle: "./b" };
  expect(printed(openCallText("t", "turn_1", open, flags))).toContain(
    "Ask for it again: tessera tools call --turn turn_1 --data 'my store' --project p --bundle ./b\n",
  );
  const flagged = { postgres: "postgres://me:secret@h/d", project: "default" };
  expect(printed(openCallText("t", "turn_1", open, flagged))).toContain("--turn turn_1 --postgres postgres://me@h/d\n");
});

it("an unknown tool lists the nearest names first", () => {
  const { details } = unknownTool("words__cont", "p", ["bash__exec", "words__count"]);
  expect(details.advice).toMatchObject({ todo: "Use one of words__count, bash__exec." });
});
