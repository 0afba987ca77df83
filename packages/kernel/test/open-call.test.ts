// Claim before work (design D5): a call is given to one executor at a time, on proof that it may have it.

import { describe, expect, it } from "vitest";
import { PROJECT, useFixture } from "./fixture.ts";

const fx = useFixture();

describe("opening a call", () => {
  it("gives everything that is needed to run it, in one answer", async () => {
    await fx.kernel.putTool({
      project_id: PROJECT,
      tool_name: "echo__run",
      target_subject: "cg.v1r4.{project_id}.{channel_id}.cmd.tool.echo.run",
      after_execution: "suspend",
      parameters: { type: "object" },
    });
    const [tool] = await fx.kernel.reads.tools(PROJECT);
    const turn = await fx.suspended([
      { tool_digest: String(tool?.digest), arguments: { a: 1 }, metadata: { dispatch_requested_at: "now" } },
    ]);
    const opened = await fx.opened(turn);
    expect(opened).toMatchObject({
      attempt: 1,
      mode: "run",
      arguments: { a: 1 },
      call_metadata: { dispatch_requested_at: "now" },
      agent_id: turn.agent_id,
      agent_turn_id: turn.agent_turn_id,
      step_id: turn.step_id,
      effect: "once",
      after_execution: "suspend",
      definition: { tool_name: "echo__run", digest: tool?.digest },
      message: { content: { text: "thinking" }, tool_calls: [{ id: opened.tool_call_id, name: "echo__run" }] },
    });
    expect(opened.capability).toMatch(/^[0-9a-f]{64}$/);
    expect(Date.parse(opened.lease_expires_at) - fx.clock.databaseTime().getTime()).toBe(15_000);
  });

  it("a thousand times with one ticket claims it once", async () => {
    const turn = await fx.suspended();
    const call = turn.calls[0];
    const outcomes = await Promise.all(
      Array.from({ length: 1_000 }, (_, n) =>
        fx.kernel.openCall({
          project_id: PROJECT,
          tool_call_id: call?.tool_call_id ?? "",
          ticket: call?.ticket ?? "",
          executor: `executor-${n % 7}`,
        }),
      ),
    );
    expect(outcomes.filter((outcome) => outcome.outcome === "accepted")).toHaveLength(1);
    expect(new Set(outcomes.map((outcome) => (outcome.outcome === "rejected" ? outcome.code : "accepted")))).toEqual(
      new Set(["accepted", "already_claimed"]),
    );
  });

  it("again with the same claim id, after a lost answer, is the same claim with a new capability", async () => {
    const turn = await fx.suspended();
    const request = {
      project_id: PROJECT,
      tool_call_id: turn.calls[0]?.tool_call_id ?? "",
      ticket: turn.calls[0]?.ticket ?? "",
      executor: "e",
      claim_id: "claim_1",
    };
    const first = await fx.kernel.openCall(request);
    const again = await fx.kernel.openCall(request);
    if (first.outcome !== "accepted" || again.outcome !== "accepted") throw new Error("not opened");
    expect(again.attempt).toBe(1);
    expect(again.capability).not.toBe(first.capability);
    expect(await fx.report(first)).toEqual({ outcome: "rejected", code: "auth_failed" });
    expect((await fx.report(again)).outcome).toBe("accepted");
  });

  it("with a ticket that no text column can hold is refused for ever, and so is not tried again", async () => {
    const turn = await fx.suspended();
    const call = { project_id: PROJECT, tool_call_id: turn.calls[0]?.tool_call_id ?? "", executor: "e1" };
    const before = await fx.everything();
    for (const ticket of ["\u0000", "a\u0000b", "\ud800", "x\udc00"]) {
      expect(await fx.kernel.openCall({ ...call, ticket })).toEqual({ outcome: "rejected", code: "bad_request" });
    }
    expect(await fx.everything()).toBe(before);
  });

  it("without a ticket, with another call's ticket or with a forged one is refused as auth_failed", async () => {
    const turn = await fx.suspended([{}, {}]);
    const [mine, other] = turn.calls;
    const before = await fx.everything();
    for (const ticket of [undefined, "", "00".repeat(32), other?.ticket ?? ""]) {
      const outcome = await fx.kernel.openCall({
        project_id: PROJECT,
        tool_call_id: mine?.tool_call_id ?? "",
        executor: "e",
        ...(ticket === undefined ? {} : { ticket }),
      });
      expect(outcome).toEqual({ outcome: "rejected", code: "auth_failed" });
    }
    expect(await fx.everything()).toBe(before);
  });

  it("by a caller vouched for the target works for that target only", async () => {
    const turn = await fx.suspended();
    const request = { project_id: PROJECT, tool_call_id: turn.calls[0]?.tool_call_id ?? "", executor: "e" };
    expect(await fx.kernel.openCall({ ...request, target: "other" })).toEqual({
      outcome: "rejected",
      code: "auth_failed",
    });
    expect((await fx.kernel.openCall({ ...request, target: "echo" })).outcome).toBe("accepted");
  });

  it("that is unknown, of another project or with another card id is the same answer", async () => {
    const turn = await fx.suspended();
    const call = {
      tool_call_id: turn.calls[0]?.tool_call_id ?? "",
      ticket: turn.calls[0]?.ticket ?? "",
      executor: "e",
    };
    for (const request of [
      { ...call, project_id: PROJECT, tool_call_id: "tc_none" },
      { ...call, project_id: "p2", ticket: "forged" },
      { ...call, project_id: PROJECT, tool_call_card_id: "card_other" },
    ]) {
      expect(await fx.kernel.openCall(request)).toEqual({ outcome: "rejected", code: "card_not_found" });
    }
  });

  it("that is settled is refused as already_settled", async () => {
    const turn = await fx.suspended();
    await fx.report(await fx.opened(turn));
    await expect(fx.opened(turn)).rejects.toThrow("already_settled");
  });

  it("after its deadline is refused, though nobody has swept yet", async () => {
    const turn = await fx.suspended([{ timeout_ms: 1_000 }]);
    await fx.clock.advance(31_000);
    await expect(fx.opened(turn)).rejects.toThrow("tool_timeout");
  });
});

describe("a heartbeat", () => {
  it("extends the lease, so that a tool slower than any lease runs once", async () => {
    const turn = await fx.suspended([{ timeout_ms: 600_000 }]);
    const opened = await fx.opened(turn);
    const hold = { project_id: PROJECT, tool_call_id: opened.tool_call_id, capability: opened.capability };
    for (let beat = 0; beat < 30; beat += 1) {
      await fx.later(5_000);
      expect(await fx.kernel.renewCall(hold)).toMatchObject({ outcome: "accepted", cancel: false });
    }
    expect((await fx.kernel.reads.call(PROJECT, opened.tool_call_id))?.attempt).toBe(1);
    expect((await fx.report(opened)).outcome).toBe("accepted");
  });

  it("without the capability is refused and changes nothing", async () => {
    const opened = await fx.opened(await fx.suspended());
    const before = await fx.everything();
    const outcome = await fx.kernel.renewCall({
      project_id: PROJECT,
      tool_call_id: opened.tool_call_id,
      capability: "11".repeat(32),
    });
    expect(outcome).toMatchObject({ outcome: "rejected", code: "auth_failed" });
    expect(await fx.everything()).toBe(before);
  });
});
