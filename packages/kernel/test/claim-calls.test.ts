// An executor without a bus asks for work and is given the oldest calls of its target, each to one asker.

import { describe, expect, it } from "vitest";
import { PROJECT, useFixture } from "./fixture.ts";

const fx = useFixture();
// The store is shared by the tests of this file, so each has a target of its own.
const sentTo = (target: string) => ({ target_subject: `cg.v1r4.p1.public.cmd.tool.${target}.run` });
const ask = (target: string, options: { executor?: string; project_id?: string; max?: number } = {}) =>
  fx.kernel.claimCalls({ project_id: PROJECT, target, executor: "edge-1", principal: "key_1", ...options });

describe("asking for calls", () => {
  it("gives what opening with a ticket gives, and the call can be reported", async () => {
    const turn = await fx.suspended([{ ...sentTo("report"), arguments: { a: 1 } }]);
    const [call] = await ask("report");
    expect(call).toMatchObject({
      tool_call_id: turn.calls[0]?.tool_call_id,
      arguments: { a: 1 },
      attempt: 1,
      mode: "run",
    });
    if (call === undefined) throw new Error("nothing was claimed");
    const report = { project_id: PROJECT, tool_call_id: call.tool_call_id, capability: call.capability };
    const content = { status: "success", result: { ok: true } };
    expect(await fx.kernel.report({ ...report, principal: "key_2", content })).toEqual({
      outcome: "rejected",
      code: "auth_failed",
    });
    expect(await fx.kernel.report({ ...report, principal: "key_1", content })).toMatchObject({ outcome: "accepted" });
    await fx.expectSafe();
  });

  it("gives nothing of another target, of another project, or that is claimed", async () => {
    await fx.suspended([sentTo("mine")]);
    expect(await ask("other")).toEqual([]);
    expect(await ask("mine", { project_id: "p2" })).toEqual([]);
    expect(await ask("mine")).toHaveLength(1);
    expect(await ask("mine", { executor: "edge-2" })).toEqual([]);
  });

  it("gives the oldest, past what is over, held under the same claim, or of another project", async () => {
    const one = async (timeout_ms: number, project_id = PROJECT) => {
      const target_subject = sentTo("oldest").target_subject.replace(PROJECT, project_id);
      const turn = await fx.suspend(await fx.started({ project_id }), [{ target_subject, timeout_ms }]);
      return turn.calls[0]?.tool_call_id;
    };
    await fx.kernel.putProject({ project_id: "p2" });
    await one(600_000, "p2");
    await one(1_000);
    await fx.clock.advance(31_001); // with the margin of a deadline; no sweep has run
    const asked = { project_id: PROJECT, target: "oldest", principal: "key_1", claim_id: "claim_1", max: 1 };
    const taken = async (executor: string) =>
      (await fx.kernel.claimCalls({ ...asked, executor })).map(({ tool_call_id }) => tool_call_id);
    const [first, second, third] = [await one(600_000), await one(600_000), await one(600_000)];
    await fx.query("update state.calls set due_at = due_at - interval '1 second' where tool_call_id = $1", [second]);
    await fx.query("update state.calls set due_at = due_at + interval '1 second' where tool_call_id = $1", [third]);
    expect(await taken("edge-1")).toEqual([second]);
    expect(await taken("edge-2"), "its claim has the name of another's").toEqual([first]);
    expect(await taken("edge-3")).toEqual([third]);
  });

  it("gives each of many calls to one of many askers", async () => {
    const turns = await Promise.all(Array.from({ length: 12 }, () => fx.suspended([sentTo("many")])));
    const claims = await Promise.all(
      Array.from({ length: 8 }, (_, n) => ask("many", { executor: `edge-${n}`, max: 5 })),
    );
    const given = claims.flat().map((call) => call.tool_call_id);
    expect(new Set(given).size).toBe(given.length);
    const rest = (await ask("many", { max: 32 })).map((call) => call.tool_call_id);
    expect([...given, ...rest].toSorted()).toEqual(turns.map((turn) => turn.calls[0]?.tool_call_id).toSorted());
  });

  it("leaves a call that waits out its back-off alone until it is rung", async () => {
    await fx.suspended([
      { ...sentTo("backoff"), effect: "read", attempts_max: 3, backoff_ms: 60_000, timeout_ms: 600_000 },
    ]);
    const [call] = await ask("backoff");
    if (call === undefined) throw new Error("nothing was claimed");
    const error = { code: "upstream_unavailable", message: "busy", retryable: true };
    const hold = {
      project_id: PROJECT,
      tool_call_id: call.tool_call_id,
      capability: call.capability,
      principal: "key_1",
    };
    expect(await fx.kernel.report({ ...hold, content: { status: "failed", error } })).toHaveProperty("retry_at");
    expect(await ask("backoff")).toEqual([]);
    await fx.clock.advance(61_000);
    await fx.kernel.sweep();
    expect(await ask("backoff")).toMatchObject([{ tool_call_id: call.tool_call_id, attempt: 2 }]);
  });

  it("never gives a local call", async () => {
    await fx.suspended([{ ...sentTo("local"), local: true }, sentTo("local")]);
    expect(await ask("local", { max: 10 })).toHaveLength(1);
  });
});

describe("a command of another project", () => {
  it("is distinguished from an unknown card only when it shows the call's ticket", async () => {
    await fx.kernel.putProject({ project_id: "p2" });
    const turn = await fx.suspended();
    const call = turn.calls[0];
    const request = { project_id: "p2", tool_call_id: call?.tool_call_id ?? "", executor: "e" };
    expect(await fx.kernel.openCall({ ...request, ticket: call?.ticket ?? "" })).toEqual({
      outcome: "rejected",
      code: "tenant_mismatch",
    });
    expect(await fx.kernel.openCall({ ...request, ticket: "0".repeat(64) })).toEqual({
      outcome: "rejected",
      code: "card_not_found",
    });
    expect(await fx.kernel.openCall({ ...request, target: "echo" })).toEqual({
      outcome: "rejected",
      code: "card_not_found",
    });
  });
});

describe("a command for a v1r3 peer", () => {
  it("carries the identity in its payload as well", async () => {
    const turn = await fx.suspended([{ target_subject: "cg.v1r3.p1.public.cmd.tool.old.run" }]);
    await fx.kernel.announcer.settled();
    const message = fx.published.find((sent) => sent.subject === "cg.v1r3.p1.public.cmd.tool.old.run");
    expect(message?.headers["CG-Version"]).toBe("v1r3");
    expect(JSON.parse(new TextDecoder().decode(message?.data))).toMatchObject({
      tool_call_id: turn.calls[0]?.tool_call_id,
      agent_turn_id: turn.agent_turn_id,
      turn_epoch: turn.turn_epoch,
      agent_id: turn.agent_id,
      step_id: turn.step_id,
      tool_name: "echo__run",
      after_execution: "suspend",
    });
  });
});

describe("removing a tool", () => {
  it("is refused while a call of it waits, and works once it is settled", async () => {
    const tool = { project_id: PROJECT, tool_name: "doomed__run" };
    await fx.kernel.putTool({
      ...tool,
      target_subject: "cg.v1r4.{project_id}.{channel_id}.cmd.tool.echo.run",
      after_execution: "suspend",
    });
    const turn = await fx.suspended([{ tool_name: "doomed__run" }]);
    expect(await fx.kernel.removeTool(tool)).toMatchObject({ outcome: "rejected", code: "conflict" });
    await fx.report(await fx.opened(turn));
    expect(await fx.kernel.removeTool(tool)).toMatchObject({ outcome: "accepted" });
  });
});
