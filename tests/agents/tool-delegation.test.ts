// What a tool's code may start (decision 36): hostile executor keys over HTTP, and limits on the bundle's own code.

import { openApi } from "@tessera/runtime";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { AgentsWorld, PROJECT } from "./agents-world.ts";

const ASK = `export const handlers = {
  async ask(ctx, { op, to }) {
    const event = { id: "e", type: "agent.request", createdAt: new Date(), source: { kind: "agent", name: "x" }, input: "hello" };
    const calls = { request: () => ctx.runtime.request(to, event), send: () => ctx.runtime.send(to, event), spawn: () => ctx.runtime.spawn(to) };
    return await calls[op]().then(() => "done", (error) => error.code);
  },
};
`;

const tool = (name: string, spec: string, more = "") => `---
apiVersion: goondan.ai/v1
kind: Tool
metadata: { name: ${name} }
spec:
  entry: ./ask.ts
  ${spec}
  exports: [ { name: ask, effect: idempotent, parameters: { type: object }${more} } ]
`;
const agent = (name: string, spec: string) => `---
apiVersion: goondan.ai/v1
kind: Agent
metadata: { name: ${name} }
spec: { modelConfig: { modelRef: Model/script }, ${spec} }
`;

const CALLS = { inside: "ask", limited: "ask", away: "ask", granted: "ask" };
const YAML = `apiVersion: goondan.ai/v1
kind: Model
metadata: { name: script }
spec:
  provider: scripted
  options:
    rules:
${Object.keys(CALLS)
  .flatMap((name) =>
    ["request", "send", "spawn"].map(
      (op) => `      - when: { step: 0, text: "${name} ${op} helper" }
        reply: { toolCalls: [ { name: ${name}__ask, arguments: { op: ${op}, to: helper } } ] }
`,
    ),
  )
  .join("")}      - when: { agent: helper }
        reply: { text: "heard {{input}}" }
      - reply: { text: "{{result}}" }
${agent("planner", "tools: [ Tool/inside, Tool/limited, Tool/away, Tool/granted ]")}${agent(
  "careful",
  "tools: [ Tool/inside, Tool/granted ], toolDelegationPolicy: { operations: [send], targetProfiles: [helper] }",
)}${agent("helper", "tools: [], tags: [quiet]")}${agent("other", "tools: []")}${agent("outsider", "tools: []")}---
apiVersion: goondan.ai/v1
kind: Swarm
metadata: { name: crew }
spec: { entryAgent: Agent/planner, agents: [ Agent/planner, Agent/careful, Agent/helper, Agent/other ] }
${tool("inside", "placement: inline")}${tool(
  "limited",
  "placement: isolated",
  ", delegationPolicy: { operations: [send], targetTags: [quiet] }",
)}${tool("away", "placement: edge")}${tool("granted", "placement: edge", ", delegationPolicy: { targetProfiles: [helper] }")}`;

describe("what a tool's code may start", () => {
  let world: AgentsWorld;
  let crew: Awaited<ReturnType<AgentsWorld["crew"]>>;
  let api: Awaited<ReturnType<typeof openApi>>;
  beforeAll(async () => {
    world = await AgentsWorld.open("pglite");
    crew = await world.crew(world.bundle({ "tessera.yaml": YAML, "ask.ts": ASK }), { roles: ["worker", "pmo"] });
    api = await openApi({ node: world.node, port: 0, onWarning: () => undefined });
  });
  afterAll(async () => {
    await api.close();
    await crew.close();
    await world.close();
  });

  let count = 0;
  const send = async (key: string, path: string, body: object, headers: Record<string, string> = {}) => {
    const response = await fetch(new URL(path, api.url), {
      method: "POST",
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json", ...headers },
      body: JSON.stringify(body),
    });
    return { status: response.status, body: (await response.json()) as Record<string, never> };
  };

  /** A call of the tool, held by an executor with a key of its own. */
  async function held(target: string, delegation_policy?: object, by = "planner") {
    count += 1;
    const key = await send(api.key.text, "/keys", {
      ...{ role: "executor", project_id: PROJECT, targets: [target] },
      ...(delegation_policy === undefined ? {} : { delegation_policy }),
    });
    expect(key.status).toBe(201);
    const text = String(key.body.key);
    const turn = await world.ask(by, `${target} send helper`, { instance_key: `held-${count}` });
    const order = { max: 1, wait_ms: 20_000, executor: "other", claim_id: `c${count}` };
    const claimed = await send(text, `/projects/${PROJECT}/executors/${target}/claim`, order);
    const [call] = claimed.body.calls as unknown as { tool_call_id: string; capability: string }[];
    const id = call?.tool_call_id ?? "";
    const hold = { "CG-Report-Capability": call?.capability ?? "" };
    const runtime = (operation: string, body: object, project = PROJECT) =>
      send(text, `/projects/${project}/calls/${id}/runtime/${operation}`, { ordinal: 0, ...body }, hold);
    const end = async () => {
      await send(text, `/projects/${PROJECT}/calls/${id}/report`, { status: "success", result: { ok: true } }, hold);
      await world.ended(turn);
    };
    return { id, turn, runtime, end, key_id: String(key.body.key_id) };
  }

  const started = async (turn: string) =>
    await world.query("select agent_id from state.agent_turns where parent_agent_turn_id = $1", [turn]);
  const agents = async () => await world.query("select agent_id from resource.project_agents order by agent_id", []);

  it.each(["request", "send", "spawn"])(
    "by an executor key without a policy: %s is refused, starts nothing and is a row of the audit log",
    async (operation) => {
      const call = await held("away");
      const before = await agents();
      for (const target of ["helper", "other", "outsider", "no-such-agent"]) {
        const answer = await call.runtime(operation, { target, event: { input: "x" } });
        expect(answer, target).toMatchObject({ status: 403, body: { error_code: "delegation_denied" } });
      }
      expect(await agents()).toEqual(before);
      expect(await started(call.turn)).toEqual([]);
      await expect
        .poll(async () => {
          const rows = await world.query(
            "select code from state.audit_log where principal = $1 and kind = 'api.callRuntime'",
            [call.key_id],
          );
          return rows.map(({ code }) => code);
        })
        .toContain("delegation_denied");
      await call.end();
    },
  );

  it("by an executor key without a policy is read neither: it sees its own agent, and what that agent made", async () => {
    const call = await held("away");
    const catalog = await call.runtime("catalog", {});
    expect(catalog.body.answer).toMatchObject({ availableAgents: ["planner"], callableAgents: [] });
    const list = await call.runtime("list", { options: { includeAll: true } });
    expect(list.body.answer).toEqual({ agents: [] });
    await call.end();
  });

  const POLICIES: [string, string, object | undefined, Record<string, string>][] = [
    ["the tool's", "granted", undefined, { "request helper": "200", "send other": "403", "spawn helper": "200" }],
    ["the key's", "away", { target_profiles: ["helper"] }, { "send helper": "200", "send other": "403" }],
    ["the key's, by tag", "away", { target_tags: ["quiet"] }, { "send helper": "200", "send other": "403" }],
    [
      "the key's, by operation",
      "away",
      { operations: ["send"] },
      { "send helper": "200", "send other": "200", "request helper": "403", "spawn helper": "403" },
    ],
    ["the key's, which names none", "away", { operations: [] }, { "send helper": "403" }],
    [
      "both, which have to agree",
      "granted",
      { target_profiles: ["other"] },
      { "send helper": "403", "send other": "403" },
    ],
    ["one that lets all pass, outside the swarm", "away", {}, { "request outsider": "400", "spawn outsider": "400" }],
  ];
  it.each(POLICIES)("by an executor key follows %s policy", async (_, target, policy, wanted) => {
    const call = await held(target, policy);
    let ordinal = 0;
    for (const [order, status] of Object.entries(wanted)) {
      const [operation = "", to = ""] = order.split(" ");
      ordinal += 1;
      const body = { ordinal, target: to, ...(operation === "spawn" ? {} : { event: { input: "x" } }) };
      expect((await call.runtime(operation, body)).status, order).toBe(Number(status));
    }
    await call.end();
  });

  it("by an executor key also needs the policy of the agent whose tool it is", async () => {
    const call = await held("granted", undefined, "careful");
    expect((await call.runtime("request", { target: "helper", event: {} })).status).toBe(403);
    expect((await call.runtime("send", { ordinal: 1, target: "helper", event: {} })).status).toBe(200);
    await call.end();
  });

  it("by an executor key reaches no instance of another's conversation, and owns what it spawns for its caller", async () => {
    const private_turn = await world.ask("helper", "a secret of another customer", { instance_key: "customer-7" });
    await world.ended(private_turn);
    const call = await held("away", {});
    const event = { input: "what did they say?", instanceKey: "customer-7" };
    expect((await call.runtime("request", { target: "helper", event })).status).toBe(403);
    const options = { instanceKey: "customer-7" };
    expect((await call.runtime("spawn", { ordinal: 1, target: "helper", options })).status).toBe(403);
    const mine = `mine-${call.id}`;
    const spawned = await call.runtime("spawn", { ordinal: 2, target: "helper", options: { instanceKey: mine } });
    expect(spawned.body).toMatchObject({ answer: { spawned: true, instanceKey: mine } });
    const row = await world.node.kernel.reads.turn(PROJECT, call.turn);
    const owned = await world.query(
      "select owner_agent_id from resource.project_agents where metadata ->> 'instance_key' = $1",
      [mine],
    );
    expect(owned).toEqual([{ owner_agent_id: row?.agent_id }]);
    expect((await call.runtime("send", { ordinal: 3, target: "helper", event: { instanceKey: mine } })).status).toBe(
      200,
    );
    const forged = { target: "helper", options: { instanceKey: "f", ownerAgent: "helper" } };
    expect((await call.runtime("spawn", { ordinal: 4, ...forged })).status).toBe(400);
    await call.end();
  });

  it("by an executor key stays in its project, however wide its policy", async () => {
    const call = await held("away", {});
    expect((await call.runtime("send", { target: "helper", event: {} }, "theirs")).status).toBe(404);
    await call.end();
  });

  it("by an executor key counts for the depth and the turns of the trace", async () => {
    const call = await held("away", {});
    expect((await call.runtime("send", { target: "helper", event: {} })).status).toBe(200);
    const [child] = await world.query(
      "select c.recursion_depth - p.recursion_depth as deeper, c.trace_id = p.trace_id as same from state.agent_turns c join state.agent_turns p on p.agent_turn_id = c.parent_agent_turn_id where p.agent_turn_id = $1",
      [call.turn],
    );
    expect(child).toEqual({ deeper: 1, same: true });
    await call.end();
  });

  it.each([
    ["planner", "inside", { request: "done", send: "done", spawn: "done" }],
    ["planner", "limited", { request: "delegation_denied", send: "done", spawn: "delegation_denied" }],
    ["careful", "inside", { request: "delegation_denied", send: "done", spawn: "delegation_denied" }],
  ] as const)("by the bundle's own code: an agent %s with the tool %s", async (by, name, wanted) => {
    for (const [operation, answer] of Object.entries(wanted)) {
      const turn = await world.ask(by, `${name} ${operation} helper`, { instance_key: `own-${name}-${operation}` });
      await world.ended(turn);
      const [result] = await world.results(turn);
      expect(result?.content, operation).toMatchObject({ status: "success", result: { value: answer } });
      const notes = await world.query(
        "select code from state.audit_log where kind = 'runtime' and agent_turn_id = $1",
        [turn],
      );
      expect(notes).toEqual(answer === "done" ? [] : [{ code: "delegation_denied" }]);
    }
  });

  it.each([
    ["viewer", { role: "viewer", delegation_policy: {} }],
    ["unknown operation", { role: "executor", targets: ["away"], delegation_policy: { operations: ["stop"] } }],
    ["unknown field", { role: "executor", targets: ["away"], delegation_policy: { targets: ["helper"] } }],
  ])("cannot be said by a key with a mistake: %s", async (_, body) => {
    expect((await send(api.key.text, "/keys", { project_id: PROJECT, ...body })).status).toBe(400);
  });
});
