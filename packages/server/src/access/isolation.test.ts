// Two tenants: what one has, no key of the other finds, wherever the id stands. The list of
// operations comes from the OpenAPI document; one that has ids in its path and is not answered 404 fails here.

import { enqueueAgentTurn } from "@tessera/agent";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { OTHER, PROJECT } from "../../test/fixture.ts";
import { useManagement } from "../../test/management-fixture.ts";
import type { Agents, Server } from "../index.ts";
import { paramsOf, type RouteSpec } from "../routing/route-spec.ts";

const fx = useManagement();
const TOOL_YAML = (name: string) =>
  `tool_name: ${name}\ntarget_subject: cg.v1r4.{project_id}.{channel_id}.cmd.tool.echo.run\nafter_execution: suspend\n`;
const yaml = { "content-type": "application/yaml" };

const agents: Agents = {
  async enqueue(order) {
    const { agent_turn_id, agent_id, outcome } = await enqueueAgentTurn(fx.kernel, fx.ids, order);
    return { agent_turn_id, agent_id, isNew: outcome === "accepted" };
  },
  runtime: async () => "an answer of another project",
};
let server: Server;

/** What PROJECT has, by the name of a path's parameter. */
const ids: Record<string, string> = {};
/** Every one of these is a word that OTHER must never read. */
const words = () => Object.values(ids);

beforeAll(async () => {
  server = await fx.another({ ports: { ...fx.ports(), agents } });
  await fx.key("admin2", { role: "admin", project_id: OTHER });
  await fx.key("executor_2", { role: "executor", project_id: OTHER, targets: ["echo"] });
  const profile = `name: secret_profile\nworker_target: workers\nllm_config: {provider: openai, model: gpt-5}\n`;
  const uploaded = await fx.send("POST", `/projects/${PROJECT}/profiles`, {
    key: "operator",
    headers: yaml,
    payload: profile,
  });
  if (uploaded.status !== 201) throw new Error(uploaded.text);
  await fx.send("POST", `/projects/${PROJECT}/tools`, {
    key: "operator",
    headers: yaml,
    payload: TOOL_YAML("secret_tool"),
  });
  const [call] = await fx.suspended();
  if (call === undefined) throw new Error("no call");
  const turn = await fx.kernel.reads.turn(PROJECT, call.agent_turn_id);
  const [card] = await fx.kernel.reads.boxCards(PROJECT, String(turn?.output_box_id));
  Object.assign(ids, {
    ...{ profile: "secret_profile", tool: "secret_tool", turn: call.agent_turn_id, agent: call.agent_id },
    ...{ call: call.tool_call_id, box: String(turn?.output_box_id), card: card?.card_id, key: fx.keyIds.viewer },
    step: call.step_id,
  });
  for (const [name, id] of Object.entries(ids)) expect(id, name).toMatch(/^[\w-]{5,}$/);
});

afterAll(() => server.close());

/** Bodies that name something of PROJECT, for operations that need one. */
const bodies = (): Readonly<Record<string, unknown>> => ({
  readCards: { card_ids: [ids.card] },
  readBoxes: { box_ids: [ids.box], hydrate: true },
  createAgent: { agent_id: "mine", profile_box_id: ids.box, worker_target: "workers" },
  enqueueTurn: { agent_id: ids.agent, input: "x" },
  godStop: { agent_id: ids.agent, agent_turn_id: ids.turn },
  godCallPmo: { caller_agent_id: ids.agent, args: {} },
  openCall: {},
  heartbeatCall: {},
  reportCall: { status: "success", result: {} },
  putResultCard: { content: { status: "success", result: {} } },
  claimCalls: { max: 10 },
  stopTurn: {},
  callTool: { wait_seconds: 0 },
  sendUiAction: { agent_id: ids.agent, tool_name: "echo", args: {}, wait_seconds: 0 },
  callRuntime: { ordinal: 0 },
});
/** They make something of that name in their own project. */
const MAKES_ITS_OWN = new Set(["putTool", "putProfile", "uploadTools", "uploadProfile", "bootstrapProject"]);
const NOT_ABOUT_IDS = new Set(["updateProject", "deleteProject", "streamEvents"]);

function urlOf({ path }: RouteSpec): string {
  const given: Record<string, string> = { ...ids, project: OTHER, target: "echo", operation: "list" };
  const own = path.includes("/god/pmo/") ? { ...given, tool: "fork_join" } : given;
  return paramsOf(path)
    .reduce((url, name) => url.replace(`/:${name}`, `/${own[name]}`), path)
    .replace("::", ":");
}

describe("a tenant", () => {
  it("finds nothing of another tenant under its own project, by any id, in any list, with any key", async () => {
    const before = await fx.everything();
    const seen: Record<string, number> = {};
    const asked = server.routes.filter(
      ({ id, path }) => path.startsWith("/projects/:project") && !MAKES_ITS_OWN.has(id) && !NOT_ABOUT_IDS.has(id),
    );
    expect(asked.length).toBeGreaterThan(30);
    for (const route of asked) {
      for (const key of ["admin2", "admin"]) {
        const json = bodies()[route.id];
        const answer = await fx.send(
          route.method,
          urlOf(route),
          { key, ...(json === undefined ? {} : { json }) },
          server,
        );
        seen[route.id] = answer.status;
        const isById = paramsOf(route.path).some((name) => name in ids);
        if (isById)
          expect({ id: route.id, key, status: answer.status, text: answer.text }).toMatchObject({ status: 404 });
        else if (answer.status < 300 && !["readCards", "readBoxes"].includes(route.id)) {
          for (const word of words()) expect(answer.text, route.id).not.toContain(word);
        }
      }
    }
    expect(await fx.everything()).toBe(before);
    expect(seen).toMatchObject({ listTurns: 200, listTools: 200, listSteps: 200, listHeads: 200, claimCalls: 200 });
    expect(seen).toMatchObject({ enqueueTurn: 404, createAgent: 404, godStop: 404, godCallPmo: 404 });
  });

  it("is told that cards and boxes of another tenant are missing", async () => {
    const post = (path: string, json: unknown) =>
      fx.send("POST", `/projects/${OTHER}/${path}`, { key: "admin2", json });
    expect((await post("cards/batch", { card_ids: [ids.card] })).body).toEqual({ cards: [], missing_ids: [ids.card] });
    expect((await post("boxes/batch", { box_ids: [ids.box] })).body).toMatchObject({
      boxes: [],
      missing_box_ids: [ids.box],
    });
  });

  it("does not see, and cannot revoke, another tenant's keys, and sees no other project", async () => {
    const keys = await fx.send("GET", "/keys", { key: "admin2" });
    expect(keys.body.keys.map((key: { project_id: string }) => key.project_id)).not.toContain(PROJECT);
    expect((await fx.send("DELETE", `/keys/${ids.key}`, { key: "admin2" })).status).toBe(404);
    expect((await fx.send("GET", `/projects/${PROJECT}/tools`, { key: "viewer" })).status).toBe(200);
    const projects = await fx.send("GET", "/projects", { key: "admin2" });
    expect(projects.body.projects.map((project: { project_id: string }) => project.project_id)).toEqual([OTHER]);
  });

  it("makes what is called like another tenant's without touching it", async () => {
    const put = await fx.send("PUT", `/projects/${OTHER}/tools/secret_tool`, {
      ...{ key: "admin2", headers: yaml, payload: TOOL_YAML("secret_tool").replace("echo.run", "own.run") },
    });
    expect(put.status, put.text).toBe(201);
    const own = await fx.send("GET", `/projects/${PROJECT}/tools/secret_tool`, { key: "viewer" });
    expect(own.body).toMatchObject({ project_id: PROJECT, version: 1 });
    expect(own.body.target_subject).toContain("echo.run");
  });
});
