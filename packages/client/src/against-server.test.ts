// The client against a real server on a real kernel: every operation that only reads, and the way of a turn.

import { beforeAll, describe, expect, it } from "vitest";
import { type Call, PROJECT, useServer } from "../../server/test/fixture.ts";
import { testTimers } from "../test/api-double.ts";
import { ApiError, type Client, createClient, OPERATIONS } from "./index.ts";
import { webTimers } from "./timers.ts";

const fixture = useServer();
const TOOL = `tool_name: words__count
description: Counts
target_subject: cg.v1r4.{project_id}.{channel_id}.cmd.tool.words.count
after_execution: suspend
parameters: { type: object }
`;
let client: Client;
let call: Call;

beforeAll(async () => {
  client = createClient({ url: fixture.server.url, apiKey: fixture.keys.admin ?? "" });
  const [first] = await fixture.suspended();
  if (first === undefined) throw new Error("no call");
  call = first;
});

describe("reading", () => {
  const reads = Object.entries(OPERATIONS).filter(([, spec]) => spec.method === "GET" && spec.answer !== "events");

  it.each(reads)("%s is understood by the server", async (id, spec) => {
    const known: Record<string, string> = { project: PROJECT, turn: call.agent_turn_id, agent: call.agent_id };
    const names = [...spec.path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name ?? "");
    const args = Object.fromEntries(names.map((name) => [name, known[name] ?? "absent"]));
    const method = client[id as "getTurn"] as (call: unknown) => Promise<unknown>;
    const answer = await method(args).catch((error: unknown) => error);
    if (answer instanceof ApiError) {
      // What does not exist here, and what this server has no port for, is told as such and not as a mistake of the request.
      const isAbsent = Object.values(args).includes("absent");
      expect(answer).toMatchObject(isAbsent ? { status: 404 } : { status: 501, code: "not_implemented" });
    } else expect(answer).toBeTypeOf(spec.answer === "text" ? "string" : "object");
  });

  it("pages through a list by its cursor", async () => {
    const agents = new Set<string>();
    await fixture.suspended();
    let cursor: string | null = null;
    do {
      const page: Awaited<ReturnType<Client["listAgents"]>> = await client.listAgents({
        project: PROJECT,
        limit: 1,
        ...(cursor === null ? {} : { cursor }),
      });
      for (const { agentId: agent_id } of page.agents) agents.add(agent_id);
      cursor = page.nextCursor;
    } while (cursor !== null);
    expect(agents.size).toBeGreaterThanOrEqual(2);
  });
});

describe("writing", () => {
  it("uploads a tool, reads it and removes it", async () => {
    await client.uploadTools({ project: PROJECT, body: new TextEncoder().encode(TOOL) });
    expect(await client.getTool({ project: PROJECT, tool: "words__count" })).toMatchObject({ description: "Counts" });
    expect(await client.deleteTool({ project: PROJECT, tool: "words__count" })).toBeUndefined();
    await expect(client.getTool({ project: PROJECT, tool: "words__count" })).rejects.toMatchObject({ status: 404 });
  });

  it("is told the problem of a wrong document, with its place", async () => {
    await expect(client.uploadTools({ project: PROJECT, body: "- 1" })).rejects.toMatchObject({
      name: "ApiError",
      status: 400,
      code: "root_must_be_mapping",
      requestId: expect.stringMatching(/^req_/),
    });
  });

  it("changes a project only in the version that was read", async () => {
    let tag = "";
    await client.getProject({
      project: PROJECT,
      onAnswer: ({ etag }) => {
        tag = etag ?? "";
      },
    });
    const change = { project: PROJECT, body: { title: "new" }, ifMatch: tag };
    expect(await client.updateProject(change)).toMatchObject({ title: "new" });
    await expect(client.updateProject(change)).rejects.toMatchObject({ status: 412, code: "precondition_failed" });
  });

  it("is refused with a wrong key, which the error does not show", async () => {
    const stranger = createClient({ url: fixture.server.url, apiKey: "tsk_wrong" });
    const error: unknown = await stranger.listProjects().catch((reason: unknown) => reason);
    expect(error).toMatchObject({ status: 401, code: "unauthenticated" });
    expect(String(error)).not.toContain("tsk_wrong");
  });
});

describe("following a turn", () => {
  it("streams its events, and goes on where it left off", async () => {
    const [one] = await fixture.suspended();
    const seen: number[] = [];
    const follow = async (after: number, count: number) => {
      const order = { project: PROJECT, agentTurnId: one?.agent_turn_id ?? "", after };
      for await (const { data, id } of client.streamEvents(order)) {
        expect(id).toBe(String(data.seq));
        seen.push(data.seq);
        if (seen.length === count) break;
      }
    };
    await follow(0, 1);
    await follow(seen[0] ?? 0, 2);
    expect(seen).toHaveLength(2);
    expect(seen[1]).toBeGreaterThan(seen[0] ?? 0);
  });

  it("waits for its end by events, without polling", async () => {
    const [one] = await fixture.suspended();
    const turn = one?.agent_turn_id ?? "";
    const polls = { ...testTimers(), after: () => ({ cancel: () => undefined }) };
    const patient = createClient({ url: fixture.server.url, apiKey: fixture.keys.admin ?? "", timers: polls });
    const wait = patient.waitForTurn({ project: PROJECT, turn });
    await client.stopTurn({ project: PROJECT, turn, body: {} });
    expect(await wait).toMatchObject({ agentTurnId: turn, status: "canceled", endedAt: expect.any(String) });
  });

  it("looks again and again where events do not come through", async () => {
    const [one] = await fixture.suspended();
    const turn = one?.agent_turn_id ?? "";
    let looks = 0;
    const deaf = createClient({
      url: fixture.server.url,
      apiKey: fixture.keys.admin ?? "",
      timers: testTimers(),
      fetch: async (input, init) => {
        if (String(input).includes("/events")) return new Response("no", { status: 403 });
        looks++;
        if (looks === 3) await client.stopTurn({ project: PROJECT, turn, body: {} });
        return fetch(input, init);
      },
    });
    expect(await deaf.waitForTurn({ project: PROJECT, turn })).toMatchObject({ status: "canceled" });
    expect(looks).toBe(3);
  });

  it("answers the turn as it is when the time has run out", async () => {
    const [one] = await fixture.suspended();
    const late = {
      ...webTimers,
      after: (ms: number, task: () => void) => webTimers.after(ms === 90_000 ? 0 : ms, task),
    };
    const hasty = createClient({ url: fixture.server.url, apiKey: fixture.keys.admin ?? "", timers: late });
    const turn = await hasty.waitForTurn({ project: PROJECT, turn: one?.agent_turn_id ?? "", timeoutMs: 90_000 });
    expect(turn).toMatchObject({ endedAt: null, status: "suspended" });
  });

  it("ends with the reason of the signal that aborts the wait", async () => {
    const stop = new AbortController();
    const wait = client.waitForTurn({ project: PROJECT, turn: call.agent_turn_id, signal: stop.signal });
    const reason = new Error("enough");
    stop.abort(reason);
    await expect(wait).rejects.toBe(reason);
  });
});
