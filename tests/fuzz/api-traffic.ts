// A real request for every operation of the API, and a world in which each is answered: what the HTTP suite damages.
//
//   T1. What an operation ends for good (a project, a key, a tool, a turn) is its own: no damaged copy takes away what the
//       others need.

import { createAgentRuntime, deployProfiles, enqueueAgentTurn, readProfileYaml } from "@tessera/agent";
import type { Agents, RouteSpec } from "@tessera/server";
import { OTHER, PROJECT } from "../../packages/server/test/fixture.ts";
import type { ManagementFixture } from "../../packages/server/test/management-fixture.ts";
import type { WireRequest } from "./wire-client.ts";

const TOOL = `tool_name: TOOL
description: Echoes.
target_subject: cg.v1r4.{project_id}.{channel_id}.cmd.tool.echo.run
after_execution: suspend
parameters: {type: object, properties: {text: {type: string}}}
`;
const PROFILE = "name: planner\nworker_target: workers\nllm_config: {model: openai/x}\n";

export interface ApiDeps {
  readonly params: Readonly<Record<string, string>>;
  /** By operation, where it differs from `params` (T1). */
  readonly ownParams: Readonly<Record<string, Readonly<Record<string, string>>>>;
  readonly headers: Readonly<Record<string, readonly [string, string]>>;
}

export function agentsOf(fx: ManagementFixture): Agents {
  return {
    async enqueue(order) {
      const { agent_turn_id, agent_id, outcome } = await enqueueAgentTurn(fx.kernel, fx.ids, order);
      return { agent_turn_id, agent_id, isNew: outcome === "accepted" };
    },
    async runtime(caller, operation, { ordinal, target = "", event = {}, options = {} }, signal) {
      const runtime = createAgentRuntime({ kernel: fx.kernel, clock: fx.clock, caller, ordinal, signal });
      const whole = { id: "e", type: "t", createdAt: new Date(0), source: { kind: "agent", name: "x" }, ...event };
      if (operation === "request") return await runtime.request(target, whole as never, options);
      if (operation === "send") return await runtime.send(target, whole as never);
      if (operation === "spawn") return await runtime.spawn(target, options);
      return operation === "list" ? await runtime.list(options) : await runtime.catalog();
    },
  };
}

export async function makeApiWorld(fx: ManagementFixture): Promise<ApiDeps> {
  for (const tool_name of ["echo__run", "echo__spare"]) {
    const target_subject = "cg.v1r4.{project_id}.{channel_id}.cmd.tool.echo.run";
    await fx.kernel.putTool({ project_id: PROJECT, tool_name, target_subject, after_execution: "suspend" });
  }
  await deployProfiles(fx.kernel, PROJECT, [readProfileYaml(PROFILE).profile]);
  await fx.key("spare", { role: "viewer", project_id: PROJECT });
  const [waiting, stopping, seen] = [await fx.suspended(), await fx.suspended(), await fx.suspended()];
  const [held, reporting, saving, running] = [await fx.held(), await fx.held(), await fx.held(), await fx.held()];
  const turn = await fx.kernel.reads.turn(PROJECT, seen[0]?.agent_turn_id ?? "");
  const box = String(turn?.output_box_id);
  const cards = await fx.kernel.reads.boxCards(PROJECT, box);
  const capability = (call: typeof held) => ["CG-Report-Capability", call.opened.capability] as const;
  return {
    params: {
      ...{ project: PROJECT, target: "echo", tool: "echo__run", profile: "planner", box, operation: "send" },
      ...{ turn: seen[0]?.agent_turn_id ?? "", agent: seen[0]?.agent_id ?? "", card: cards[0]?.card_id ?? "" },
      ...{ call: held.tool_call_id, key: fx.keyIds.spare ?? "" },
    },
    ownParams: {
      ...{ deleteProject: { project: OTHER }, updateProject: { project: OTHER }, deleteTool: { tool: "echo__spare" } },
      ...{ stopTurn: { turn: stopping[0]?.agent_turn_id ?? "" }, openCall: { call: waiting[0]?.tool_call_id ?? "" } },
      ...{ reportCall: { call: reporting.tool_call_id }, putResultCard: { call: saving.tool_call_id } },
      ...{ callRuntime: { call: running.tool_call_id }, godCallPmo: { tool: "launch_principal" } },
      deleteProfile: { profile: "missing" },
    },
    headers: {
      openCall: ["CG-Call-Ticket", waiting[0]?.ticket ?? ""],
      heartbeatCall: capability(held),
      reportCall: capability(reporting),
      putResultCard: capability(saving),
      callRuntime: capability(running),
      enqueueTurn: ["Idempotency-Key", "key-1"],
      putTool: ["If-None-Match", "*"],
      streamEvents: ["Last-Event-ID", "0"],
    },
  };
}

export interface ApiExample extends WireRequest {
  /** The body before it was written, where it is JSON. */
  readonly json: unknown;
}

export function exampleOf(route: RouteSpec, world: ApiDeps, key: string): ApiExample {
  const params: Readonly<Record<string, string>> = { ...world.params, ...world.ownParams[route.id] };
  const path = route.path.replace(/\/:([a-z]+)/g, (_, name: string) => `/${params[name] ?? "x"}`).replace("::", ":");
  const json = route.body === "json" ? bodyOf(route, params) : undefined;
  const own = world.headers[route.id];
  const type = route.body === "json" ? "application/json" : "application/yaml";
  const upload = route.id.includes("Profile") ? PROFILE : TOOL.replace("TOOL", params.tool ?? "");
  return {
    method: route.method,
    target: path,
    headers: [
      ["Host", "localhost"],
      ["Authorization", `Bearer ${key}`],
      ...(route.body === undefined ? [] : [["Content-Type", type] as const]),
      ...(own === undefined ? [] : [own]),
    ],
    body: route.body === undefined ? null : route.body === "json" ? JSON.stringify(json) : upload,
    json,
  };
}

const WORDS: Readonly<Record<string, unknown>> = {
  ...{
    wait_ms: 0,
    wait_seconds: 0,
    timeout_seconds: 1,
    after_execution: "suspend",
    status: "success",
    project_id: PROJECT,
  },
  ...{ role: "viewer", trace_id: "a".repeat(32), profile_name: "planner", agent: "planner", target: "planner" },
};

/** A body with every field that its schema names. */
function bodyOf(route: RouteSpec, params: Readonly<Record<string, string>>): unknown {
  const world = { agent_id: params.agent, agent_turn_id: params.turn, caller_agent_id: params.agent };
  const special: Readonly<Record<string, unknown>> = {
    reportCall: { status: "success", result: { ok: [1] }, after_execution: "suspend" },
    putResultCard: { content: { status: "success", result: { ok: true } } },
    enqueueTurn: { agent: "planner", input: "hello", channel_id: "c1" },
    createProject: { project_id: "made", title: "t", owner_id: "o" },
    createAgent: { agent_id: "made", profile_name: "planner", tags: ["a"], metadata: { a: 1 } },
    readBoxes: { box_ids: [params.box], hydrate: true, limit: 2 },
    readCards: { card_ids: [params.card] },
    callTool: { arguments: { text: "x" }, wait_seconds: 0 },
    updateProject: { title: "other", status: "active" },
  };
  return special[route.id] ?? sampleOf(route.bodySchema as unknown as Schema, { ...WORDS, ...world }, "");
}

interface Schema {
  readonly type?: string;
  readonly enum?: readonly unknown[];
  readonly minimum?: number;
  readonly anyOf?: readonly Schema[];
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
}

function sampleOf(schema: Schema, words: Readonly<Record<string, unknown>>, name: string): unknown {
  if (Object.hasOwn(words, name)) return words[name];
  if (schema.enum !== undefined) return schema.enum[0];
  if (schema.anyOf?.[0] !== undefined) return sampleOf(schema.anyOf[0], words, name);
  if (schema.type === "integer" || schema.type === "number") return schema.minimum ?? 1;
  if (schema.type === "boolean") return false;
  if (schema.type === "array") return schema.items === undefined ? [] : [sampleOf(schema.items, words, "")];
  if (schema.type === "string") return "x1";
  if (schema.type !== "object") return { any: 1 };
  const fields = Object.entries(schema.properties ?? {});
  return Object.fromEntries(fields.map(([field, each]) => [field, sampleOf(each, words, field)]));
}
