// A report of the rightful holder that contradicts itself settles its call as failed, with the strict answer as a warning
// (docs/reference/security.md#r7, docs/reference/security.md#r10). The executor was heard, and would not say it better the second
// time.
//
//   N1. Only after capability, attempt, principal and identity were proven: what is forged changes nothing.
//   N2. On every way in alike: inline, by a saved card, through a tool's login, and for a step that ran in its agent's process.
//   N3. Towards failure only, and never as retryable what was also called a success.

import { describe, expect, it } from "vitest";
import type { OpenedCall, ReportOutcome } from "../src/index.ts";
import { PROJECT, useFixture } from "./fixture.ts";

const fx = useFixture();

interface Case {
  readonly title: string;
  readonly content: unknown;
  /** The strict answer that is kept as the warning. */
  readonly strict?: "after_execution_mismatch" | "schema_invalid";
  readonly status?: string;
  readonly code: string;
  readonly result?: unknown;
  readonly message?: string;
}

const given = { code: "x", message: "y" };
const loop = { after_execution: "loop" };

const cases: readonly Case[] = [
  { title: "an unknown status", content: { status: "ok", result: 7 }, code: "invalid_status", result: 7 },
  { title: "a status in the wrong case", content: { status: "SUCCESS" }, code: "invalid_status" },
  { title: "no status", content: { result: 1 }, code: "invalid_status", result: 1 },
  { title: "a number for a status", content: { status: 1 }, code: "invalid_status" },
  { title: "nothing at all", content: {}, code: "invalid_status" },
  { title: "a text for a content", content: "done", code: "schema_invalid" },
  { title: "a list for a content", content: [1], code: "schema_invalid" },
  {
    title: "a success with an error",
    content: { status: "success", result: 7, error: given },
    code: "x",
    message: "y",
    result: 7,
  },
  { title: "a failure without an error", content: { status: "failed" }, code: "unknown_error" },
  {
    title: "a failure whose result says why",
    content: { status: "failed", result: { error_code: "no_seat", error_message: "full" } },
    code: "no_seat",
    message: "full",
    result: { error_code: "no_seat", error_message: "full" },
  },
  {
    title: "a failure without an error code",
    content: { status: "failed", error: { message: "y" } },
    code: "unknown_error",
    message: "y",
  },
  {
    title: "an error in the words of HTTP",
    content: { status: "failed", error: { error_code: "x", error_message: "y" } },
    code: "x",
    message: "y",
  },
  { title: "an error that is a text", content: { status: "failed", error: "y" }, code: "unknown_error", message: "y" },
  {
    title: "a cancellation without an error",
    content: { status: "canceled" },
    status: "canceled",
    code: "unknown_error",
  },
  {
    title: "a key that content does not have",
    content: { status: "success", result: 7, extra: 1 },
    code: "schema_invalid",
    result: 7,
  },
  {
    title: "a key that content does not have, beside a true error",
    content: { status: "failed", error: given, extra: 1 },
    code: "x",
    message: "y",
  },
  {
    title: "a control key that is no after_execution",
    content: { status: "success", result: { kept: 1, __cg_control: loop } },
    code: "invalid_after_execution",
    result: { kept: 1 },
  },
  {
    title: "a control key that is no object",
    content: { status: "success", result: { __cg_control: "terminate" } },
    code: "invalid_after_execution",
    result: {},
  },
  {
    title: "an after_execution that is none",
    content: { status: "success", after_execution: "maybe" },
    code: "invalid_after_execution",
  },
  {
    title: "another after_execution than the call's",
    content: { status: "success", after_execution: "terminate" },
    strict: "after_execution_mismatch",
    code: "invalid_after_execution",
  },
];

function holdOf(call: OpenedCall) {
  return { project_id: PROJECT, tool_call_id: call.tool_call_id, capability: call.capability, principal: "tool.echo" };
}

async function opened(): Promise<OpenedCall> {
  return await fx.opened(await fx.suspended(), 0, { principal: "tool.echo" });
}

async function contentOf(cardId: string) {
  const [card] = await fx.kernel.reads.cards(PROJECT, [cardId]);
  return card?.content;
}

function cardOf(outcome: ReportOutcome): string {
  if (outcome.outcome !== "accepted" || !("tool_result_card_id" in outcome)) throw new Error(JSON.stringify(outcome));
  return outcome.tool_result_card_id;
}

function expected({ strict = "schema_invalid", status = "failed", code, result = null, message }: Case) {
  return {
    status,
    after_execution: "suspend",
    result,
    error: {
      code,
      message: message ?? expect.any(String),
      source: "tool",
      detail: { warning: { code: strict, message: expect.any(String) } },
    },
  };
}

describe("a report with", () => {
  for (const test of cases) {
    it(`${test.title} settles its call as failed, and the answer says why`, async () => {
      const call = await opened();
      const outcome = await fx.kernel.report({ ...holdOf(call), content: test.content as never });
      const content = await contentOf(cardOf(outcome));
      expect(content).toMatchObject(expected(test));
      const warning = { code: test.strict ?? "schema_invalid", message: expect.stringMatching(/./) };
      expect(outcome).toMatchObject({ outcome: "accepted", warning, wake: { agent_id: call.agent_id } });
      const row = await fx.kernel.reads.call(PROJECT, call.tool_call_id);
      expect(row).toMatchObject({ wait_status: "received", settled_by: "report", result_after: "suspend" });
      const again = await fx.kernel.report({ ...holdOf(call), content: { status: "success" } });
      expect(again.outcome, "what was normalised is final").toBe("duplicate");
      const audit = await fx.query("select code from state.audit_log where tool_call_id = $1", [call.tool_call_id]);
      expect(audit, "the operator can find it").toEqual([{ code: warning.code }]);
    });

    it(`${test.title} is settled alike when it was saved as a card first`, async () => {
      const call = await opened();
      const saved = await fx.kernel.putResultCard({ ...holdOf(call), content: test.content as never });
      const warning = { code: test.strict ?? "schema_invalid" };
      if (saved.outcome !== "accepted") throw new Error(saved.code);
      expect(saved).toMatchObject({ warning });
      expect(await contentOf(saved.tool_result_card_id)).toMatchObject(expected(test));
      expect((await fx.kernel.reads.call(PROJECT, call.tool_call_id))?.wait_status).toBe("waiting");
      const again = await fx.kernel.putResultCard({ ...holdOf(call), content: test.content as never });
      expect(again).toEqual(saved);
      const { tool_result_card_id } = saved;
      // The executor points to it with the status that it believes in.
      const status = (test.content as { status?: string }).status;
      const outcome = await fx.kernel.report({ ...holdOf(call), tool_result_card_id, status: status as string });
      expect(await contentOf(cardOf(outcome))).toMatchObject(expected(test));
      const boxed = await fx.kernel.reads.call(PROJECT, call.tool_call_id);
      expect(boxed?.result_card_id).toBe(cardOf(outcome));
    });

    it(`${test.title} changes nothing when its capability, attempt, principal or identity is wrong`, async () => {
      const call = await opened();
      const content = test.content as never;
      const before = await fx.everything();
      const forged: readonly [object, string][] = [
        [{ capability: "" }, "auth_failed"],
        [{ capability: "00".repeat(32) }, "auth_failed"],
        [{ principal: "tool.other" }, "auth_failed"],
        [{ project_id: "p2" }, "not_found"],
        [{ author_id: "sys.watchdog" }, "protocol_violation"],
        [{ function_name: "other__run" }, "protocol_violation"],
        [{ traceparent: "nonsense" }, "protocol_violation"],
      ];
      for (const [claim, code] of forged) {
        const refused = { outcome: "rejected", code };
        expect(await fx.kernel.report({ ...holdOf(call), content, ...claim })).toEqual(refused);
        expect(await fx.kernel.putResultCard({ ...holdOf(call), content, ...claim })).toEqual(refused);
      }
      const wrong: readonly [object, string][] = [
        [{ turn_epoch: 99 }, "stale_epoch"],
        [{ recursion_depth: 3 }, "protocol_violation"],
        [{ agent_id: "agent_other" }, "protocol_violation"],
        [{ message_type: "timeout" }, "forbidden"],
        [{ tool_result_card_id: "card_x" }, "protocol_violation"],
      ];
      for (const [claim, code] of wrong) {
        expect(await fx.kernel.report({ ...holdOf(call), content, ...claim })).toEqual({ outcome: "rejected", code });
      }
      expect(await fx.everything()).toBe(before);
    });

    it(`${test.title} does not hold up a step that ran in its agent's process`, async () => {
      const turn = await fx.suspend(await fx.started(), [{ local: true }]);
      const outcome = await fx.kernel.applyResults({
        project_id: PROJECT,
        agent_id: turn.agent_id,
        agent_turn_id: turn.agent_turn_id,
        turn_epoch: turn.turn_epoch,
        step_id: turn.step_id,
        results: [{ tool_call_id: turn.calls[0]?.tool_call_id ?? "", content: test.content as never }],
      });
      if (outcome.outcome !== "accepted") throw new Error(JSON.stringify(outcome));
      expect(outcome).toMatchObject({ after_execution: "suspend", results: [{ status: test.status ?? "failed" }] });
      const [result] = outcome.results ?? [];
      expect(await contentOf(String(result?.tool_result_card_id))).toMatchObject(expected(test));
    });
  }

  it("an attempt that has lapsed is stale, whatever it says", async () => {
    const turn = await fx.suspended([{ effect: "read" }]);
    const first = await fx.opened(turn, 0, { principal: "tool.echo" });
    await fx.clock.advance(16_000);
    await fx.kernel.sweep();
    const content = { status: "ok" } as never;
    const stale = { outcome: "rejected", code: "stale_attempt" };
    expect(await fx.kernel.report({ ...holdOf(first), content })).toEqual(stale);
    expect(await fx.kernel.putResultCard({ ...holdOf(first), content })).toEqual(stale);
  });

  it("an error that may be retried is retried only if it was also called a failure", async () => {
    const retryable = { ...given, retryable: true };
    const failed = await fx.opened(await fx.suspended([{ attempts_max: 3, effect: "idempotent" }]));
    const { code: _, ...uncoded } = retryable;
    const again = await fx.report(failed, { status: "failed", error: uncoded as never });
    expect(again).toMatchObject({ outcome: "accepted", retry_at: expect.any(String) });
    const succeeded = await fx.opened(await fx.suspended([{ attempts_max: 3, effect: "idempotent" }]));
    const once = await fx.report(succeeded, { status: "success", error: retryable as never });
    const content = await contentOf(cardOf(once));
    expect(content?.error).not.toHaveProperty("retryable");
  });

  it("a pointer that contradicts its card is a failed result that keeps the card's", async () => {
    const pointers: readonly [object, string, string][] = [
      [{ status: "failed" }, "unknown_error", "schema_invalid"],
      [{ status: "ok" }, "invalid_status", "schema_invalid"],
      [{ status: "partial" }, "invalid_status", "schema_invalid"],
      [{ status: "success", after_execution: "loop" }, "invalid_after_execution", "schema_invalid"],
      [{ status: "success", after_execution: "terminate" }, "invalid_after_execution", "after_execution_mismatch"],
    ];
    for (const [pointer, code, strict] of pointers) {
      const turn = await fx.suspended();
      const call = await fx.opened(turn, 0, { principal: "tool.echo" });
      const saved = await fx.kernel.putResultCard({ ...holdOf(call), content: { status: "success", result: 7 } });
      if (saved.outcome !== "accepted") throw new Error(saved.code);
      const { tool_result_card_id } = saved;
      const before = await fx.everything();
      const wrong = { ...holdOf(call), tool_result_card_id, ...pointer };
      expect(await fx.kernel.report({ ...wrong, recursion_depth: 3 })).toMatchObject({ code: "protocol_violation" });
      expect(await fx.kernel.report({ ...wrong, author_id: "tool.x" })).toMatchObject({ code: "protocol_violation" });
      expect(await fx.everything()).toBe(before);
      const outcome = await fx.kernel.report(wrong);
      expect(cardOf(outcome)).not.toBe(tool_result_card_id);
      expect(outcome).toMatchObject({ warning: { code: strict } });
      const content = await contentOf(cardOf(outcome));
      expect(content).toMatchObject({ status: "failed", result: 7, error: { code } });
      const box = await fx.kernel.reads.boxCards(PROJECT, turn.output_box_id);
      expect(box.filter((card) => card.type === "tool.result").map((card) => card.card_id)).toEqual([cardOf(outcome)]);
    }
  });

  it("a pointer without a status is its card, with a warning", async () => {
    const call = await opened();
    const saved = await fx.kernel.putResultCard({ ...holdOf(call), content: { status: "success", result: 7 } });
    if (saved.outcome !== "accepted") throw new Error(saved.code);
    const { tool_result_card_id } = saved;
    const outcome = await fx.kernel.report({ ...holdOf(call), tool_result_card_id });
    expect(outcome).toMatchObject({ tool_result_card_id, warning: { code: "schema_invalid" } });
    expect((await fx.kernel.reads.call(PROJECT, call.tool_call_id))?.result_status).toBe("success");
  });

  it("a content that is too large is still too large, and one that grew over the limit loses its result", async () => {
    const call = await opened();
    const large = { status: "ok", result: "x".repeat(1_048_577) } as never;
    const tooLarge = { outcome: "rejected", code: "payload_too_large" };
    expect(await fx.kernel.report({ ...holdOf(call), content: large })).toEqual(tooLarge);
    const nearly = { status: "ok", result: "x".repeat(1_048_500) } as never;
    const outcome = await fx.kernel.report({ ...holdOf(call), content: nearly });
    expect(await contentOf(cardOf(outcome))).toMatchObject({ result: null, error: { code: "invalid_status" } });
  });

  it("a mistake leaves its neighbours of the step alone, and wakes the agent when it is the last", async () => {
    const turn = await fx.suspended([{}, {}]);
    const [first, second] = [await fx.opened(turn, 0), await fx.opened(turn, 1)];
    expect(await fx.report(first, { status: "ok" } as never)).not.toHaveProperty("wake");
    expect(await fx.report(second, { status: "success", result: 2 })).toHaveProperty("wake");
    const cards = await fx.kernel.reads.boxCards(PROJECT, turn.output_box_id);
    expect(cards.slice(3).map((card) => card.content.status)).toEqual(["failed", "success"]);
  });
});
