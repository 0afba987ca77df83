// Tools in Goondan's manner, in child processes: the whole Tool API as its authors know it (docs/protocol/tool-api.md).

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { BUILTIN_RESOURCES, createTessera, validateBundle } from "@tessera/runtime";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { GOONDAN_BUNDLE } from "./goondan-bundle.ts";
import { type HostedProject, ToolWorld } from "./tool-world.ts";

describe("a bundle in Goondan's manner", () => {
  let world: ToolWorld;
  let hosted: HostedProject;
  let bundle: string;
  beforeAll(async () => {
    world = await ToolWorld.open("pglite");
    bundle = world.bundle(GOONDAN_BUNDLE);
    hosted = await world.host({ bundle, builtins: [...BUILTIN_RESOURCES] });
  });
  afterAll(() => world.close());

  const call = (name: string, args: object = {}, agent_id?: string) =>
    world.call(hosted, name, args, agent_id === undefined ? {} : { agent_id });

  it("is accepted as it is, and validate reports what differs in one line each", async () => {
    const { findings, counts } = await validateBundle(bundle, { env: {} });
    expect(findings.map(({ severity, code }) => `${severity} ${code}`)).toEqual(["info named_like_builtin"]);
    expect(counts).toMatchObject({ tools: 7, agents: 2 });
  });

  it("gives its handlers every field of the context", async () => {
    const answer = await call("probe__seen", { word: "hi", pair: ["a", 1] }, "agent_seen");
    expect(answer).toMatchObject({ status: "success" });
    const id = expect.stringMatching(/^[A-Za-z0-9_-]{1,64}$/);
    expect(answer.result).toEqual({
      word: "hi",
      agentName: "tool_caller", // of a call that no agent made
      instanceKey: expect.stringContaining("agent_seen"),
      turnId: answer.agentTurnId,
      traceId: expect.stringMatching(/^[0-9a-f]{32}$/),
      toolCallId: id,
      workdir: expect.stringMatching(/\/agent_seen$/),
      hasRuntime: true,
      message: {
        id,
        role: "assistant",
        content: expect.anything(),
        source: { type: "assistant", stepId: id },
        isDate: true,
      },
    });
    expect(world.logs).toContainEqual(expect.objectContaining({ level: "info", message: "seen hi" }));
  });

  it("has draft-07 parameters checked as they were meant", async () => {
    expect(await call("probe__seen", { pair: [1, "a"] })).toMatchObject({
      status: "failed",
      error: { code: "bad_request" },
    });
    expect(await call("probe__seen", { other: 1 })).toMatchObject({ status: "failed", error: { code: "bad_request" } });
  });

  it("reports its errors whole: name, code, suggestion, help, and a message within the tool's own limit", async () => {
    const { error } = await call("probe__fail", { word: "go" });
    expect(error).toMatchObject({
      code: "internal_error",
      detail: { code: "E_PROBE", suggestion: "try another word", helpUrl: "https://help.example/probe" },
    });
    expect(error?.message).toHaveLength(80);
    expect(error?.message).toMatch(/^cannot go: x+\.\.\. \(truncated\)$/);
  });

  it.each([
    ["undefined", "success", { value: null }],
    ["text", "success", { value: "plain text" }],
    ["list", "success", { value: [1, "two", null] }],
    ["function", "failed", null],
    ["string-error", "failed", null],
  ])("may answer with %s", async (kind, status, result) => {
    const answer = await call("probe__strange", { kind });
    expect(answer.status).toBe(status);
    if (result !== null) expect(answer.result).toEqual(result);
  });

  it("is shown which line hands over the variables that it looks for", async () => {
    const { error } = await call("probe__token");
    expect(error?.message).toBe("no token is configured");
    expect(JSON.stringify(error?.detail)).toMatch(
      /PROBE_TOKEN, which isolated tools do not see \(also read: PROBE_TOKEN_OLD\).*`envs: \{ <argument>: PROBE_TOKEN \}` in the spec of Tool\/probe/,
    );
  });

  it("may be CommonJS, and keeps files from call to call", async () => {
    const first = await call("notes__default", { line: "one" }, "agent_notes");
    expect(first.status).toBe("success");
    await call("notes__default", { line: "two" }, "agent_notes");
    const { workdir } = first.result as { workdir: string };
    expect(readFileSync(join(workdir, "notes.txt"), "utf8")).toBe("one\ntwo\n");
  });

  it("reaches other agents, one of them in a directory of its own workdir", async () => {
    const tessera = await createTessera({ bundle, log: () => {} });
    try {
      const { status, deliverable } = await tessera.run({ input: "go" });
      expect(status).toBe("success");
      const noted = expect.stringMatching(/^noted in .*\/boss_[0-9a-f]+\/shared$/);
      const helper = { target: "helper", ownerAgent: "boss", ownerInstanceKey: "default", isDate: true };
      expect(JSON.parse(String(deliverable))).toEqual({
        spawned: { target: "helper", instanceKey: "desk", spawned: true, cwd: "shared" },
        answer: { target: "helper", eventId: "string", correlationId: "corr-1", response: noted },
        sent: true,
        listed: [
          { ...helper, instanceKey: "desk", cwd: "shared" },
          { ...helper, instanceKey: "default" }, // the caller's own key, which the message named
        ],
        catalog: {
          ...{ swarmName: "crew", entryAgent: "boss", selfAgent: "boss" },
          ...{ availableAgents: ["boss", "helper"], callableAgents: ["helper"] },
        },
      });
    } finally {
      await tessera.close({ graceMs: 0 });
    }
  });

  it("takes the place of a built-in tool of its name, and of that one only", async () => {
    expect(await call("file-system__read", { path: "x" })).toMatchObject({ result: { own: true, path: "x" } });
    expect(await call("file-system__write", { path: "x", content: "y" })).toMatchObject({ result: { written: true } });
  });
});
