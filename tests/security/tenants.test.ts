// Two tenants on one store and one bus, with tools and agents of the same names: a listener to one hears nothing of the
// other, by the API's streams or by the bus; and when one is deleted, nothing that it ever wrote is left.
//
//   T1. Both listeners hear their own project, so that silence means something.
//   T2. After the deletion every column of every row is searched, not only those that are called project_id.
//
// Every route with another tenant's ids: packages/server/src/access/isolation.test.ts. Every route with another tenant's key:
// packages/server/src/access/rights.test.ts. Rows left by every kind of work: packages/kernel/test/resources/projects.test.ts.

import { type TestEngine, waitFor } from "@tessera/testkit";
import { defineTool, ToolError } from "@tessera/tool";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type EventReader, readEvents } from "../../packages/server/test/event-reader.ts";
import { dumpOf } from "../tools/secret-search.ts";
import { type HostedProject, ToolWorld } from "../tools/tool-world.ts";

const AGENT = "the_same_agent";

const talker = defineTool({
  name: "talk__run",
  effect: "read",
  placement: "service",
  target: "talkers",
  parameters: { type: "object", required: ["word"], properties: { word: { type: "string" } } },
  handler: (ctx, { word }) => {
    ctx.progress({ message: `progress ${word}`, data: { word } });
    ctx.logger.info("said", word);
    return { word };
  },
});
const failing = defineTool({
  name: "fail__run",
  effect: "read",
  parameters: { type: "object", required: ["word"], properties: { word: { type: "string" } } },
  handler: (_, { word }) => {
    throw new ToolError(`failed with ${word}`);
  },
});

describe.each<TestEngine>(["pglite", "postgres"])("two tenants, on %s", (engine) => {
  let world: ToolWorld;
  const tenants: { readonly hosted: HostedProject; readonly word: string }[] = [];
  const heard: string[][] = [[], []];
  const streams: EventReader[] = [];
  let url = "";
  let admin = "";

  const request = (method: string, path: string) =>
    fetch(new URL(path, url), { method, headers: { authorization: `Bearer ${admin}` } });

  beforeAll(async () => {
    world = await ToolWorld.open(engine);
    const api = await world.api();
    [url, admin] = [api.url, api.key.text];
    const decoder = new TextDecoder();
    for (const n of [0, 1]) {
      const hosted = await world.host({ tools: [talker, failing] });
      tenants.push({ hosted, word: world.node.ids.mint(`word${n}`) });
      const { bus, kernel } = world.node;
      for (const category of ["cmd", "evt", "str"]) {
        const pattern = `cg.v1r4.${hosted.project}.*.${category}.>`;
        const durable = `listener_${n}_${category}_${hosted.project}`;
        const listening = await bus.subscribe({ pattern, durable }, (delivery) => {
          const { subject, headers, data } = delivery;
          heard[n]?.push(`${subject} ${JSON.stringify(headers)} ${decoder.decode(data)}`);
          delivery.ack();
        });
        world.closeFirst(() => listening.stop());
      }
      const key = await kernel.createApiKey({ role: "viewer", project_id: hosted.project });
      if (key.outcome === "rejected") throw new Error(key.code);
      streams.push(await readEvents({ url }, `/projects/${hosted.project}/events?after=0`, { key: key.text }));
    }
    for (const { hosted, word } of tenants) {
      for (const tool of ["talk__run", "fail__run", `none__${word}`.slice(0, 60)]) {
        await world.call(hosted, tool, { word }, { agent_id: `${AGENT}_${hosted.project}`.slice(0, 64) });
      }
    }
  });
  afterAll(async () => {
    for (const stream of streams) stream.close();
    await world.close();
  });

  const marksOf = (n: number) => {
    const tenant = tenants[n];
    if (tenant === undefined) throw new Error(`${n}`);
    return [tenant.hosted.project, tenant.word];
  };

  it.each([
    [0, 1],
    [1, 0],
  ])("listener %i hears its own project and nothing of tenant %i, on the bus and on the stream", async (own, other) => {
    const ends = () => streams[own]?.events.filter(({ event }) => event === "task").length ?? 0;
    await waitFor(() => ends() >= 3, { what: `three ends; ${streams[own]?.text()}` }); // T1
    const [project = "", word = ""] = marksOf(own);
    const bus = heard[own]?.join("\n") ?? "";
    expect(bus).toContain(project);
    expect(bus).toContain(word); // its progress
    for (const mark of marksOf(other)) {
      expect(bus).not.toContain(mark);
      expect(streams[own]?.text()).not.toContain(mark);
    }
  });

  it("nothing of a deleted tenant is left in any column of any table, and the other is as it was", async () => {
    const [project = "", word = ""] = marksOf(0);
    const before = await dumpOf(world.node.store.database);
    expect(Object.values(before).join("\n")).toContain(word);
    const rowsWith = (dump: Record<string, string>, mark: string) =>
      Object.entries(dump)
        .filter(([, text]) => text.includes(mark))
        .map(([name]) => name);
    expect(rowsWith(before, project).length).toBeGreaterThan(8);
    const deleted = await request("DELETE", `/projects/${project}`);
    expect(deleted.status, await deleted.text()).toBe(204);
    const after = await dumpOf(world.node.store.database);
    // The administrator's own log says that it was deleted, and by whom. T2
    expect(rowsWith(after, project).filter((name) => name !== "state.audit_log")).toEqual([]);
    expect(rowsWith(after, word)).toEqual([]);
    const [kept = "", keptWord = ""] = marksOf(1);
    expect(rowsWith(after, kept)).toEqual(rowsWith(before, kept));
    expect(rowsWith(after, keptWord)).toEqual(rowsWith(before, keptWord));
    expect((await request("GET", `/projects/${project}/turns`)).status).toBe(404);
  });
});
