// A tool's mistake, in each placement and on each engine: an operator gets the author's own line from the API, later and whatever
// process ran the tool, the log has it once, and no card, message or viewer has it at all.

import { createHash } from "node:crypto";
import { TOOL_PLACEMENTS, type ToolPlacement } from "@tessera/protocol";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type HostedProject, ToolWorld } from "./tool-world.ts";

const RESOURCE = (placement: ToolPlacement, target: string) => `
apiVersion: goondan.ai/v1
kind: Tool
metadata: { name: orders }
spec:
  entry: ./tools/orders.ts
  placement: ${placement}
${placement === "service" || placement === "edge" ? `  target: ${target}` : ""}
  envs: { key: ORDERS_KEY }
  exports:
    - name: find
    - { name: again, effect: read, retry: { maxAttempts: 3, backoffMs: 1 } }
    - name: fine
    - name: refuse
`;

const MODULE = `
import { ToolError, type ToolHandler } from "@tessera/tool";

interface Order { readonly customer?: { readonly name: string } }

export const handlers: Record<string, ToolHandler> = {
  find: async (_ctx, input) => {
    await Promise.resolve();
    return { name: nameOf({}, String(input.key)) };
  },
  again: (ctx) => {
    if (ctx.attempt < 3) throw Object.assign(new Error("busy " + ctx.attempt), { retryable: true });
    return { attempt: ctx.attempt };
  },
  fine: () => 1,
  refuse: () => { throw new ToolError("no seats left"); },
};

function nameOf(order: Order, key: string): string {
  try {
    return order.customer!.name;
  } catch (cause) {
    throw new Error("not allowed with " + key, { cause });
  }
}
`;
const LINE_OF_MISTAKE = MODULE.split("\n").findIndex((line) => line.includes("order.customer!.name")) + 1;
const SECRET = "ord3rs-k3y-0123456789";

interface Shown {
  readonly status: number;
  readonly failures: readonly { readonly tool_name: string; readonly attempt: number; readonly stack: string }[];
}

describe.each(["pglite", "postgres"] as const)("on %s", (engine) => {
  let world: ToolWorld;
  beforeAll(async () => {
    world = await ToolWorld.open(engine);
  });
  afterAll(() => world.close());

  async function keyOf(role: "operator" | "viewer", project: string): Promise<string> {
    const key = await world.node.kernel.createApiKey({ role, project_id: project });
    if (key.outcome === "rejected") throw new Error(key.code);
    return key.text;
  }

  async function ask(path: string, key: string): Promise<{ readonly status: number; readonly text: string }> {
    const response = await fetch(`${(await world.api()).url}${path}`, { headers: { authorization: `Bearer ${key}` } });
    return { status: response.status, text: await response.text() };
  }

  async function failuresOf(project: string, turn: string, key: string): Promise<Shown> {
    const { status, text } = await ask(`/projects/${project}/turns/${turn}/failures`, key);
    return { status, failures: (JSON.parse(text) as Partial<Shown>).failures ?? [] };
  }

  async function start(placement: ToolPlacement): Promise<HostedProject> {
    const project = world.newProject();
    const target = `orders_${createHash("sha256").update(project).digest("hex").slice(0, 8)}`;
    const bundle = world.bundle({ "tessera.yaml": RESOURCE(placement, target), "tools/orders.ts": MODULE });
    const hosted = await world.host({ project, bundle, env: { ORDERS_KEY: SECRET } });
    if (placement === "edge") await world.edge(hosted, target);
    return hosted;
  }

  it.each(TOOL_PLACEMENTS)("a mistake is found only by an operator (%s)", async (placement) => {
    const hosted = await start(placement);
    const { project } = hosted;
    const [operator, viewer] = [await keyOf("operator", project), await keyOf("viewer", project)];
    const answer = await world.call(hosted, "orders__find", {});
    expect(answer).toMatchObject({ status: "failed" });
    const turn = answer.agentTurnId;

    const { failures } = await failuresOf(project, turn, operator);
    expect(failures).toMatchObject([{ tool_name: "orders__find", attempt: 1 }]);
    const stack = failures[0]?.stack ?? "";
    expect(stack).toMatch(/^Error: not allowed with \*\*\*\n {4}at nameOf \(.*\/tools\/orders\.ts:\d+:\d+\)\n/);
    expect(stack).toMatch(
      new RegExp(`\ncaused by: TypeError: .*reading 'name'\\)\n {4}at nameOf \\(.*orders\\.ts:${LINE_OF_MISTAKE}:`),
    );

    const logged = [...world.logs.map(({ message }) => message), ...world.warnings].filter((text) =>
      text.includes("not allowed with"),
    );
    expect(logged).toEqual([stack]);
    world.logs.length = 0;

    expect((await failuresOf(project, turn, viewer)).status).toBe(403);
    const seen = [
      JSON.stringify(await world.cardsOf(project, turn)),
      JSON.stringify(world.published),
      JSON.stringify(answer),
      (await ask(`/projects/${project}/turns/${turn}`, operator)).text,
    ].join("\n");
    expect(seen).toContain("not allowed with");
    expect(seen).not.toContain("orders.ts");
    expect(`${seen}${stack}${logged}`).not.toContain(SECRET);
    await world.expectSafe();
  });

  it.each(TOOL_PLACEMENTS)("each attempt keeps its own, and a call that went well has none (%s)", async (placement) => {
    const hosted = await start(placement);
    const { project } = hosted;
    const operator = await keyOf("operator", project);
    const again = await world.call(hosted, "orders__again", {});
    expect(again).toMatchObject({ status: "success", result: { attempt: 3 } });
    const { failures } = await failuresOf(project, again.agentTurnId, operator);
    expect(failures.map(({ attempt, stack }) => [attempt, stack.split("\n")[0]])).toEqual([
      [1, "Error: busy 1"],
      [2, "Error: busy 2"],
    ]);
    const fine = await world.call(hosted, "orders__fine", {});
    expect(await failuresOf(project, fine.agentTurnId, operator)).toEqual({ status: 200, failures: [] });
    expect((await failuresOf(project, "turn_none", operator)).status).toBe(404);
    const refused = await world.call(hosted, "orders__refuse", {});
    const [meant] = (await failuresOf(project, refused.agentTurnId, operator)).failures;
    expect(meant?.stack).toMatch(/^ToolError: no seats left\n {4}at .*orders\.ts/);
    expect(world.logs.filter(({ message }) => message.includes("no seats left"))).toEqual([]);
    world.logs.length = 0;
  });

  it("an executor of another language sends what it has with its report, and one that sends nothing is as before", async () => {
    const target = `raw_${engine}`;
    const project = world.newProject();
    const tool = { tool_name: "raw__run", description: "", parameters: {}, after_execution: "suspend" } as const;
    const hosted = await world.host({ project });
    await world.node.kernel.putTool({
      ...{ project_id: project, ...tool, options: { effect: "read" } },
      target_subject: `cg.v1r4.{project_id}.{channel_id}.cmd.tool.${target}.run`,
    });
    const [operator, executor] = [await keyOf("operator", project), await world.executorKey(project, target)];
    const post = async (path: string, body: object, headers: Record<string, string> = {}) => {
      const response = await fetch(`${(await world.api()).url}/projects/${project}${path}`, {
        ...{ method: "POST", body: JSON.stringify(body) },
        headers: { authorization: `Bearer ${executor}`, "content-type": "application/json", ...headers },
      });
      return (await response.json()) as Record<string, unknown>;
    };
    const error = { code: "internal_error", message: "it broke" };
    const traceback = 'Traceback (most recent call last):\n  File "tool.py", line 3, in run\nKeyError: 7';
    for (const [said, kept] of [
      [{ stack: traceback }, [traceback]],
      [{ stack: { no: "text" } }, []],
      [{}, []],
    ] as const) {
      const called = world.call(hosted, "raw__run", {});
      const { calls = [] } = (await post(`/executors/${target}/claim`, { wait_ms: 20_000 })) as {
        calls?: readonly { readonly tool_call_id: string; readonly capability: string }[];
      };
      const [call] = calls;
      const report = { status: "failed", error, ...said };
      const headers = { "CG-Report-Capability": call?.capability ?? "" };
      expect(await post(`/calls/${call?.tool_call_id}/report`, report, headers)).toMatchObject({ outcome: "accepted" });
      const { agentTurnId, ...answer } = await called;
      expect(answer).toMatchObject({ status: "failed", error });
      expect(JSON.stringify(answer), "it is no part of the result, and no reason to refuse it").not.toMatch(
        /stack|Traceback|warning/,
      );
      const { failures } = await failuresOf(project, agentTurnId, operator);
      expect(failures.map(({ stack }) => stack)).toEqual(kept);
    }
  });
});
