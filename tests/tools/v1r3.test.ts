// A tool service of the older protocol (docs/protocol/headers.md#v1r3-and-v1r4), written with nothing of Tessera's: a plain NATS
// client that reads identity from the payload, and HTTP. What it reports repeats the ids of its call, and each must be the
// call's.

import { createHash } from "node:crypto";
import { connect, type Msg, type NatsConnection } from "@nats-io/transport-node";
import { awaitToolCall, storeTools } from "@tessera/runtime";
import { waitFor } from "@tessera/testkit";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { type HostedProject, ToolWorld } from "./tool-world.ts";

const IDS = ["tool_call_id", "agent_turn_id", "turn_epoch", "agent_id", "step_id"] as const;
type Ids = Record<(typeof IDS)[number], string | number>;

let world: ToolWorld;
let hosted: HostedProject;
let nats: NatsConnection;
let target: string;
let key: string;
let url: string;
const heard: Msg[] = [];

beforeAll(async () => {
  world = await ToolWorld.open("postgres");
  hosted = await world.host();
  target = `old_${createHash("sha256").update(hosted.project).digest("hex").slice(0, 8)}`;
  await storeTools(world.node, hosted.project, [
    {
      tool_name: "old__run",
      description: "speaks v1r3",
      parameters: { type: "object", properties: { text: { type: "string" } } },
      target_subject: `cg.v1r3.{project_id}.{channel_id}.cmd.tool.${target}.run`,
      after_execution: "suspend",
      options: { effect: "read", placement: "service" },
    },
  ]);
  key = await world.executorKey(hosted.project, target);
  ({ url } = await world.api());
  nats = await connect({ servers: inject("natsUrl") });
  nats.subscribe(`cg.v1r3.${hosted.project}.*.cmd.tool.${target}.>`, {
    callback: (_, message) => void heard.push(message),
  });
  await nats.flush();
});
afterAll(async () => {
  await nats.close();
  await world.close();
});

interface HeardCall {
  readonly turn: string;
  readonly ids: Ids;
  readonly capability: string;
  readonly payload: Record<string, unknown>;
}

/** A call, its command as the peer hears it, and its claim by what the payload says. */
async function hear(): Promise<HeardCall> {
  const before = heard.length;
  const { agent_turn_id } = await hosted.caller.request({
    project_id: hosted.project,
    tool_name: "old__run",
    arguments: { text: "hello" },
  });
  await waitFor(() => heard.length > before, { what: "the command" });
  const message = heard[before] as Msg;
  const payload = JSON.parse(new TextDecoder().decode(message.data)) as Record<string, unknown>;
  const ids = Object.fromEntries(IDS.map((name) => [name, payload[name]])) as Ids;
  const opened = await post(
    `calls/${ids.tool_call_id}/open`,
    { tool_call_card_id: payload.tool_call_card_id, executor: "old-1" },
    { "CG-Call-Ticket": message.headers?.get("CG-Call-Ticket") ?? "" },
  );
  expect(opened).toMatchObject({ status: 200, body: { arguments: { text: "hello" } } });
  return { turn: agent_turn_id, ids, capability: String(opened.body.capability), payload };
}

async function post(path: string, body: object, headers: Record<string, string>) {
  const response = await fetch(new URL(`/projects/${hosted.project}/${path}`, url), {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json", ...headers },
    body: JSON.stringify(body),
  });
  return { status: response.status, body: (await response.json()) as Record<string, unknown> };
}

const report = (call: HeardCall, ids: object, result = "done") =>
  post(
    `calls/${call.ids.tool_call_id}/report`,
    { ...ids, status: "success", result: { said: result } },
    { "CG-Report-Capability": call.capability },
  );

const row = (call: HeardCall) => world.node.kernel.reads.call(hosted.project, String(call.ids.tool_call_id));

describe("a peer of the older protocol", () => {
  it("reads who called from the payload, and the ids in its report are accepted", async () => {
    const call = await hear();
    expect(call.payload).toMatchObject({ tool_name: "old__run", agent_turn_id: call.turn, turn_epoch: 1 });
    expect(await row(call)).toMatchObject({
      ...call.ids,
      turn_epoch: expect.toSatisfy((epoch) => Number(epoch) === 1),
    });
    expect(await report(call, call.ids)).toMatchObject({ status: 200, body: { outcome: "accepted" } });
    expect(await awaitToolCall(world.node, hosted.project, call.turn, { waitMs: 10_000 })).toMatchObject({
      status: "success",
      result: { said: "done" },
    });
  });

  it("may save its card first and point at it, with the ids", async () => {
    const call = await hear();
    const capability = { "CG-Report-Capability": call.capability };
    const content = { status: "success", result: { said: "card" }, error: null, after_execution: "suspend" };
    const saved = await post(`calls/${call.ids.tool_call_id}/result-card`, { content }, capability);
    const { tool_result_card_id } = saved.body;
    const pointer = { ...call.ids, tool_result_card_id, status: "success", after_execution: "suspend" };
    expect(await post(`calls/${call.ids.tool_call_id}/report`, pointer, capability)).toMatchObject({ status: 200 });
    expect(await awaitToolCall(world.node, hosted.project, call.turn, { waitMs: 10_000 })).toMatchObject({
      result: { said: "card" },
    });
  });

  it("is refused with any id that is another one's, and the call is as it was", async () => {
    const call = await hear();
    const before = await row(call);
    for (const name of IDS) {
      const altered = typeof call.ids[name] === "number" ? Number(call.ids[name]) + 1 : `${call.ids[name]}x`;
      const refused = await report(call, { ...call.ids, [name]: altered }, name);
      expect(refused, name).toMatchObject({ status: 400, body: { error_code: "protocol_violation" } });
      expect(await row(call), name).toEqual(before);
    }
    expect(await report(call, call.ids)).toMatchObject({ status: 200, body: { outcome: "accepted" } });
    expect(await report(call, call.ids)).toMatchObject({ status: 200, body: { outcome: "duplicate" } });
    await world.expectSafe();
  });
});
