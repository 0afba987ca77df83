// Tools in another language: the examples in Python, standard library only, as processes of their own.

import { type ChildProcess, spawn } from "node:child_process";
import { join } from "node:path";
import { waitFor } from "@tessera/testkit";
import { afterAll, afterEach, beforeAll, describe, expect, inject, it } from "vitest";
import { type HostedProject, ToolWorld } from "./tool-world.ts";

const EXAMPLE = join(import.meta.dirname, "../../examples/python-executor");
/** Half of what the slow call takes. */
const LEASE_MS = 1_500;
const running: ChildProcess[] = [];

function python(script: string, args: readonly string[]): { child: ChildProcess; printed: string[] } {
  const child = spawn("python3", ["-u", join(EXAMPLE, script), ...args], { stdio: ["ignore", "pipe", "pipe"] });
  running.push(child);
  const printed: string[] = [];
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding("utf8").on("data", (text: string) => printed.push(text));
  }
  return { child, printed };
}

async function end(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exit = new Promise((resolve) => child.once("exit", resolve));
  child.kill(signal);
  await exit;
}

describe.each(["pglite", "postgres"] as const)("the Python executor over HTTP, on %s", (engine) => {
  let world: ToolWorld;
  let hosted: HostedProject;
  let args: string[];

  beforeAll(async () => {
    world = await ToolWorld.open(engine);
    hosted = await world.host({ bundle: EXAMPLE });
    const { url } = await world.api(LEASE_MS);
    const key = await world.executorKey(hosted.project, "words");
    args = ["--url", url, "--key", key, "--project", hosted.project, "--heartbeat", "0.2"];
  });
  afterEach(async () => {
    for (const child of running.splice(0)) await end(child, "SIGKILL");
  });
  afterAll(() => world.close());

  it("runs calls and reports their results", async () => {
    python("executor_http.py", args);
    const answer = await world.call(hosted, "words__count", { text: "a stitch in time" });
    expect(answer).toMatchObject({ status: "success", result: { words: 4, longest: "stitch" } });
    const cards = await world.cardsOf(hosted.project, answer.agentTurnId);
    expect(cards.find((card) => card.type === "tool.result")).toMatchObject({
      author_id: "tool.words",
      metadata: { function_name: "words__count" },
    });
  });

  it("keeps a call by its heartbeat for longer than the lease, and a bad argument never reaches it", async () => {
    const { printed } = python("executor_http.py", args);
    const [slow, bad] = await Promise.all([
      world.call(hosted, "words__echo", { text: "slow", seconds: 3 }),
      world.call(hosted, "words__count", { text: 7 }),
    ]);
    expect(slow).toMatchObject({ status: "success", result: { text: "slow", attempt: 1 } });
    expect(bad).toMatchObject({ status: "failed", error: { code: "bad_request" } });
    expect(printed.join("")).not.toContain("words__count");
  });

  it("told that the call was stopped, it gives up and reports nothing", async () => {
    const { printed } = python("executor_http.py", args);
    const request = { project_id: hosted.project, tool_name: "words__echo", arguments: { text: "x", seconds: 50 } };
    const { agent_turn_id } = await hosted.caller.request(request);
    await waitFor(async () => (await openCall(agent_turn_id))?.claimed_by === "python-http", { what: "the claim" });
    await world.node.kernel.stopTurn({ project_id: hosted.project, agent_turn_id });
    await waitFor(() => printed.join("").includes("canceled"), { what: `it to give up; it printed ${printed}` });
  });

  it("killed -9 in the middle, its idempotent call is run again by the next one with the same key", async () => {
    const first = python("executor_http.py", args);
    const request = { project_id: hosted.project, tool_name: "words__echo", arguments: { text: "again", seconds: 1 } };
    const { agent_turn_id } = await hosted.caller.request(request);
    await waitFor(async () => (await openCall(agent_turn_id))?.claimed_by === "python-http", { what: "the claim" });
    await end(first.child, "SIGKILL");
    const key = (await openCall(agent_turn_id))?.tool_call_id;
    python("executor_http.py", args);
    const answer = await waitFor(
      async () => {
        const turn = await world.node.kernel.reads.turn(hosted.project, agent_turn_id);
        return turn?.status === "success" ? turn : null;
      },
      { what: "the second attempt", timeoutMs: 40_000 },
    );
    const [card] = await world.node.kernel.reads.cards(hosted.project, [String(answer.deliverable_card_id)]);
    expect(card?.content).toMatchObject({ data: { result: { text: "again", attempt: 2 } } });
    expect(JSON.stringify(card?.content)).toContain(`tool.${hosted.project}.words__echo.`);
    expect(key).toBeDefined();
    await world.expectSafe();
  }, 60_000);

  it("with a key of another target is told so and ends", async () => {
    const key = await world.executorKey(hosted.project, "other");
    const { child, printed } = python("executor_http.py", [...args.slice(0, 3), key, ...args.slice(4)]);
    await waitFor(() => child.exitCode !== null, { what: "it to end" });
    expect(child.exitCode).toBe(1);
    expect(printed.join("")).toContain("403 forbidden");
    expect(printed.join("")).not.toContain(key);
  });

  async function openCall(turnId: string) {
    return (await world.node.kernel.reads.callsOfTurn(hosted.project, turnId))[0];
  }
});

describe("the Python executor that hears its commands on NATS", () => {
  let world: ToolWorld;
  beforeAll(async () => {
    world = await ToolWorld.open("postgres");
  });
  afterAll(async () => {
    for (const child of running.splice(0)) await end(child, "SIGKILL");
    await world.close();
  });

  it("opens calls by their tickets, acknowledges every command, and reports over HTTP", async () => {
    const hosted = await world.host({ bundle: EXAMPLE });
    const { url } = await world.api();
    const key = await world.executorKey(hosted.project, "words");
    const connection = ["--nats", inject("natsUrl"), "--url", url, "--key", key, "--heartbeat", "0.2"];
    const { printed } = python("executor_nats.py", [...connection, "--project", hosted.project]);
    await waitFor(() => printed.join("").includes("listening"), { what: `it to listen; it printed ${printed}` });
    const answers = await Promise.all(
      ["one", "one two", "one two three"].map((text) => world.call(hosted, "words__count", { text })),
    );
    expect(answers.map((answer) => answer.result)).toMatchObject([{ words: 1 }, { words: 2 }, { words: 3 }]);
    // A command that comes again is answered from the record: 409, acknowledged, not run.
    const successes = () => printed.join("").match(/success/g)?.length ?? 0;
    await waitFor(() => successes() === 3, { what: `three reports; it printed ${printed.join("")}` });
    const [call] = await world.node.kernel.reads.callsOfTurn(hosted.project, answers[0]?.agentTurnId ?? "");
    await world.node.bus.publish([
      {
        subject: `cg.v1r4.${hosted.project}.public.cmd.tool.words.count`,
        headers: { "CG-Tool-Call-Id": String(call?.tool_call_id), "CG-Call-Ticket": "0".repeat(64) },
        data: new TextEncoder().encode('{"tool_call_card_id":"card_x"}'),
      },
    ]);
    await waitFor(() => printed.join("").includes("not opened"), { what: `a refusal; it printed ${printed.join("")}` });
    expect(successes()).toBe(3);
    await world.expectSafe();
  });
});
