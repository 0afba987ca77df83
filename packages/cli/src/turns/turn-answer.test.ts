import { describe, expect, it } from "vitest";
import { turnOf } from "../../test/turn-fixture.ts";
import { printed } from "../output/printing-gate.ts";
import { answerOf, deliverableText, exitCodeOf, failureText, openTurnsText } from "./turn-answer.ts";

const turn = turnOf({ status: "failed", errorCode: "model_error", errorMessage: "no \u001b[31mwords" });

describe("a turn that ended", () => {
  it.each([
    ["success", undefined, 0],
    ["partial", "max_steps_reached", 0],
    ["failed", "bad_request", 5],
    ["timeout", "tool_timeout", 5],
    ["canceled", "canceled", 5],
    ["failed", "outcome_unknown", 7],
  ])("%s with %s exits %i", (status, code, exit) => {
    expect(exitCodeOf({ status, error: code === undefined ? undefined : { code } })).toBe(exit);
  });

  it("delivers text as text, data as JSON, and nothing as null", () => {
    const delivered = (content: object | null) => answerOf({ ...turn, deliverable: content as never }).deliverable;
    expect(deliverableText(delivered({ cardId: "c", text: "hi" }))).toBe("hi\n");
    expect(deliverableText(delivered({ cardId: "c", data: { n: 1 } }))).toBe('{\n  "n": 1\n}\n');
    expect(delivered(null)).toBeNull();
  });

  it("without success says why on lines of its own, without control characters", () => {
    const text = printed(failureText(answerOf(turn)));
    expect(text).toMatch(/^tessera: the turn of planner failed: no \\u001b\[31mwords\n {2}code {8}model_error\n/);
    expect(text).toContain("  turn        turn_1\n");
  });
});

describe("turns that have not ended", () => {
  const open = { turnIds: ["turn_1"], isInterrupted: false, waitSeconds: 3, keptIn: "/s", isAsked: true };

  it("are kept, and the command that goes on with them can be pasted; no password is in it", () => {
    expect(printed(openTurnsText(open, "my bundle", { project: "default", data: "/s" }))).toContain(
      "Let it go on: tessera run 'my bundle' --resume --data /s\n",
    );
    const url = "postgres://me:secret@h/d";
    const text = printed(openTurnsText({ ...open, isInterrupted: true }, undefined, { project: "p", postgres: url }));
    expect(text).toContain("tessera run --resume --postgres postgres://me@h/d --project p\n");
    expect(text).toContain("stopped waiting for the turn");
    expect(text).not.toContain("secret");
  });

  it("of an earlier run say that the new task was not asked for, and how to ask for it all the same", () => {
    const text = printed(openTurnsText({ ...open, isAsked: false }, "b", { project: "default", data: "/s" }));
    expect(text).toContain(
      "tessera: the new task was not asked for: a turn that an earlier run left open did not end within 3 s; it is kept in /s\n",
    );
    expect(text).toContain("or stop it, then repeat the new task: tessera turns stop turn_1 --data /s\n");
  });

  it("are gone with a store in memory", () => {
    const text = printed(openTurnsText({ ...open, keptIn: null }, undefined, { project: "default" }));
    expect(text).toContain("so it is gone");
    expect(text).toContain("--data DIR");
  });
});
