// The T rows of docs/reference/security.md#t-a-models-arguments, end to end: what a model may write into a call, and what the
// cards of its turn say then. The row's number is in each title. T7 and T8, which take several calls in one answer, are planned
// and committed directly.

import { execFileSync } from "node:child_process";
import { mkdirSync, readdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { CALLS_PER_STEP_MAX, isId } from "@tessera/protocol";
import type { ToolCallAnswer } from "@tessera/runtime";
import { defineTool, type JsonObject } from "@tessera/tool";
import { INTERNAL_TOOL_DEFINITIONS, planCalls, ToolRegistry } from "@tessera/tool/catalog";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { CallWorld } from "./call-world.ts";
import { type HostedProject, ToolWorld } from "./tool-world.ts";

let world: ToolWorld;
let hosted: HostedProject;
const ran: JsonObject[] = [];

const sample = defineTool({
  name: "sample__run",
  parameters: {
    type: "object",
    additionalProperties: false,
    required: ["text"],
    properties: {
      text: { type: "string" },
      count: { type: "integer" },
      mood: { type: ["string", "null"] },
      place: { type: "string" },
      token: { type: "string" },
    },
  },
  args: { defaults: { mood: "calm" }, fixed: { place: "here" } },
  envs: { token: "SAMPLE_TOKEN" },
  effect: "read",
  handler: (_, input) => {
    ran.push(input as JsonObject);
    return { ...input, token: (input as { token?: string }).token?.length ?? null } as JsonObject;
  },
});
const BUILTINS = ["bash", "file-system", "http-fetch", "json-query", "text-transform"];

beforeAll(async () => {
  world = await ToolWorld.open("pglite");
  hosted = await world.host({
    tools: [sample],
    builtins: BUILTINS,
    shell: { allowUnconfinedShell: true },
    env: { SAMPLE_TOKEN: "sample-secret-1" },
    workspaces: join(world.directory, "workspaces"),
  });
});
afterAll(async () => {
  await world.expectSafe();
  await world.close();
});

const call = (args: unknown, tool = "sample__run", agent_id?: string) =>
  world.call(hosted, tool, args, agent_id === undefined ? {} : { agent_id });

async function resultCard(answer: ToolCallAnswer) {
  const cards = await world.cardsOf(hosted.project, answer.agentTurnId);
  return cards.find((card) => card.type === "tool.result");
}

/** Refused before the tool runs, in a result that a model can act on. */
async function expectRefused(answer: ToolCallAnswer, code: string, before: number): Promise<void> {
  expect(answer).toMatchObject({ status: "failed", error: { code } });
  expect(answer.error?.message.length).toBeLessThanOrEqual(1_000);
  expect((await resultCard(answer))?.content).toMatchObject({ status: "failed", error: { code } });
  expect(ran).toHaveLength(before);
}

describe("arguments of a call", () => {
  it.each<[string, unknown]>([
    ["T1 missing one", {}],
    ["T1 with one too many", { text: "x", extra: 1 }],
    ["T1 of a wrong type", { text: 7 }],
    ["T4 not JSON", "text: x"],
    ["T4 cut", '{"text": "x"'],
    ["T4 JSON in a string", JSON.stringify(JSON.stringify({ text: "x" }))],
    ["T4 of more than 256 KiB", { text: "x".repeat(300_000) }],
    ["T5 2^53+1", '{"text":"x","count":9007199254740993}'],
    ["T5 1e400", '{"text":"x","count":1e400}'],
    ["T5 a text for a number", { text: "x", count: "NaN" }],
    ["T5 a fraction", { text: "x", count: 1.5 }],
  ])("%s are bad_request, and the tool does not run", async (_, args) => {
    const before = ran.length;
    const answer = await call(args);
    await expectRefused(answer, "bad_request", before);
  });

  it("T4 of 2 MB are not even taken", async () => {
    await expect(call({ text: "x".repeat(2_000_000) })).rejects.toMatchObject({ code: "payload_too_large" });
  });

  it("T5 -0 is the number that JSON has for it", async () => {
    expect(await call('{"text":"x","count":-0}')).toMatchObject({ status: "success", result: { count: 0 } });
  });

  it("T2 an explicit null stays null where a default exists", async () => {
    expect(await call({ text: "x", mood: null })).toMatchObject({ status: "success", result: { mood: null } });
    expect(await call({ text: "x" })).toMatchObject({ status: "success", result: { mood: "calm" } });
  });

  it("T3 that the model may not set are overwritten, and it is written down", async () => {
    const answer = await call({ text: "x", place: "elsewhere", token: "mine" });
    expect(answer).toMatchObject({ status: "success", result: { place: "here", token: "sample-secret-1".length } });
    const cards = await world.cardsOf(hosted.project, answer.agentTurnId);
    const made = cards.find((card) => card.type === "tool.call");
    expect(made?.content).toMatchObject({ arguments: { text: "x", place: "here", mood: "calm" } });
    expect(JSON.stringify(made)).not.toContain("mine");
    expect(JSON.stringify(made?.metadata)).toContain("token");
  });
});

describe("T6 a tool", () => {
  it.each(["nobody__knows", "fork_join", "", "sample__RUN"])("named %j is not in the catalog", async (name) => {
    const before = ran.length;
    await expectRefused(await call({ text: "x" }, name), "tool_not_in_catalog", before);
  });

  it("that was removed since is not in the catalog", async () => {
    const gone = defineTool({ name: "gone__run", effect: "read", handler: () => ({ here: true }) });
    const other = await world.host({ tools: [gone] });
    expect(await world.call(other, "gone__run", {})).toMatchObject({ status: "success" });
    await world.node.kernel.removeTool({ project_id: other.project, tool_name: "gone__run" });
    expect(await world.call(other, "gone__run", {})).toMatchObject({ error: { code: "tool_not_in_catalog" } });
  });
});

describe("several calls in one answer", () => {
  const registry = new ToolRegistry();
  registry.register(sample);
  let minted = 0;
  const plan = (requests: readonly { id?: string; name: string; arguments: unknown }[]) =>
    planCalls(requests, {
      catalog: registry.catalog(),
      vars: { project_id: "p", channel_id: "public", agent_id: "a" },
      mintCallId: () => `tc_minted_${++minted}`,
    });

  it("T7 get ids of their own: a double, an empty and a long one are replaced", () => {
    const ids = ["call_1", "call_1", "", "x".repeat(300), "a.b"].map((id) => ({
      id,
      name: "sample__run",
      arguments: { text: "x" },
    }));
    const planned = plan(ids).map(({ draft }) => draft.tool_call_id);
    expect(planned[0]).toBe("call_1");
    expect(new Set(planned).size).toBe(5);
    expect(planned.every(isId)).toBe(true);
  });

  it("T8 run as many as a step may have; the rest are answered so, and the kernel takes no more either", async () => {
    const planned = plan(Array.from({ length: 200 }, () => ({ name: "sample__run", arguments: { text: "x" } })));
    const refused = planned.filter(({ refusal }) => refusal !== undefined);
    expect(planned.length - refused.length).toBe(CALLS_PER_STEP_MAX);
    for (const { refusal } of refused) expect(refusal?.error?.code).toBe("too_many_calls");
    const kernelWorld = await CallWorld.open();
    try {
      const one = await kernelWorld.commit();
      const calls = planned.map(({ draft }) => ({ ...draft, target_subject: one.command.subject }));
      const outcome = await kernelWorld.kernel.suspendOnCalls({
        ...one,
        step_id: "step_too_many",
        thought: { content: { text: "" } },
        calls,
      });
      expect(outcome).toMatchObject({ outcome: "rejected" });
    } finally {
      await kernelWorld.close();
    }
  });
});

describe("the built-in tools", () => {
  it("T9 leave the workdir by no path", async () => {
    const agent_id = world.node.ids.mint("agent");
    await call({ path: "inside.txt", content: "x" }, "file-system__write", agent_id);
    const workdir = findWorkdir(join(world.directory, "workspaces"));
    symlinkSync("/etc/passwd", join(workdir, "link"));
    execFileSync("mkfifo", [join(workdir, "fifo")]);
    mkdirSync(join(world.directory, "outside"), { recursive: true });
    writeFileSync(join(world.directory, "outside", "x"), "secret");
    const paths = ["/etc/passwd", "../x", "a/../../x", "link", "fifo", "/proc/self/environ", "p".repeat(5_000)];
    const answers = await Promise.all(paths.map((path) => call({ path }, "file-system__read", agent_id)));
    for (const [n, answer] of answers.entries()) {
      expect(answer.status, paths[n]).toBe("failed");
      const said = answer.error?.code;
      expect(["path_outside_workdir", "invalid_path", "bad_request"], `${paths[n]}: ${said}`).toContain(said);
      expect(JSON.stringify(answer)).not.toContain("root:");
    }
    expect(await call({ path: "inside.txt" }, "file-system__read", agent_id)).toMatchObject({ status: "success" });
    // No store can hold NUL: as a value it is not taken, as JSON text it is refused like any bad argument.
    await expect(call({ path: "x\0.txt" }, "file-system__read")).rejects.toMatchObject({ code: "schema_invalid" });
    const nul = await call(JSON.stringify({ path: "x\0.txt" }), "file-system__read");
    expect(nul).toMatchObject({ status: "failed", error: { code: "bad_request" } });
  });

  it("T10 reach no address that is not public, however it is written", async () => {
    const urls = [
      "http://127.0.0.1/",
      "http://2130706433/",
      "http://0x7f.1/",
      "http://[::1]/",
      "http://[::ffff:127.0.0.1]/",
      "http://169.254.169.254/latest/meta-data",
      "http://localhost/",
      "file:///etc/passwd",
      "gopher://example.com/",
      "data:text/plain,x",
      "http://user:pw@example.com/",
      "http://example.com:25/",
      "http://exa\tmple.com/",
    ];
    const answers = await Promise.all(urls.map((url) => call({ url }, "http-fetch__get")));
    for (const [n, answer] of answers.entries()) {
      expect(answer, urls[n]).toMatchObject({ status: "failed", error: { code: "url_not_allowed" } });
    }
  });

  it("T11 end commands that do not, with everything they started, and cut what they print", async () => {
    const [sleeper, printer, holder] = await Promise.all([
      call({ command: "sleep 1000000000", timeoutMs: 500 }, "bash__exec"),
      call({ command: "yes", timeoutMs: 5_000 }, "bash__exec"),
      call({ command: "sleep 100 & echo started", timeoutMs: 2_000 }, "bash__exec"),
    ]);
    expect(JSON.stringify(sleeper)).toMatch(/"timedOut":true|timeout/i);
    expect(JSON.stringify(printer)).toMatch(/truncated":true/i);
    expect(JSON.stringify(printer).length).toBeLessThan(1_100_000);
    expect(JSON.stringify(holder)).toContain("started");
  });

  it("T12 take no time for what a model writes as a path", async () => {
    const data = JSON.stringify({ a: "a".repeat(5_000) });
    const paths = [".a".repeat(2_000), "..[?(@.a =~ /(a+)+$/)]", "$".repeat(5_000), "[".repeat(5_000)];
    const started = performance.now();
    const answers = await Promise.all(paths.map((path) => call({ data, path }, "json-query__query")));
    for (const answer of answers) expect(["success", "failed"]).toContain(answer.status);
    expect(performance.now() - started).toBeLessThan(5_000);
  });
});

describe("T13 fork_join", () => {
  const registry = new ToolRegistry();
  for (const definition of INTERNAL_TOOL_DEFINITIONS) registry.register({ definition, code: null });
  const task = { target_strategy: "new", target_ref: "writer", instruction: "write" };
  const reuse = (target_ref: string) => ({ target_strategy: "reuse", target_ref, instruction: "write" });
  const plan = (args: object) =>
    planCalls([{ name: "fork_join", arguments: args }], {
      catalog: registry.catalog(),
      vars: { project_id: "p", channel_id: "public", agent_id: "me" },
      mintCallId: () => "tc_1",
    })[0];

  it("with two tasks is planned for the PMO", () => {
    expect(plan({ tasks: [task, task] })?.draft.target_subject).toContain("cmd.sys.pmo.internal.fork_join");
  });
  it.each<[string, object]>([
    ["no task", { tasks: [] }],
    ["51 tasks", { tasks: Array.from({ length: 51 }, () => task) }],
    ["one agent twice", { tasks: [reuse("a1"), reuse("a1")] }],
    ["itself", { tasks: [reuse("me")] }],
    ["the deadline 0", { tasks: [task], deadline_seconds: 0 }],
    ["the deadline -1", { tasks: [task], deadline_seconds: -1 }],
    ["the deadline NaN", { tasks: [task], deadline_seconds: Number.NaN }],
    ["the deadline 10^9", { tasks: [task], deadline_seconds: 1e9 }],
    ["an unknown field", { tasks: [task], hurry: true }],
    ["an unknown field of a task", { tasks: [{ ...task, hurry: true }] }],
  ])("with %s is bad_request", (_, args) => expect(plan(args)?.refusal?.error?.code).toBe("bad_request"));
});

/** The only working directory that holds a file. */
function findWorkdir(root: string): string {
  const found = readdirSync(root, { recursive: true, encoding: "utf8" }).find((path) => path.endsWith("inside.txt"));
  if (found === undefined) throw new Error("no workdir");
  return join(root, found, "..");
}
