// Claim before work (docs/design.md#claim-before-work): a call is given to one executor at a time, on proof that it may have it.

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

  it("again with the same claim id under another principal is refused, and the first keeps the call", async () => {
    const turn = await fx.suspended();
    const claim = { project_id: PROJECT, executor: "e", claim_id: "claim_1" };
    const call = { ...claim, tool_call_id: turn.calls[0]?.tool_call_id ?? "", ticket: turn.calls[0]?.ticket ?? "" };
    const first = await fx.kernel.openCall({ ...call, principal: "login_1" });
    if (first.outcome !== "accepted") throw new Error("not opened");
    const refused = { outcome: "rejected", code: "already_claimed" };
    expect(await fx.kernel.openCall({ ...call, principal: "login_2" })).toEqual(refused);
    expect(await fx.kernel.openCall(call), "nor under none").toEqual(refused);
    const asked = { ...claim, target: "echo", max: 9, lease_ms: 15_000 };
    const taken = async (principal: string) =>
      (await fx.kernel.claimCalls({ ...asked, principal })).map(({ tool_call_id }) => tool_call_id);
    expect(await taken("login_2")).not.toContain(call.tool_call_id);
    const report = { ...call, capability: first.capability, content: { status: "success", result: 1 } };
    expect(await fx.kernel.report({ ...report, principal: "login_1" })).toMatchObject({ outcome: "accepted" });
  });

  it("for less than a ring's time has it looked at when the lease ends, whichever way it was opened", async () => {
    for (const by of ["ticket", "target"] as const) {
      const turn = await fx.suspended([{ effect: "read", attempts_max: 3, timeout_ms: 600_000 }]);
      const { tool_call_id = "", ticket } = turn.calls[0] ?? {};
      const call = { project_id: PROJECT, tool_call_id, executor: "e", lease_ms: 1_000 };
      const shown = by === "ticket" ? { ticket: ticket ?? "" } : { target: "echo" };
      expect(await fx.kernel.openCall({ ...call, ...shown })).toMatchObject({ outcome: "accepted" });
      await fx.later(999);
      expect((await fx.kernel.reads.call(PROJECT, tool_call_id))?.claimed_by, by).toBe("e");
      await fx.later(1);
      expect((await fx.kernel.reads.call(PROJECT, tool_call_id))?.claimed_by, by).toBeNull();
    }
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

  it("after its deadline is refused, though no sweep has run yet", async () => {
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

  it("never shortens the lease, and never prolongs it beyond ten minutes from now", async () => {
    const opened = await fx.opened(await fx.suspended([{ timeout_ms: 3_600_000 }]), 0, { lease_ms: 99_000_000 });
    const { tool_call_id, capability } = opened;
    const leaseOf = async () => {
      const [row] = await fx.query<{ until: number }>(
        "select extract(epoch from lease_until)::double precision as until from state.calls where tool_call_id = $1",
        [tool_call_id],
      );
      return (row?.until ?? 0) * 1_000 - fx.clock.databaseTime().getTime();
    };
    expect(await leaseOf(), "as it was opened").toBe(600_000);
    const renew = (lease_ms: number) =>
      fx.kernel.renewCall({ project_id: PROJECT, tool_call_id, capability, lease_ms });
    expect(await renew(1_000)).toMatchObject({ outcome: "accepted" });
    expect(await leaseOf()).toBe(600_000);
    await fx.clock.advance(1_000);
    expect(await renew(99_000_000)).toMatchObject({ outcome: "accepted" });
    expect(await leaseOf()).toBe(600_000);
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
