// ctx.runtime is the same wherever a tool runs: in the worker, in a child process, in a service, behind the HTTP edge.

import { startEdgeExecutor } from "@tessera/executor";
import { connectExecutor, openApi } from "@tessera/runtime";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { AgentsWorld, PROJECT } from "./agents-world.ts";

const PLACEMENTS = { near: "inline", apart: "isolated", away: "service" } as const;

const TOOL = (name: string, placement: string) => `---
apiVersion: goondan.ai/v1
kind: Tool
metadata: { name: ${name} }
spec:
  entry: ./ask.ts
  placement: ${placement}
  exports: [ { name: ask, effect: idempotent, parameters: { type: object, properties: { to: { type: string } } } } ]
`;

const YAML = `apiVersion: goondan.ai/v1
kind: Model
metadata: { name: script }
spec:
  provider: scripted
  options:
    rules:
${Object.keys(PLACEMENTS)
  .map(
    (name) => `      - when: { agent: planner, step: 0, text: ${name} }
        reply: { toolCalls: [ { name: ${name}__ask, arguments: { to: helper } } ] }
`,
  )
  .join("")}      - when: { agent: planner }
        reply: { text: "{{result}}" }
      - when: { agent: helper }
        reply: { text: "heard {{input}}" }
---
apiVersion: goondan.ai/v1
kind: Agent
metadata: { name: planner }
spec: { modelConfig: { modelRef: Model/script }, tools: [ Tool/near, Tool/apart, Tool/away ] }
---
apiVersion: goondan.ai/v1
kind: Agent
metadata: { name: helper }
spec: { modelConfig: { modelRef: Model/script }, tools: [] }
---
apiVersion: goondan.ai/v1
kind: Swarm
metadata: { name: crew }
spec: { entryAgent: Agent/planner, agents: [ Agent/planner, Agent/helper ] }
${Object.entries(PLACEMENTS)
  .map(([name, placement]) => TOOL(name, placement))
  .join("")}`;

const ASK = `export const handlers = {
  async ask(ctx, { to }) {
    const event = (id, input) => ({ id, type: "agent.request", createdAt: new Date(), source: { kind: "agent", name: ctx.agentName }, input });
    const caught = (work) => work.catch((error) => error.code);
    const { response } = await ctx.runtime.request(to, event("one", "a question"), { timeoutMs: 20000 });
    const spawned = await ctx.runtime.spawn(to, { instanceKey: "spare-" + ctx.turnId });
    return {
      response,
      spawned: spawned.spawned,
      own: (await ctx.runtime.list()).agents.filter((agent) => agent.instanceKey === "spare-" + ctx.turnId).length,
      sent: (await ctx.runtime.send(to, event("two", "a note"))).accepted,
      unknown: await caught(ctx.runtime.request("missing", event("three", "x"))),
      self: await caught(ctx.runtime.request("planner", event("four", "x"))),
      catalog: await ctx.runtime.catalog(),
    };
  },
};
`;

const ANSWER = {
  response: "heard a question",
  spawned: true,
  own: 1,
  sent: true,
  unknown: "AGENT_NOT_FOUND",
  self: "CIRCULAR_CALL_DETECTED",
  catalog: {
    swarmName: "crew",
    entryAgent: "planner",
    selfAgent: "planner",
    availableAgents: ["helper", "planner"],
    callableAgents: ["helper"],
  },
};

describe("other agents, asked by a tool", () => {
  let world: AgentsWorld;
  let bundle: string;
  beforeAll(async () => {
    world = await AgentsWorld.open("pglite");
    bundle = world.bundle({ "tessera.yaml": YAML, "ask.ts": ASK });
  });
  afterAll(() => world.close());

  it("answer the same in every placement, also when one turn at a time may run", async () => {
    const crew = await world.crew(bundle, { concurrencyMax: 1 });
    for (const tool of Object.keys(PLACEMENTS)) {
      const turn = await world.ask("planner", tool, { instance_key: tool });
      await world.ended(turn);
      const [result] = await world.results(turn);
      expect(result?.content, tool).toMatchObject({ status: "success", result: ANSWER });
    }
    await crew.close();
  });

  it("answer the same to a handler that an edge executor hosts", async () => {
    const crew = await world.crew(bundle, { roles: ["worker", "pmo"] });
    const api = await openApi({ node: world.node, port: 0, onWarning: () => undefined });
    const link = await connectExecutor({ url: api.url, apiKey: api.key.text, onWarning: () => undefined });
    const { runner } = crew.host;
    const away = { project_id: PROJECT, target: "away", executor: "edge", runner, waitMs: 2_000 };
    const executor = startEdgeExecutor({ ...link, ...away });
    try {
      const turn = await world.ask("planner", "away", { instance_key: "edge-host" });
      await world.ended(turn);
      const [result] = await world.results(turn);
      expect(result?.content).toMatchObject({ status: "success", result: ANSWER });
    } finally {
      await executor.stop({ graceMs: 100 });
      await link.close();
      await api.close();
      await crew.close();
    }
  });

  it("answer the same behind the HTTP edge, where the operation is named by its ordinal, and only to who holds the call", async () => {
    const crew = await world.crew(bundle, { roles: ["worker", "pmo"] });
    const api = await openApi({ node: world.node, port: 0, onWarning: () => undefined });
    const post = async (path: string, body: object, headers: Record<string, string> = {}) => {
      const response = await fetch(new URL(`/projects/${PROJECT}/${path}`, api.url), {
        method: "POST",
        headers: { authorization: `Bearer ${api.key.text}`, "content-type": "application/json", ...headers },
        body: JSON.stringify(body),
      });
      return { status: response.status, body: (await response.json()) as Record<string, never> };
    };
    try {
      const turn = await world.ask("planner", "away", { instance_key: "edge" });
      const claimed = await post("executors/away/claim", { max: 1, wait_ms: 10_000, executor: "curl", claim_id: "c1" });
      const [call] = claimed.body.calls as unknown as { tool_call_id: string; capability: string }[];
      const path = `calls/${call?.tool_call_id}/runtime`;
      const hold = { "CG-Report-Capability": call?.capability ?? "" };
      const order = { ordinal: 0, target: "helper", event: { input: "over HTTP" } };
      const first = await post(`${path}/request`, order, hold);
      expect(first).toMatchObject({ status: 200, body: { answer: { response: "heard over HTTP" } } });
      expect(await post(`${path}/request`, order, hold)).toEqual(first); // the same operation again
      const unknown = await post(`${path}/request`, { ordinal: 1, target: "missing", event: {} }, hold);
      expect(unknown.status).toBe(400);
      expect(JSON.stringify(unknown.body)).toContain("AGENT_NOT_FOUND");
      expect(await post(`${path}/catalog`, { ordinal: 2 }, hold)).toMatchObject({ body: { answer: ANSWER.catalog } });
      expect((await post(`${path}/request`, order)).status).toBeGreaterThanOrEqual(400);
      await post(`calls/${call?.tool_call_id}/report`, { status: "success", result: { ok: true } }, hold);
      await world.ended(turn);
      expect((await post(`${path}/send`, { ...order, ordinal: 3 }, hold)).status).toBeGreaterThanOrEqual(400);
    } finally {
      await api.close();
      await crew.close();
    }
  });
});
