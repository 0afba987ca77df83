// Tool definitions by digest, the roster, events by cursor.

import { describe, expect, it } from "vitest";
import { hold, PROJECT, useFixture } from "../fixture.ts";

const fx = useFixture();
const definition = {
  project_id: PROJECT,
  tool_name: "search__web",
  target_subject: "cg.v1r4.{project_id}.{channel_id}.cmd.tool.search.web",
  after_execution: "suspend" as const,
  parameters: { type: "object", properties: { q: { type: "string" } } },
};

describe("a tool definition", () => {
  it("is appended when it changes and not when only its key order does", async () => {
    const first = await fx.kernel.putTool(definition);
    expect(first).toMatchObject({ outcome: "accepted", version: 1 });
    expect(
      await fx.kernel.putTool({ ...definition, parameters: { properties: { q: { type: "string" } }, type: "object" } }),
    ).toMatchObject({ outcome: "duplicate", version: 1 });
    const second = await fx.kernel.putTool({ ...definition, description: "searches" });
    expect(second).toMatchObject({ outcome: "accepted", version: 2 });
    expect(await fx.kernel.putTool(definition)).toMatchObject({ outcome: "accepted", version: 3 });
    expect((await fx.kernel.reads.tools(PROJECT)).map((tool) => tool.version)).toEqual([3]);
    const pinned = await fx.kernel.reads.toolByDigest(
      PROJECT,
      "search__web",
      second.outcome === "accepted" ? second.digest : "",
    );
    expect(pinned?.description).toBe("searches");
  });

  it("whose values are no JSON, or deeper than any reader accepts, is refused and changes nothing", async () => {
    let deep: Record<string, never> = {};
    for (let level = 0; level < 20_000; level += 1) deep = { deep } as never;
    const before = await fx.everything();
    for (const [value, code] of [
      [deep, "too_deep"],
      [{ title: "\0" }, "schema_invalid"],
      [JSON.parse('{"__proto__": 1}'), "forbidden_key"],
    ] as const) {
      expect(await fx.kernel.putTool({ ...definition, parameters: value })).toEqual({ outcome: "rejected", code });
      expect(await fx.kernel.putTool({ ...definition, options: value })).toEqual({ outcome: "rejected", code });
    }
    expect(await fx.everything()).toBe(before);
  });

  it("that is removed is gone from the list, and still there for the calls that pinned it", async () => {
    const put = await fx.kernel.putTool({ ...definition, tool_name: "gone" });
    const digest = put.outcome === "accepted" ? put.digest : "";
    expect((await fx.kernel.removeTool({ project_id: PROJECT, tool_name: "gone" })).outcome).toBe("accepted");
    expect(await fx.kernel.removeTool({ project_id: PROJECT, tool_name: "gone" })).toMatchObject({ code: "not_found" });
    expect((await fx.kernel.reads.tools(PROJECT)).map((tool) => tool.tool_name)).not.toContain("gone");
    expect(await fx.kernel.reads.toolByDigest(PROJECT, "gone", digest)).not.toBeNull();
  });
});

describe("events", () => {
  it("are read by cursor, in order, once each", async () => {
    const turn = await fx.suspended();
    await fx.report(await fx.opened(turn));
    await fx.finish(await fx.resumed(turn.agent_id, turn.worker_id));
    const seen: string[] = [];
    let cursor = 0;
    for (;;) {
      const page = await fx.kernel.reads.eventsAfter(PROJECT, cursor, 2);
      if (page.length === 0) break;
      seen.push(
        ...page
          .filter((event) => event.agent_turn_id === turn.agent_turn_id)
          .map((event) => `${event.kind}:${event.status}`),
      );
      cursor = page.at(-1)?.seq ?? cursor;
    }
    expect(seen).toEqual(["state:dispatched", "state:running", "state:suspended", "task:success"]);
  });

  it("of a transaction that is still open are not read, so that none is skipped", async () => {
    if (fx.store.engine === "pglite") return; // One session: no transaction can be open beside the reader.
    const cursor = (await fx.kernel.reads.eventsAfter(PROJECT, 0)).at(-1)?.seq ?? 0;
    const slow = await fx.store.another();
    const turn = await fx.started();
    await slow.transaction(async (tx) => {
      await tx.query(
        "insert into state.events (project_id, agent_id, agent_turn_id, kind, status, turn_epoch, created_at) values ($1, 'a', 'slow', 'state', 'running', 1, now())",
        [PROJECT],
      );
      await fx.finish(turn);
      const during = await fx.kernel.reads.eventsAfter(PROJECT, cursor);
      expect(
        during.some((event) => event.kind === "task"),
        "a later event must wait for the slow one",
      ).toBe(false);
    });
    const after = await fx.kernel.reads.eventsAfter(PROJECT, cursor);
    expect(after.map((event) => event.agent_turn_id)).toContain("slow");
    expect(after.some((event) => event.kind === "task" && event.agent_turn_id === turn.agent_turn_id)).toBe(true);
  });
});

describe("an agent of another project", () => {
  it("is not there: not to resume, not to read, not to write", async () => {
    const turn = await fx.started();
    const foreign = { ...hold(turn), project_id: "p9" };
    expect(await fx.kernel.resume({ project_id: "p9", agent_id: turn.agent_id, worker_id: turn.worker_id })).toEqual({
      outcome: "rejected",
      code: "not_found",
    });
    expect(await fx.finish(foreign)).toEqual({ outcome: "rejected", code: "not_found" });
    expect(await fx.kernel.reads.turn("p9", turn.agent_turn_id)).toBeNull();
    expect(await fx.kernel.reads.boxCards("p9", turn.output_box_id)).toEqual([]);
  });
});

describe("an agent that must be new", () => {
  const agent = { project_id: PROJECT, agent_id: "only_once", worker_target: "w", only_new: true };
  const edge = (edge_id: string) => ({ identity_edge: { edge_id, action: "create" } });

  it("is made once, and a repetition of the same request is distinguished from another one by its edge", async () => {
    expect(await fx.kernel.putAgent({ ...agent, ...edge("edge_1") })).toMatchObject({ outcome: "accepted" });
    expect(await fx.kernel.putAgent({ ...agent, ...edge("edge_1") })).toMatchObject({ outcome: "duplicate" });
    expect(await fx.kernel.putAgent({ ...agent, worker_target: "other", ...edge("edge_2") })).toMatchObject({
      outcome: "rejected",
      code: "conflict",
    });
    expect(await fx.kernel.putAgent({ ...agent, worker_target: "other" })).toMatchObject({ code: "conflict" });
    expect(await fx.kernel.reads.agent(PROJECT, "only_once")).toMatchObject({ worker_target: "w" });
  });
});
