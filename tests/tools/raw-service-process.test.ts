// examples/raw-tool-service as it is started manually: a process of its own, commands over NATS, cards and reports over HTTP.

import { awaitToolCall, openApi, storeTools } from "@tessera/runtime";
import { TestChild, waitFor } from "@tessera/testkit";
import { afterAll, afterEach, beforeAll, describe, expect, inject, it } from "vitest";
import { type HostedProject, ToolWorld } from "./tool-world.ts";

const MAIN = new URL("../../examples/raw-tool-service/main.ts", import.meta.url);

let world: ToolWorld;
let hosted: HostedProject;
let target: string;
let args: string[];
const running: TestChild[] = [];

beforeAll(async () => {
  world = await ToolWorld.open("postgres");
  hosted = await world.host();
  target = world.node.ids.mint("raw").slice(0, 30);
  await storeTools(world.node, hosted.project, [
    {
      // The example signs as tool.example, whatever its target is.
      tool_name: "example__run",
      description: "the published skeleton",
      parameters: {},
      target_subject: `cg.v1r4.{project_id}.{channel_id}.cmd.tool.${target}.run`,
      after_execution: "suspend",
      options: { effect: "idempotent", placement: "service", timeoutMs: 60_000 },
    },
  ]);
  const key = await world.executorKey(hosted.project, target);
  args = ["--nats", inject("natsUrl"), "--key", key, "--project", hosted.project, "--target", target];
});
afterEach(async () => {
  for (const child of running.splice(0)) if (child.exit === null) await child.terminate();
});
afterAll(() => world.close());

async function start(url: string): Promise<TestChild> {
  const child = await TestChild.start(MAIN, { args: [...args, "--url", url] });
  running.push(child);
  await waitFor(() => child.output.some((line) => line.startsWith("listening")), {
    what: `it to listen; ${child.output}`,
  });
  return child;
}

describe("the raw tool service, as a process", () => {
  it("answers calls, also those it fails, and ends on its signal", async () => {
    const child = await start((await world.api()).url);
    const [good, bad] = await Promise.all([
      world.call(hosted, "example__run", { text: "hello" }),
      world.call(hosted, "example__run", { fail: true }),
    ]);
    expect(good, child.output.join("\n")).toMatchObject({ status: "success", result: { echo: { text: "hello" } } });
    expect(bad).toMatchObject({ status: "failed", error: { code: "internal_error", message: "told to fail" } });
    await waitFor(() => child.messages.length === 2, { what: `two lines about two calls; ${child.output}` });
    const cards = await world.cardsOf(hosted.project, good.agentTurnId);
    expect(cards.find((card) => card.type === "tool.result")).toMatchObject({
      author_id: "tool.example",
      metadata: { function_name: "example__run", role: "tool" },
    });
    expect(await child.terminate()).toMatchObject({ code: 0 });
  });

  it("killed -9 between its claim and its report, leaves the call to the second instance", async () => {
    const { kernel } = world.node;
    // An API whose leases are short, and that does not answer the first saved card until the process is gone.
    let release: () => void = () => undefined;
    const gone = new Promise<void>((resolve) => {
      release = resolve;
    });
    let saved = 0;
    const hurried: typeof kernel = {
      ...kernel,
      openCall: (request) => kernel.openCall({ ...request, lease_ms: 1_000 }),
      renewCall: (hold) => kernel.renewCall({ ...hold, lease_ms: 1_000 }),
      putResultCard: async (request) => {
        saved += 1;
        if (saved === 1) await gone;
        return await kernel.putResultCard(request);
      },
    };
    const api = await openApi({ node: { ...world.node, kernel: hurried }, port: 0, onWarning: () => undefined });
    try {
      const first = await start(api.url);
      const request = { project_id: hosted.project, tool_name: "example__run", arguments: { text: "again" } };
      const { agent_turn_id } = await hosted.caller.request(request);
      const openCall = async () => (await kernel.reads.callsOfTurn(hosted.project, agent_turn_id))[0];
      await waitFor(() => saved === 1, { what: "the first instance to save its card" });
      expect(await openCall()).toMatchObject({ claimed_by: `raw-${first.pid}`, attempt: 1 });
      await first.kill();
      const second = await start(api.url);
      const answer = await awaitToolCall(world.node, hosted.project, agent_turn_id, { waitMs: 30_000 });
      expect(answer).toMatchObject({ status: "success", result: { echo: { text: "again" } } });
      expect(await openCall()).toMatchObject({ claimed_by: `raw-${second.pid}`, attempt: 2 });
      await world.expectSafe();
    } finally {
      release();
      await api.close();
    }
  }, 60_000);
});
