// UI actions on a store in memory and a memory bus: what is taken, what is refused, and that each is one turn.

import { HEADERS } from "@tessera/protocol";
import { waitFor } from "@tessera/testkit";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { AgentFixture } from "../../test/agent-fixture.ts";
import { createUiActions } from "./ui-request.ts";
import { startUiWorker, type UiWorker, type UiWorkerOptions } from "./ui-worker.ts";

let fx: AgentFixture;
let agent: string;
const workers: UiWorker[] = [];
let serial = 0;

beforeEach(async () => {
  fx = await AgentFixture.open();
  agent = await fx.agent({ worker_target: "ui_worker" });
  await allow("form__save", "inline");
  await fx.tool({ name: "form__secret", effect: "read", handler: () => ({}) } as never);
});
afterEach(async () => {
  await Promise.all(workers.splice(0).map((worker) => worker.stop({ graceMs: 0 })));
  await fx.close();
});

type Handler = (ctx: { signal: AbortSignal }, input: { text: string }) => unknown;

const PARAMETERS = {
  type: "object",
  properties: { text: { type: "string" } },
  required: ["text"],
  additionalProperties: false,
};

/** A tool that a user interface may call. */
async function allow(
  name: string,
  placement: "inline" | "service",
  handler: Handler = (_ctx, { text }) => ({ saved: text }),
  allowed: unknown = true,
): Promise<void> {
  await fx.tool({ name, parameters: PARAMETERS, placement, effect: "read", handler } as never);
  const { definition } = fx.tools.get(name) as { definition: { options: object } };
  const options = { ...definition.options, ui_allowed: allowed };
  await fx.kernel.putTool({ project_id: fx.project, ...definition, options } as never);
}

async function worker(options: Partial<UiWorkerOptions> = {}): Promise<UiWorker> {
  const { bus, kernel, clock, ids, runner } = fx;
  const onWarning = (warning: string) => void fx.warnings.push(warning);
  const isHosted = (name: string) => fx.tools.has(name);
  const started = await startUiWorker({ bus, kernel, clock, ids, runner, isHosted, onWarning, ...options });
  workers.push(started);
  return started;
}

interface Sent {
  readonly action_id: string;
  readonly turn: string;
}

async function send(payload: object = {}, headers: Readonly<Record<string, string | null>> = {}): Promise<Sent> {
  serial += 1;
  const body = { action_id: `action_${serial}`, tool_name: "form__save", args: { text: "hi" }, ...payload };
  const all = { [HEADERS.agent_id]: agent, [HEADERS.agent_turn_id]: `turn_ui_${serial}`, ...headers };
  const kept = Object.entries(all).filter((entry): entry is [string, string] => entry[1] !== null);
  await fx.bus.publish([
    {
      subject: `cg.v1r4.${fx.project}.public.cmd.sys.ui.action`,
      headers: Object.fromEntries(kept),
      data: new TextEncoder().encode(JSON.stringify(body)),
    },
  ]);
  return { action_id: body.action_id, turn: String(all[HEADERS.agent_turn_id]) };
}

type Ack = Readonly<Record<string, unknown>> & { readonly status: string };

function acks(): Ack[] {
  return fx.published
    .filter(({ subject }) => subject === `cg.v1r4.${fx.project}.public.evt.sys.ui.action_ack`)
    .map(({ data }) => JSON.parse(new TextDecoder().decode(data)) as Ack);
}

async function acksUntil(count: number): Promise<Ack[]> {
  return await waitFor(async () => (acks().length >= count ? acks() : null), {
    what: `${count} acks; there are ${JSON.stringify(acks())}; warnings: ${fx.warnings}`,
  });
}

describe("an action", () => {
  it("is accepted, runs as a turn of its own with the action's id as its call's, and is done", async () => {
    await worker();
    const { action_id, turn } = await send({ message_id: "m1", metadata: { form: 1 } });
    const all = await acksUntil(2);
    expect(all).toEqual([
      { action_id, agent_id: agent, message_id: "m1", status: "accepted" },
      {
        action_id,
        agent_id: agent,
        message_id: "m1",
        status: "done",
        result_status: "success",
        tool_result_card_id: expect.stringMatching(/^card_/),
      },
    ]);
    const call = await fx.kernel.reads.call(fx.project, action_id);
    expect(call).toMatchObject({ agent_turn_id: turn, tool_name: "form__save", recursion_depth: 0 });
    expect(await fx.kernel.reads.turn(fx.project, turn)).toMatchObject({ status: "success" });
    const [result] = await fx.kernel.reads.cards(fx.project, [String(all[1]?.tool_result_card_id)]);
    expect(result?.content).toMatchObject({ status: "success", result: { saved: "hi" } });
    await fx.expectSafe();
  });

  it("whose tool failed is done, and says how the tool ended in a field of its own", async () => {
    await allow("form__fail", "inline", () => {
      throw new Error("no disk");
    });
    await worker();
    await send({ tool_name: "form__fail" });
    const [, last] = await acksUntil(2);
    expect(last).toMatchObject({ status: "done", result_status: "failed", error: expect.stringContaining("no disk") });
  });

  it("of an agent with an extension is refused, since no layer would guard its tools here", async () => {
    let runs = 0;
    await allow("form__count", "inline", () => {
      runs += 1;
      return {};
    });
    const guard = { name: "guard", entry: null, config: {} };
    agent = await fx.agent({ worker_target: "ui_worker", extensions: [guard] as never });
    await worker();
    const { turn } = await send({ tool_name: "form__count" });
    const [, last] = await acksUntil(2);
    expect(last).toMatchObject({ status: "rejected", error_code: "E_EXT_LOAD" });
    expect(await fx.kernel.reads.turn(fx.project, turn)).toMatchObject({ status: "failed", error_code: "E_EXT_LOAD" });
    expect(runs).toBe(0);

    agent = await fx.agent({ worker_target: "ui_worker", extensions: [{ ...guard, on_error: "skip" }] as never });
    await send({ tool_name: "form__count" });
    expect((await acksUntil(4)).at(-1)).toMatchObject({ status: "done" });
    expect(runs).toBe(1);
  });

  it("whose tool runs elsewhere waits for the report, with a deadline", async () => {
    await allow("web__find", "service");
    await worker();
    const { action_id } = await send({ tool_name: "web__find" });
    await report(action_id);
    const [, last] = await acksUntil(2);
    expect(last).toMatchObject({ status: "done", result_status: "success" });
    expect((await fx.kernel.reads.call(fx.project, action_id))?.deadline_at).toBeTruthy();
    await fx.expectSafe();
  });
});

describe("a refusal changes nothing and says why", () => {
  const turnHeader = HEADERS.agent_turn_id;
  it.each<[string, object, Record<string, string | null>, string]>([
    ["no action id", { action_id: undefined }, {}, "missing_required_fields"],
    ["an action id that is none", { action_id: "a b" }, {}, "missing_required_fields"],
    ["no tool name", { tool_name: "" }, {}, "missing_required_fields"],
    ["no args", { args: undefined }, {}, "missing_required_fields"],
    ["args that are a list", { args: [] }, {}, "invalid_args"],
    ["args that the tool does not take", { args: { other: 1 } }, {}, "invalid_args"],
    ["metadata that is text", { metadata: "x" }, {}, "invalid_metadata"],
    ["no agent", {}, { [HEADERS.agent_id]: null }, "missing_required_fields"],
    ["no turn id", {}, { [turnHeader]: null }, "missing_agent_turn_id"],
    ["the agent in the payload", { agent_id: "agent_x" }, {}, "protocol_violation"],
    ["an agent that is not there", {}, { [HEADERS.agent_id]: "missing" }, "agent_not_found"],
    ["a tool that is not there", { tool_name: "form__gone" }, {}, "tool_definition_missing"],
    ["a tool that does not allow it", { tool_name: "form__secret" }, {}, "ui_not_allowed"],
  ])("%s", async (_, payload, headers, error_code) => {
    await worker();
    await send(payload, headers);
    const [ack] = await acksUntil(1);
    expect(ack).toMatchObject({ status: "rejected", error_code, error: expect.any(String) });
    expect(await fx.kernel.reads.turn(fx.project, `turn_ui_${serial}`)).toBeNull();
    expect(fx.warnings).toEqual([]);
  });

  it("an agent of another worker, and a tool whose permission is not exactly true", async () => {
    const other = await fx.agent();
    await allow("form__text", "inline", undefined, "true");
    await worker();
    await send({}, { [HEADERS.agent_id]: other });
    await send({ tool_name: "form__text" });
    expect((await acksUntil(2)).map((ack) => ack.error_code).toSorted()).toEqual([
      "invalid_worker_target",
      "ui_not_allowed",
    ]);
  });

  it("a turn id that belongs to another action", async () => {
    await worker();
    const { turn } = await send();
    await acksUntil(2);
    await send({}, { [HEADERS.agent_turn_id]: turn });
    expect((await acksUntil(3))[2]).toMatchObject({ status: "rejected", error_code: "stale_turn" });
  });

  it("a permission that was taken away before the call was made, in the turn", async () => {
    await worker();
    const outcome = await fx.kernel.enqueueTurn({
      project_id: fx.project,
      agent_id: agent,
      message_type: "ui_action",
      runtime_config: { ui_action: { action_id: "sneaky", tool_name: "form__secret", args: {} } },
    });
    const [ack] = await acksUntil(1);
    expect(ack).toMatchObject({ action_id: "sneaky", status: "rejected", error_code: "ui_not_allowed" });
    expect(outcome.outcome).toBe("accepted");
  });

  it("an action id that another call has, in the turn", async () => {
    await worker();
    const { action_id } = await send({ message_id: "first" });
    await acksUntil(2);
    await send({ action_id, message_id: "second" });
    const [, , , last] = await acksUntil(4);
    expect(last).toMatchObject({ status: "rejected", error_code: "dispatch_failed", message_id: "second" });
    await fx.expectSafe();
  });

  it("an action id that a call of another project has is no refusal: the call gets an id of its own", async () => {
    const project_id = fx.ids.mint("p");
    const [agent_id, box_id, worker_id] = [fx.ids.mint("agent"), fx.ids.mint("box"), fx.ids.mint("worker")];
    await fx.kernel.putProject({ project_id });
    await fx.kernel.putBox({ project_id, box_id });
    await fx.kernel.putAgent({ project_id, agent_id, worker_target: "other", profile_box_id: box_id });
    await fx.kernel.renewWorker({ worker_id, worker_target: "other" });
    await fx.kernel.enqueueTurn({ project_id, agent_id });
    const turn = await fx.kernel.resume({ project_id, agent_id, worker_id });
    if (turn.outcome !== "accepted") throw new Error(turn.outcome);
    const target_subject = `cg.v1r4.${project_id}.public.cmd.tool.x.y`;
    const call = { tool_call_id: "save-1", tool_name: "x__y", arguments: {}, target_subject, author_id: "tool.x" };
    await fx.kernel.suspendOnCalls({
      ...turn,
      step_id: "step_other",
      thought: { content: { text: "" } },
      calls: [call],
    });
    await worker();
    await send({ action_id: "save-1" });
    const [, last] = await acksUntil(2);
    expect(last).toMatchObject({ action_id: "save-1", status: "done", result_status: "success" });
  });

  it("a plain turn of a UI agent ends as failed", async () => {
    await worker();
    const ended = await fx.ended(await fx.enqueue(agent, "talk to me"));
    expect(ended).toMatchObject({ status: "failed", error_code: "bad_request" });
  });
});

describe("the same action again", () => {
  it("is answered with its end, and runs nothing twice", async () => {
    const runs: string[] = [];
    await allow("form__count", "inline", (_ctx, { text }) => ({ runs: runs.push(text) }));
    await worker();
    const { action_id, turn } = await send({ tool_name: "form__count", message_id: "m1" });
    await acksUntil(2);
    const again = { action_id, tool_name: "form__count", message_id: "m1" };
    await send(again, { [HEADERS.agent_turn_id]: turn });
    await send(again); // another turn id: the message is the same
    const all = await acksUntil(4);
    expect(all.slice(2)).toEqual([all[1], all[1]]);
    expect(runs).toEqual(["hi"]);
  });

  it("while it is worked on is not busy: the answer says so", async () => {
    await allow("web__find", "service");
    await worker();
    const { action_id, turn } = await send({ tool_name: "web__find" });
    await acksUntil(1);
    await send({ action_id, tool_name: "web__find" }, { [HEADERS.agent_turn_id]: turn });
    expect((await acksUntil(2))[1]).toMatchObject({ status: "accepted", error_code: "idempotency_inflight" });
  });

  it("that was busy is taken once the agent is idle: busy is not remembered", async () => {
    await allow("web__find", "service");
    await worker();
    const { action_id } = await send({ tool_name: "web__find" });
    await acksUntil(1);
    const second = await send({ message_id: "late" });
    expect((await acksUntil(2))[1]).toMatchObject({ status: "busy", error_code: "agent_busy", message_id: "late" });
    await report(action_id);
    await acksUntil(3);
    await send({ action_id: second.action_id, message_id: "late" }, { [HEADERS.agent_turn_id]: second.turn });
    expect((await acksUntil(5)).slice(3).map((ack) => ack.status)).toEqual(["accepted", "done"]);
  });
});

describe("a worker that dies", () => {
  it("in the middle of a local run is followed by another, which runs the tool again and acknowledges", async () => {
    const started = Promise.withResolvers<void>();
    let runs = 0;
    await allow("form__slow", "inline", async ({ signal }, { text }) => {
      runs += 1;
      if (runs > 1) return { saved: text };
      started.resolve();
      await new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
      return null;
    });
    const first = await worker();
    await send({ tool_name: "form__slow" });
    await started.promise;
    await first.stop({ graceMs: 0 });
    expect(acks().map((ack) => ack.status)).toEqual(["accepted"]);
    await worker();
    expect((await acksUntil(2))[1]).toMatchObject({ status: "done", result_status: "success" });
    expect(runs).toBe(2);
    await fx.expectSafe();
  });

  it("while the tool runs elsewhere is followed by another, which hears the result", async () => {
    await allow("web__find", "service");
    const first = await worker();
    const { action_id } = await send({ tool_name: "web__find" });
    await commandOf(action_id);
    await first.stop({ graceMs: 0 });
    await report(action_id);
    await worker();
    expect((await acksUntil(2))[1]).toMatchObject({ action_id, status: "done" });
    await fx.expectSafe();
  });

  it("between the turn's commit and its first acknowledgement loses only that: asking again gives the end", async () => {
    const lost = await worker({
      bus: { ...fx.bus, publish: async () => Promise.reject(new Error("cut off")), subscribe: fx.bus.subscribe },
    });
    const { action_id, turn } = await send();
    await waitFor(async () => (await fx.kernel.reads.turn(fx.project, turn))?.ended_at ?? null, { what: "the end" });
    await lost.stop({ graceMs: 0 });
    const isDone = (ack: Ack) => ack.status === "done";
    const before = acks().filter(isDone).length; // what the turn's end announced
    await worker();
    await send({ action_id }, { [HEADERS.agent_turn_id]: turn });
    const end = await waitFor(async () => acks().filter(isDone)[before] ?? null, { what: "the last ack" });
    expect(end).toEqual(acks().find(isDone));
    expect(fx.warnings).toContainEqual(expect.stringContaining("cut off"));
  });
});

it("an action whose turn is stopped is acknowledged once, as rejected, and again to each that asks", async () => {
  await allow("web__find", "service");
  await worker();
  const { action_id, turn } = await send({ tool_name: "web__find", message_id: "m1" });
  await commandOf(action_id);
  await fx.kernel.stopTurn({ project_id: fx.project, agent_turn_id: turn, reason: "enough" });
  const all = await acksUntil(2);
  expect(all[1]).toMatchObject({
    action_id,
    message_id: "m1",
    status: "rejected",
    error_code: "missing_tool_result_card",
    result_status: "canceled",
  });
  await send({ action_id, tool_name: "web__find", message_id: "m1" }, { [HEADERS.agent_turn_id]: turn });
  expect((await acksUntil(3))[2]).toEqual(all[1]);
});

async function commandOf(callId: string) {
  return await waitFor(
    async () =>
      fx.published.find(({ headers }) => headers[HEADERS.call_ticket] && headers[HEADERS.tool_call_id] === callId) ??
      null,
    {
      what: `the command of ${callId}`,
    },
  );
}

/** What a tool service does with the command. */
async function report(callId: string): Promise<void> {
  const { headers } = await commandOf(callId);
  const opened = await fx.kernel.openCall({
    project_id: fx.project,
    tool_call_id: callId,
    ticket: headers[HEADERS.call_ticket] as string,
    executor: "test",
  });
  if (opened.outcome === "rejected") throw new Error(opened.code);
  const content = { status: "success", after_execution: "suspend", result: { found: 1 }, error: null } as const;
  await fx.kernel.report({ project_id: fx.project, tool_call_id: callId, capability: opened.capability, content });
}

describe("an action that a program asks for", () => {
  const actions = () => createUiActions({ kernel: fx.kernel, ids: fx.ids });
  const order = (more: object = {}) => ({
    project_id: fx.project,
    channel_id: "public",
    agent_id: agent,
    tool_name: "form__save",
    args: { text: "hi" },
    ...more,
  });

  it("is one action with one key, also for another process, and ends with the acknowledgement of the bus", async () => {
    await worker();
    const first = await actions().request(order({ idempotency_key: "k" }));
    const again = await actions().request(order({ idempotency_key: "k" }));
    expect([first.isNew, again]).toEqual([true, { ...first, isNew: false }]);
    const [done] = await acksUntil(1);
    const turn = (await fx.kernel.reads.turn(fx.project, first.agent_turn_id)) as never;
    const { status, result_status, tool_result_card_id } = done as Ack;
    expect(await actions().ackOf(turn)).toEqual({ status, result_status, tool_result_card_id });
    expect(status).toBe("done");
    await expect(
      actions().request(order({ idempotency_key: "k", tool_name: "form__save", message_id: "other" })),
    ).rejects.toMatchObject({ code: "conflict" });
    await fx.expectSafe();
  });

  it("is the same from the bus and from a program when both name its message", async () => {
    await worker();
    const { turn } = await send({ message_id: "m9" });
    await acksUntil(2);
    const again = await actions().request(order({ message_id: "m9" }));
    expect(again).toEqual({ agent_turn_id: turn, isNew: false });
  });

  it("is refused with the codes of the acknowledgements", async () => {
    const refused = (more: object) => expect(actions().request(order(more))).rejects;
    await refused({ tool_name: "form__secret" }).toMatchObject({ code: "ui_not_allowed" });
    await refused({ agent_id: "missing" }).toMatchObject({ code: "agent_not_found" });
    await refused({ args: {} }).toMatchObject({ code: "invalid_args" });
    await actions().request(order()); // no worker runs, so it stays
    await refused({}).toMatchObject({ code: "agent_busy" });
  });
});
