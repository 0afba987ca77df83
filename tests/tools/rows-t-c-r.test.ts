// The C rows of docs/reference/security.md, those R rows that need a running executor, and the N rows about cards and wakeups.
// The row's number is in each title. Where every row is tested: tests/security/rows.

import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { startToolService } from "@tessera/executor";
import { HEADERS } from "@tessera/protocol";
import { waitFor } from "@tessera/testkit";
import { defineTool, ToolError } from "@tessera/tool";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { changedTables, rowsDigest } from "../fuzz/rows-digest.ts";
import { CallWorld } from "./call-world.ts";
import { dumpOf } from "./secret-search.ts";
import { ToolWorld } from "./tool-world.ts";
import { startUpstream } from "./upstream.ts";

const CLI = join(import.meta.dirname, "../../packages/cli/bin/tessera.js");
/** What a terminal or a browser would act on. */
const ACTIVE = "\u001b[31mred\u001b]0;title\u0007 <script>alert(1)</script> <svg onload=x> javascript:alert(1)";

describe.each(["pglite", "postgres"] as const)("a card, on %s", (engine) => {
  let world: CallWorld;
  beforeAll(async () => {
    world = await CallWorld.open({ engine });
  });
  afterAll(async () => {
    await world.expectSafe();
    await world.close();
  });

  const card = (content: unknown, rest: object = {}) =>
    ({
      project_id: world.project,
      card_id: world.ids.mint("card"),
      type: "task.instruction",
      author_id: "user.ann",
      content,
      ...rest,
    }) as Parameters<typeof world.kernel.putCard>[0];
  const nested = (depth: number) => {
    let value: unknown = 1;
    for (let n = 0; n < depth; n += 1) value = { it: value };
    return value;
  };

  it.each<[string, string, () => ReturnType<typeof card>]>([
    ["C1 with a bare text", "invalid_card", () => card("just text")],
    ["C1 with a bare object of another shape", "invalid_card", () => card({ words: "x" })],
    ["C1 of an unknown type", "invalid_card", () => card({ text: "x" }, { type: "task.rumour" })],
    ["C3 with NUL", "schema_invalid", () => card({ text: "a\u0000b" })],
    ["C3 with half a character", "schema_invalid", () => card({ text: "a\ud800b" })],
    ["C4 of 1 MiB and a byte", "payload_too_large", () => card({ text: "x".repeat(1_048_577) })],
    ["C4 of 100 MB", "payload_too_large", () => card({ text: "x".repeat(100_000_000) })],
    // 64 levels are the author's, 8 more the envelopes' (docs/design.md#one-json-gate); `data` is one of them.
    ["C4 one level too deep", "too_deep", () => card({ data: nested(72) }, { type: "task.deliverable" })],
    [
      "C4 with 100,000 keys",
      "payload_too_large",
      () =>
        card(
          { data: Object.fromEntries(Array.from({ length: 100_001 }, (_, n) => [`k${n}`, 1])) },
          { type: "task.deliverable" },
        ),
    ],
  ])("%s is refused as %s, and nothing is stored", async (_, code, make) => {
    const made = make();
    const before = await rowsDigest(world.store.database);
    expect(await world.kernel.putCard(made)).toEqual({ outcome: "rejected", code });
    expect(changedTables(before, await rowsDigest(world.store.database))).toEqual([]);
  });

  it("C1 with `meta` instead of `metadata` is refused as invalid_card", async () => {
    const strange = { ...card({ text: "x" }), meta: { a: 1 } };
    expect(await world.kernel.putCard(strange)).toMatchObject({ outcome: "rejected", code: "invalid_card" });
  });

  it("C2 with the id of another content is a conflict, with its own content it is the same card", async () => {
    const first = card({ text: "one" });
    expect(await world.kernel.putCard(first)).toMatchObject({ outcome: "accepted" });
    expect(await world.kernel.putCard(first)).toMatchObject({ outcome: "accepted" });
    const other = { ...first, content: { text: "two" } };
    expect(await world.kernel.putCard(other)).toMatchObject({ outcome: "rejected", code: "conflict" });
    expect((await world.kernel.reads.cards(world.project, [String(first.card_id)]))[0]?.content).toEqual({
      text: "one",
    });
  });

  it.each(["1970-01-01T00:00:00Z", "9999-12-31T23:59:59Z"])(
    "C5 that says it is of %s has the store's time",
    async (at) => {
      const made = card({ text: "x" }, { created_at: at });
      await world.kernel.putCard(made);
      const [stored] = await world.kernel.reads.cards(world.project, [String(made.card_id)]);
      const [now] = await world.store.database.query<{ ms: number }>(
        "select extract(epoch from clock_timestamp()) * 1000 as ms",
      );
      expect(Math.abs(new Date(String(stored?.created_at)).getTime() - Number(now?.ms))).toBeLessThan(60_000);
    },
  );

  it("C6 cannot be written into a box that is another agent's, no agent's, or shared", async () => {
    const { kernel, ids, project } = world;
    const one = await world.commit();
    const turn = await kernel.reads.turn(project, one.agent_turn_id);
    const agent_id = ids.mint("agent");
    const profile_box_id = ids.mint("box");
    await kernel.putBox({ project_id: project, box_id: profile_box_id });
    await kernel.putAgent({ project_id: project, agent_id, worker_target: "unused", profile_box_id });
    const enqueue = (output_box_id: string) => kernel.enqueueTurn({ project_id: project, agent_id, output_box_id });
    expect(await enqueue(String(turn?.output_box_id))).toMatchObject({ outcome: "rejected", code: "forbidden" });
    expect(await enqueue(profile_box_id)).toMatchObject({ outcome: "rejected", code: "forbidden" });
    // Whether a box of that name exists is not disclosed: the answer is the same.
    expect(await enqueue("box_nobody")).toMatchObject({ outcome: "rejected", code: "forbidden" });
    // A turn that does not run may not append at all.
    const stray = await kernel.appendCards({
      ...one,
      turn_epoch: one.turn_epoch + 1,
      cards: [{ type: "task.instruction", content: { text: "x" } } as never],
    });
    expect(stray).toMatchObject({ outcome: "rejected" });
  });

  it("C7 with what a terminal or a browser would act on is stored as it is", async () => {
    const made = card({ text: ACTIVE });
    await world.kernel.putCard(made);
    expect((await world.kernel.reads.cards(world.project, [String(made.card_id)]))[0]?.content).toEqual({
      text: ACTIVE,
    });
  });

  it("R2, R13 a capability whose attempt has lapsed or gone to another executor counts no more", async () => {
    const { kernel, project } = world;
    const call = await world.commit({ effect: "idempotent", attempts_max: 3 });
    const ticket = call.command.headers[HEADERS.call_ticket] ?? "";
    const open = (executor: string, lease_ms: number) =>
      kernel.openCall({ project_id: project, tool_call_id: call.tool_call_id, ticket, executor, lease_ms });
    const first = await open("replica-1", 1);
    if (first.outcome === "rejected") throw new Error(first.code);
    const second = await waitFor(
      async () => {
        await kernel.sweep();
        const again = await kernel.claimCalls({ project_id: project, target: "echo", executor: "replica-2" });
        return again.find((each) => each.tool_call_id === call.tool_call_id);
      },
      { what: "another replica to have it" },
    );
    const content = { status: "success", after_execution: "suspend", result: { from: 1 }, error: null } as const;
    const report = (capability: string) =>
      kernel.report({ project_id: project, tool_call_id: call.tool_call_id, capability, content });
    expect(await report(first.capability)).toMatchObject({ outcome: "rejected" });
    expect(await report("f".repeat(64))).toMatchObject({ outcome: "rejected", code: "auth_failed" });
    expect(await world.call(call.tool_call_id)).toMatchObject({ wait_status: "waiting", claimed_by: "replica-2" });
    expect(await report(second.capability)).toMatchObject({ outcome: "accepted" });
    expect(await report(second.capability)).toMatchObject({ outcome: "duplicate" });
  });
});

describe("what a tool says", () => {
  let world: ToolWorld;
  beforeAll(async () => {
    world = await ToolWorld.open("pglite");
  });
  afterAll(() => world.close());

  it("R14 in an error of 10 MB is cut to 1,000 characters, without the secret in it", async () => {
    const secret = "r14-secret-value";
    const loud = defineTool({
      name: "loud__run",
      envs: { token: "R14_TOKEN" },
      effect: "read",
      handler: (_, input) => {
        throw new ToolError(`${ACTIVE} ${String((input as { token?: string }).token)} ${"x".repeat(10_000_000)}`);
      },
    });
    const hosted = await world.host({ tools: [loud], env: { R14_TOKEN: secret } });
    const answer = await world.call(hosted, "loud__run", {});
    expect(answer.error?.message.length).toBeLessThanOrEqual(1_000);
    expect(answer.error?.message.endsWith("... (truncated)")).toBe(true);
    expect(answer.error?.message).toContain("***");
    expect(JSON.stringify(answer)).not.toContain(secret);
  });

  it("R10 as a control of its own is obeyed or refused; deeper, or from a server outside, it is only data", async () => {
    const control = (after_execution: string) => ({ __cg_control: { after_execution } });
    const steer = defineTool({
      name: "steer__run",
      effect: "read",
      handler: (_, input) => ({ ...(input as { say: object }).say }) as never,
    });
    const upstream = await startUpstream(() => ({ body: { ok: true, ...control("terminate") } }));
    const bundle = world.bundle({
      "tessera.yaml": `
apiVersion: goondan.ai/v1
kind: Tool
metadata: { name: outside }
spec: { target: outside_r10, openapi: { document: ./api.yaml, hosts: [api.example.com] } }
`,
      "api.yaml": `
openapi: 3.1.0
info: { title: Outside, version: "1" }
servers: [{ url: https://api.example.com }]
paths: { /get: { get: { operationId: get } } }
`,
    });
    const hosted = await world.host({ tools: [steer], bundle, dispatcher: upstream.dispatcher });
    const call = async (tool: string, args: object) => {
      const { agentTurnId } = await world.call(hosted, tool, args);
      const [made] = await world.node.kernel.reads.callsOfTurn(hosted.project, agentTurnId);
      const row = await world.node.kernel.reads.call(hosted.project, String(made?.tool_call_id));
      const [card] = await world.node.kernel.reads.cards(hosted.project, [String(row?.result_card_id)]);
      return { after: row?.result_after, content: card?.content };
    };
    try {
      expect(await call("steer__run", { say: control("terminate") })).toMatchObject({
        after: "terminate",
        content: { status: "success" },
      });
      expect(await call("steer__run", { say: control("loop") })).toMatchObject({
        after: "suspend",
        content: { status: "failed", error: { code: "invalid_after_execution" } },
      });
      expect(await call("steer__run", { say: { deeper: control("terminate") } })).toMatchObject({
        after: "suspend",
        content: { status: "success", result: { deeper: control("terminate") } },
      });
      const outside = await call("outside__get", {});
      expect(outside).toMatchObject({ after: "suspend", content: { status: "success" } });
      expect(JSON.stringify(outside)).not.toContain("__cg_control");
    } finally {
      await upstream.dispatcher.destroy();
      await upstream.close();
    }
  });

  it("C7 is shown inert by the command line", { timeout: 120_000 }, () => {
    const bundle = world.bundle({
      "tessera.yaml":
        "apiVersion: goondan.ai/v1\nkind: Tool\nmetadata: { name: loud }\nspec: { entry: ./loud.mjs, exports: [{ name: run }, { name: fail }] }\n",
      "loud.mjs": `const text = ${JSON.stringify(ACTIVE)};
export const handlers = { run: (ctx) => { ctx.logger.info(text); return { text }; }, fail: () => { throw new Error(text); } };\n`,
    });
    for (const tool of ["loud__run", "loud__fail"]) {
      const ran = spawnSync(process.execPath, [CLI, "tools", "call", tool, "--bundle", bundle], { encoding: "utf8" });
      expect(ran.stdout + ran.stderr).toContain("red");
      // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must not be there
      expect(ran.stdout + ran.stderr).not.toMatch(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/);
    }
  });
});

describe("a call's card of wrong shape", () => {
  it.each<[string, object]>([
    ["without a tool's name", { tool_name: "" }],
    ["with a text for arguments", { arguments: "x" }],
  ])("N11 %s fails its call with invalid_card, and nothing runs", async (_, draft) => {
    const world = await CallWorld.open();
    const service = await startToolService({
      ...world,
      target: "shape",
      executor: "service-1",
      runner: { run: () => Promise.reject(new Error("must not run")), close: async () => undefined },
    });
    try {
      const target_subject = `cg.v1r4.${world.project}.public.cmd.tool.shape.run`;
      const call = await world.commit({ target_subject, ...draft });
      const result = await world.resultOf(call.tool_call_id);
      expect(result).toMatchObject({ status: "failed", error: { code: "invalid_card" } });
      await world.expectSafe();
    } finally {
      await service.stop();
      await world.close();
    }
  });
});

describe("a wakeup", () => {
  let world: ToolWorld;
  beforeAll(async () => {
    world = await ToolWorld.open("pglite");
  });
  afterAll(() => world.close());

  const ring = (project: string, agent: string, payload: object) =>
    world.node.bus.publish([
      {
        subject: `cg.v1r4.${project}.public.cmd.agent.tool_caller.wakeup`,
        headers: { [HEADERS.agent_id]: agent, [HEADERS.project_id]: project },
        data: new TextEncoder().encode(JSON.stringify(payload)),
      },
    ]);

  it("N21, N22 for an unknown agent, another worker's, or with orders in it changes nothing and is counted", async () => {
    let runs = 0;
    const once = defineTool({ name: "once__run", effect: "read", handler: () => ({ runs: ++runs }) });
    const hosted = await world.host({ tools: [once] });
    const { kernel, ids, store } = world.node;
    const answer = await world.call(hosted, "once__run", {});
    const { agent_id } = (await kernel.reads.turn(hosted.project, answer.agentTurnId)) ?? {};
    const foreign = ids.mint("agent");
    const profile_box_id = ids.mint("box");
    await kernel.putBox({ project_id: hosted.project, box_id: profile_box_id });
    await kernel.putAgent({ project_id: hosted.project, agent_id: foreign, worker_target: "others", profile_box_id });
    const total = () => [...hosted.caller.counts.values()].reduce((sum, each) => sum + each, 0);
    const before = { total: total(), dump: await quietDump() };
    const orders = { tool_call: { name: "once__run", arguments: {} }, inbox_id: "x", reason: "y", instruction: "run" };
    for (const agent of ["agent_unknown", foreign, String(agent_id)]) await ring(hosted.project, agent, orders);
    await waitFor(() => total() === before.total + 3, { what: `three answers; ${[...hosted.caller.counts]}` });
    expect(runs).toBe(1);
    expect(await quietDump()).toEqual(before.dump);

    /** All tables but those that heartbeats write. */
    async function quietDump() {
      const { "resource.workers": _, "state.workers": __, ...rest } = await dumpOf(store.database);
      return rest;
    }
  });
});
