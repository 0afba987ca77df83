// Reports that must be refused: each gets its documented code, changes no row but the audit log, and leaves the call
// to its rightful holder (docs/reference/security.md#r-reports). A report of the rightful holder whose content contradicts itself
// is settled as failed instead: normalised-reports.test.ts.

import { describe, expect, it } from "vitest";
import type { OpenedCall, ReportRequest } from "../src/index.ts";
import { PROJECT, useFixture } from "./fixture.ts";

const fx = useFixture();
const good = { status: "success", result: { ok: true } };

interface Case {
  readonly title: string;
  readonly code: string;
  readonly request: (call: OpenedCall) => Partial<ReportRequest>;
}

const cases: Case[] = [
  {
    title: "from a caller that knows only the correlation id",
    code: "auth_failed",
    request: () => ({ capability: "" }),
  },
  {
    title: "with a capability that is not hex",
    code: "auth_failed",
    request: () => ({ capability: "'; drop table state.calls; --" }),
  },
  {
    title: "with one bit of the capability flipped",
    code: "auth_failed",
    request: (call) => ({ capability: (call.capability[0] === "0" ? "1" : "0") + call.capability.slice(1) }),
  },
  { title: "from another principal", code: "auth_failed", request: () => ({ principal: "tool.other" }) },
  { title: "for a call of another project", code: "not_found", request: () => ({ project_id: "p2" }) },
  { title: "for a call that does not exist", code: "not_found", request: () => ({ tool_call_id: "tc_none" }) },
  {
    title: "that says another trace",
    code: "protocol_violation",
    request: () => ({ traceparent: `00-${"ab".repeat(16)}-${"cd".repeat(8)}-01` }),
  },
  { title: "with a malformed traceparent", code: "protocol_violation", request: () => ({ traceparent: "nonsense" }) },
  { title: "that names another author", code: "protocol_violation", request: () => ({ author_id: "sys.watchdog" }) },
  {
    title: "that names another function",
    code: "protocol_violation",
    request: () => ({ function_name: "other__run" }),
  },
  { title: "that names another agent", code: "protocol_violation", request: () => ({ agent_id: "agent_other" }) },
  { title: "that names another turn", code: "protocol_violation", request: () => ({ agent_turn_id: "turn_other" }) },
  { title: "with another recursion depth", code: "protocol_violation", request: () => ({ recursion_depth: 3 }) },
  { title: "that claims to be a timeout", code: "forbidden", request: () => ({ message_type: "timeout" }) },
  { title: "of an unknown message type", code: "protocol_violation", request: () => ({ message_type: "wakeup" }) },
  {
    title: "with neither content nor pointer",
    code: "protocol_violation",
    request: () => ({ content: undefined }) as never,
  },
  {
    title: "with both content and pointer",
    code: "protocol_violation",
    request: () => ({ tool_result_card_id: "card_x", status: "success" }),
  },
  {
    title: "with a NUL in a string",
    code: "schema_invalid",
    request: () => ({ content: { status: "success", result: "a\u0000b" } }),
  },
  {
    title: "with a lone surrogate",
    code: "schema_invalid",
    request: () => ({ content: { status: "success", result: "\ud800" } }),
  },
  {
    title: "with a number that is not finite",
    code: "schema_invalid",
    request: () => ({ content: { status: "success", result: Number.POSITIVE_INFINITY } }),
  },
  {
    title: "with a __proto__ key",
    code: "forbidden_key",
    request: () => ({ content: { status: "success", result: JSON.parse('{"__proto__":{"a":1}}') } }),
  },
  {
    title: "of more than a megabyte",
    code: "payload_too_large",
    request: () => ({ content: { status: "success", result: "x".repeat(1_048_577) } }),
  },
  {
    title: "nested a hundred deep",
    code: "too_deep",
    request: () => ({ content: { status: "success", result: nested(100) } }),
  },
  {
    title: "nested a hundred thousand deep",
    code: "too_deep",
    request: () => ({ content: { status: "success", result: nested(100_000) } }),
  },
];

function nested(depth: number): unknown {
  let value: unknown = 1;
  for (let n = 0; n < depth; n += 1) value = [value];
  return value;
}

describe("a report", () => {
  for (const { title, code, request } of cases) {
    it(`${title} is refused as ${code}, and nothing changes`, async () => {
      const opened = await fx.opened(await fx.suspended(), 0, { principal: "tool.echo" });
      const rightful = {
        project_id: PROJECT,
        tool_call_id: opened.tool_call_id,
        capability: opened.capability,
        principal: "tool.echo",
        content: good,
      };
      const before = await fx.everything();
      expect(await fx.kernel.report({ ...rightful, ...request(opened) })).toEqual({ outcome: "rejected", code });
      expect(await fx.everything()).toBe(before);
      expect((await fx.kernel.report(rightful)).outcome, "the rightful holder can still report").toBe("accepted");
    });
  }

  it("with another call's capability is refused as auth_failed and leaves one audit row", async () => {
    const turn = await fx.suspended([{}, {}]);
    const [first, second] = [await fx.opened(turn, 0), await fx.opened(turn, 1)];
    const before = await fx.everything();
    const outcome = await fx.kernel.report({
      project_id: PROJECT,
      tool_call_id: first.tool_call_id,
      capability: second.capability,
      content: good,
    });
    expect(outcome).toEqual({ outcome: "rejected", code: "auth_failed" });
    expect(await fx.everything()).toBe(before);
    const audit = await fx.query("select kind, code from state.audit_log where tool_call_id = $1", [
      first.tool_call_id,
    ]);
    expect(audit).toEqual([{ kind: "report", code: "auth_failed" }]);
  });

  it("before any claim is refused as auth_failed", async () => {
    const turn = await fx.suspended();
    const outcome = await fx.kernel.report({
      project_id: PROJECT,
      tool_call_id: turn.calls[0]?.tool_call_id ?? "",
      capability: "00".repeat(32),
      content: good,
    });
    expect(outcome).toEqual({ outcome: "rejected", code: "auth_failed" });
  });

  it("of a stopped turn finds its call settled, and the heartbeat says cancel", async () => {
    const turn = await fx.suspended();
    const opened = await fx.opened(turn);
    await fx.kernel.stopTurn({ project_id: PROJECT, agent_turn_id: turn.agent_turn_id });
    expect(await fx.report(opened)).toEqual({ outcome: "rejected", code: "already_settled" });
    expect(
      await fx.kernel.renewCall({
        project_id: PROJECT,
        tool_call_id: opened.tool_call_id,
        capability: opened.capability,
      }),
    ).toEqual({
      outcome: "rejected",
      code: "already_settled",
      cancel: true,
    });
  });

  it("does not carry its neighbours down when it is bad", async () => {
    const turn = await fx.suspended(Array.from({ length: 8 }, () => ({})));
    const opened = await Promise.all(turn.calls.map((_, n) => fx.opened(turn, n)));
    const outcomes = await Promise.all(
      opened.map((call, n) =>
        fx.kernel
          .report({
            project_id: PROJECT,
            tool_call_id: call.tool_call_id,
            capability: call.capability,
            content: { status: "success" },
            // A depth that is no integer of the database makes the whole statement fail, not just this item.
            ...(n === 3 ? { recursion_depth: 2 ** 40 } : {}),
          })
          .catch((error: { code: string }) => ({ outcome: "thrown", code: error.code })),
      ),
    );
    expect(outcomes.map((outcome) => outcome.outcome)).toEqual([
      ...Array(3).fill("accepted"),
      "thrown",
      ...Array(4).fill("accepted"),
    ]);
  });

  it("gets a new child span of the call's trace", async () => {
    const turn = await fx.suspended();
    const opened = await fx.opened(turn);
    await fx.report(opened);
    const call = await fx.kernel.reads.call(PROJECT, opened.tool_call_id);
    expect(call?.trace_id).toBe(opened.trace_id);
    expect(call?.report_span_id).toMatch(/^[0-9a-f]{16}$/);
    expect(call?.report_span_id).not.toBe(opened.span_id);
  });

  it("keeps a long error message within its limit", async () => {
    const opened = await fx.opened(await fx.suspended());
    const outcome = await fx.report(opened, { status: "failed", error: { code: "boom", message: "x".repeat(5_000) } });
    const [card] = await fx.kernel.reads.cards(PROJECT, [
      "tool_result_card_id" in outcome ? outcome.tool_result_card_id : "",
    ]);
    expect(String((card?.content.error as { message?: string } | undefined)?.message)).toHaveLength(1_000);
  });
});

describe("a result card saved before it is reported", () => {
  it("changes nothing but the card", async () => {
    const turn = await fx.suspended();
    const opened = await fx.opened(turn);
    const hold = { project_id: PROJECT, tool_call_id: opened.tool_call_id, capability: opened.capability };
    const saved = await fx.kernel.putResultCard({ ...hold, content: good });
    expect(saved.outcome).toBe("accepted");
    expect((await fx.kernel.reads.call(PROJECT, opened.tool_call_id))?.wait_status).toBe("waiting");
    expect(
      await fx.kernel.resume({ project_id: PROJECT, agent_id: turn.agent_id, worker_id: turn.worker_id }),
    ).toMatchObject({ why: "waiting" });
    const cards = await fx.kernel.reads.boxCards(PROJECT, turn.output_box_id);
    expect(cards.map((card) => card.type)).toEqual(["agent.thought", "tool.call"]);
  });

  it("is accepted again with the same content and refused with another", async () => {
    const opened = await fx.opened(await fx.suspended());
    const hold = { project_id: PROJECT, tool_call_id: opened.tool_call_id, capability: opened.capability };
    const first = await fx.kernel.putResultCard({ ...hold, content: good });
    expect(await fx.kernel.putResultCard({ ...hold, content: good })).toEqual(first);
    expect(await fx.kernel.putResultCard({ ...hold, content: { status: "success", result: 2 } })).toEqual({
      outcome: "rejected",
      code: "conflict",
    });
  });

  it("is settled by a report that points to it, and stands at its call's place", async () => {
    const turn = await fx.suspended([{}, {}]);
    const opened = await fx.opened(turn, 0);
    const hold = { project_id: PROJECT, tool_call_id: opened.tool_call_id, capability: opened.capability };
    const saved = await fx.kernel.putResultCard({ ...hold, content: good, card_id: fx.ids.mint("card") });
    if (saved.outcome !== "accepted") throw new Error(saved.code);
    const pointer = {
      ...hold,
      tool_result_card_id: saved.tool_result_card_id,
      status: "success",
      after_execution: "suspend",
    };
    expect(await fx.kernel.report(pointer)).toMatchObject({
      outcome: "accepted",
      tool_result_card_id: saved.tool_result_card_id,
    });
    expect((await fx.kernel.report(pointer)).outcome).toBe("duplicate");
    await fx.report(await fx.opened(turn, 1), { status: "success", result: 2 });
    const cards = await fx.kernel.reads.boxCards(PROJECT, turn.output_box_id);
    expect(cards.slice(3).map((card) => card.content.result)).toEqual([{ ok: true }, 2]);
  });

  it("cannot have the id of another call's, though both say the same", async () => {
    const turn = await fx.suspended([{}, {}]);
    const [first, second] = [await fx.opened(turn, 0), await fx.opened(turn, 1)];
    const holdOf = ({ tool_call_id, capability }: typeof first) => ({ project_id: PROJECT, tool_call_id, capability });
    const content = { status: "success", result: 1 } as const;
    const card_id = fx.ids.mint("card");
    expect(await fx.kernel.putResultCard({ ...holdOf(first), content, card_id })).toMatchObject({
      outcome: "accepted",
    });
    expect(await fx.kernel.putResultCard({ ...holdOf(second), content, card_id })).toEqual({
      outcome: "rejected",
      code: "conflict",
    });
  });

  it("of another call cannot be pointed to", async () => {
    const turn = await fx.suspended([{}, {}]);
    const [mine, other] = [await fx.opened(turn, 0), await fx.opened(turn, 1)];
    const saved = await fx.kernel.putResultCard({
      project_id: PROJECT,
      tool_call_id: other.tool_call_id,
      capability: other.capability,
      content: good,
    });
    if (saved.outcome !== "accepted") throw new Error(saved.code);
    const hold = { project_id: PROJECT, tool_call_id: mine.tool_call_id, capability: mine.capability };
    for (const card of [saved.tool_result_card_id, mine.tool_call_card_id, "card_none"]) {
      expect(
        await fx.kernel.report({ ...hold, tool_result_card_id: card, status: "success", after_execution: "suspend" }),
      ).toEqual({
        outcome: "rejected",
        code: "protocol_violation",
      });
    }
  });
});
