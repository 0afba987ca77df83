// The runner over both placements: same content wherever a tool runs, and no secret in anything that leaves.

import { existsSync } from "node:fs";
import { mkdtemp, realpath, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { systemClock } from "@tessera/engines/system";
import type { Clock } from "@tessera/kernel/ports";
import { VirtualClock, waitFor } from "@tessera/testkit";
import {
  type AgentToolRuntime,
  type RegisteredTool,
  type ToolDefinition,
  ToolError,
  type ToolInvocation,
  type ToolLogEntry,
  type ToolOptions,
} from "@tessera/tool";
import { ToolRegistry } from "@tessera/tool/catalog";
import { type ForeignCode, foreignCode } from "@tessera/tool/run";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { invocationForTest } from "../../test/invocation.ts";
import { loadToolModule } from "../loader/tool-module.ts";
import { openWorkspaces, type Workspaces } from "../workspace/workspaces.ts";
import { createIsolatedHost, type IsolatedHost } from "./isolated/isolated-host.ts";
import { createToolRunner, type ToolRunnerOptions } from "./tool-runner.ts";

const CANARY = "c4nary/+s3cret=value&more";
const MODULE = `
import { ToolError } from "@tessera/tool";
export const handlers = {
  echo: (_ctx, input) => ({ said: input.text ?? null, keys: Object.keys(input).sort() }),
  plain: () => "text",
  needy: () => { if (!process.env.NEEDY_TOKEN) throw new ToolError("no token", { suggestion: "Give one." }); },
  probing: () => ({ found: process.env.NEEDY_TOKEN ?? process.env.NODE_OPTIONS ?? null }),
  where: (ctx) => ({ workdir: ctx.workdir }),
  spawn: async (ctx, { cwd }) => {
    const asked = cwd === "absolute" ? ctx.workdir + "/sub" : cwd;
    return await ctx.runtime.spawn("other", { cwd: asked }).catch((error) => ({ code: error.code }));
  },
  change: (ctx, input) => { input.text = "changed"; return ctx.message.data; },
  fail: () => { throw new ToolError("no such city", { code: "E_CITY", suggestion: "try Berlin", helpUrl: "https://example.org", retryable: true }); },
  control: () => ({ done: true, __cg_control: { after_execution: "terminate" } }),
  leak: async (ctx, { key }) => {
    const forms = { raw: key, base64: Buffer.from(key).toString("base64"), inside: Buffer.from("user:" + key + "@host").toString("base64"), url: encodeURIComponent(key), form: new URLSearchParams({ key }).toString(), hex: Buffer.from(key).toString("hex"), json: JSON.stringify({ key }), [key]: "as a key", list: [[key]] };
    ctx.logger.info("logging", key, forms);
    if (process.env.HOME === ctx.workdir) { // in a child: inline, the console is the host's own
      console.log("printing " + key);
      console.error(Buffer.from(key).toString("base64"));
    }
    ctx.progress({ message: "progress " + key, data: { key } });
    await ctx.runtime.send("other", { id: "e", type: key, createdAt: new Date(5), source: { kind: "agent", name: "a" }, input: "tell " + key });
    return forms;
  },
  leakError: (_ctx, { key }) => { throw Object.assign(new Error("cannot log in with " + key), { code: "E_" + key, suggestion: "use " + key, helpUrl: "https://x.example/?key=" + encodeURIComponent(key) }); },
  leakCut: (_ctx, { key }) => { throw new Error("x".repeat(985 - 12) + key); },
};
`;

const dirs: string[] = [];
let root: string;
let entry: string;
let isolated: IsolatedHost;
let workspaces: Workspaces;
let functions: Awaited<ReturnType<typeof loadToolModule>>["handlers"];

beforeAll(async () => {
  root = await realpath(await mkdtemp(join(tmpdir(), "tessera-runner-")));
  dirs.push(root);
  entry = join(root, "tool.mjs");
  await writeFile(entry, MODULE);
  isolated = createIsolatedHost({ clock: systemClock, onWarning: () => {} });
  workspaces = await openWorkspaces(join(root, "workspaces"));
  functions = (await loadToolModule(entry, { root })).handlers;
});
afterAll(async () => {
  await isolated.close();
  await Promise.all(dirs.map((dir) => rm(dir, { recursive: true, force: true })));
});

function definitionOf(name: string, options: ToolOptions = {}, parameters = {}): ToolDefinition {
  return {
    tool_name: `t__${name}`,
    description: "",
    parameters,
    target_subject: `cg.v1r4.{project_id}.{channel_id}.cmd.tool.t.${name}`,
    after_execution: "suspend",
    options,
  };
}

type Placement = "inline" | "isolated";

function toolOf(placement: Placement, name: string, options: ToolOptions = {}, parameters = {}): RegisteredTool {
  const handler = functions.get(name);
  if (handler === undefined) throw new Error(`the module has no ${name}`);
  return {
    definition: definitionOf(name, { effect: "read", ...options }, parameters),
    code: placement === "inline" ? { kind: "function", handler } : { kind: "module", entry, export_name: name },
  };
}

function runnerOf(tool: RegisteredTool | null, options: Partial<ToolRunnerOptions> = {}) {
  return createToolRunner({
    resolve: () => tool,
    isolated,
    workspaces,
    environment: { env: {} },
    clock: systemClock,
    onWarning: () => {},
    ...options,
  });
}

function invocationOf(tool: RegisteredTool | null, changes: Partial<ToolInvocation> = {}): ToolInvocation {
  return invocationForTest({
    tool_name: tool?.definition.tool_name ?? "t__nothing",
    effect: "read",
    ...changes,
  });
}

const SIGNAL = new AbortController().signal;
const PLACEMENTS: readonly Placement[] = ["inline", "isolated"];

describe("a tool", () => {
  it.each(["echo", "plain", "fail", "control"])(
    "that does %s gives the same bytes inline and isolated",
    async (name) => {
      const contents = [];
      for (const placement of PLACEMENTS) {
        const tool = toolOf(placement, name);
        const invocation = invocationOf(tool, { arguments: { text: "hi" } });
        contents.push(JSON.stringify(await runnerOf(tool).run(invocation, { signal: SIGNAL })));
      }
      expect(contents[0]).toBe(contents[1]);
      expect(contents[0]).toContain(name === "fail" ? '"failed"' : '"success"');
    },
  );

  it.each(PLACEMENTS)(
    "names a directory for another agent inside its own workdir, and none outside (%s)",
    async (placement) => {
      const tool = toolOf(placement, "spawn");
      const spawned: unknown[] = [];
      const runtime = {
        spawn: async (target: string, options: object) => {
          spawned.push(options);
          return { target, instanceKey: "k", spawned: true };
        },
      } as AgentToolRuntime;
      const owner = { ...invocationOf(tool), workdir: { agent_id: "boss", path: "shared" } };
      const workdir = workspaces.workdirOf(owner);
      await symlink("/etc", join(workdir, "out")).catch(() => undefined); // the placement before may have made it
      const spawn = (cwd: string) =>
        runnerOf(tool)
          .run({ ...owner, arguments: { cwd } }, { signal: SIGNAL, runtime })
          .then(({ result }) => result);
      for (const cwd of ["absolute", "sub", "x/../sub"]) expect(await spawn(cwd)).toMatchObject({ spawned: true });
      expect(spawned).toEqual([{ cwd: "sub" }, { cwd: "sub" }, { cwd: "sub" }]);
      for (const cwd of ["..", "/etc", "out", "out/x"]) {
        expect(await spawn(cwd)).toEqual({ code: "path_outside_workdir" });
      }
      expect(spawned).toHaveLength(3);
      expect(workdir).toMatch(/\/boss\/shared$/);
    },
  );

  it("that reads a variable it does not see says which line hands it over: in the log, as progress and in its error", async () => {
    const tool = toolOf("isolated", "needy");
    const said = async (
      name: string,
      options: ToolOptions = {},
      runner = runnerOf(toolOf("isolated", name, options)),
    ) => {
      const logs: string[] = [];
      const progress: unknown[] = [];
      const content = await runner.run(invocationOf(toolOf("isolated", name, options)), {
        signal: SIGNAL,
        onLog: ({ level, message }) => void logs.push(`${level} ${message}`),
        onProgress: (update) => void progress.push(update.message),
      });
      return { content, logs, progress };
    };
    const suggestionOf = ({ content }: Awaited<ReturnType<typeof said>>) =>
      (content.error?.detail as { suggestion?: string } | undefined)?.suggestion;
    const line = "write `envs: { <argument>: NEEDY_TOKEN }` in the spec of Tool/t";
    const runner = runnerOf(tool);
    const first = await said("needy", {}, runner);
    expect(first.logs).toEqual([expect.stringMatching(/^warn .*NEEDY_TOKEN, which isolated tools do not see/)]);
    expect(first.logs[0]).toContain(line);
    expect(first.progress).toEqual([expect.stringContaining(line)]);
    expect(first.content.error).toMatchObject({ message: "no token", detail: { suggestion: expect.any(String) } });
    expect(suggestionOf(first)).toMatch(/^Give one\. The tool read .*NEEDY_TOKEN/);
    const again = await said("needy", {}, runner);
    expect(again.logs).toEqual([]); // the operator was told
    expect(suggestionOf(again)).toContain(line);
    const probed = await said("probing");
    expect(probed.content).toMatchObject({ status: "success", result: { found: null } });
    expect(probed.progress).toEqual([expect.stringContaining(line)]);
    const granted = await said("probing", { envs: { key: "NEEDY_TOKEN" } });
    expect(granted.progress).toEqual([expect.stringContaining("handed over as the argument key")]);
  });

  it("is found through a registry by the name of the call", async () => {
    const registry = new ToolRegistry();
    registry.register(toolOf("inline", "plain"));
    const runner = runnerOf(null, { resolve: ({ tool_name }) => registry.get(tool_name) ?? null });
    const found = await runner.run(invocationOf(null, { tool_name: "t__plain" }), { signal: SIGNAL });
    expect(found).toMatchObject({ status: "success", result: { value: "text" } });
    const missing = await runner.run(invocationOf(null, { tool_name: "t__other" }), { signal: SIGNAL });
    expect(missing).toMatchObject({ status: "failed", error: { code: "not_found" } });
  });

  it("without code here is not found, and stale_tool_definition where the call pins what it was made with", async () => {
    const tool = { definition: definitionOf("plain"), code: null };
    const codeOf = async (definition: ToolDefinition | null) =>
      (await runnerOf(tool).run(invocationOf(tool, { definition }), { signal: SIGNAL })).error?.code;
    expect(await codeOf(null)).toBe("not_found");
    expect(await codeOf(tool.definition)).toBe("stale_tool_definition");
  });

  it.each(PLACEMENTS)("is not run with arguments that do not fit (%s)", async (placement) => {
    const schema = { type: "object", properties: { text: { type: "string" } }, required: ["text"] };
    const tool = toolOf(placement, "echo", {}, schema);
    const content = await runnerOf(tool).run(invocationOf(tool, { arguments: { text: 3 } }), { signal: SIGNAL });
    expect(content).toMatchObject({
      status: "failed",
      error: { code: "bad_request", detail: { code: "E_TOOL_INVALID_ARGS" } },
    });
  });

  it.each(PLACEMENTS)("finds its own input in its message, whatever it did to it (%s)", async (placement) => {
    const tool = toolOf(placement, "change");
    const given = { text: "hello" };
    const content = await runnerOf(tool).run(invocationOf(tool, { arguments: given }), { signal: SIGNAL });
    expect(JSON.stringify(content.result)).toContain('"input":{"text":"hello"}');
    expect(given).toEqual({ text: "hello" });
  });

  it("gets a workspace when it asks for it, and not before", async () => {
    const runner = runnerOf(toolOf("inline", "echo"));
    const owner = { project_id: "untouched" };
    await runner.run(invocationOf(toolOf("inline", "echo"), owner), { signal: SIGNAL });
    expect(existsSync(join(workspaces.root, "untouched"))).toBe(false);
    const tool = toolOf("inline", "where");
    const content = await runnerOf(tool).run(invocationOf(tool, owner), { signal: SIGNAL });
    const { workdir } = content.result as { workdir: string };
    expect(workdir.startsWith(join(workspaces.root, "untouched"))).toBe(true);
    expect(existsSync(workdir)).toBe(true);
  });

  it.each(PLACEMENTS)("whose workspace was replaced by a link is refused (%s)", async (placement) => {
    await rm(join(workspaces.root, "linked"), { force: true });
    await symlink(root, join(workspaces.root, "linked"));
    const tool = toolOf(placement, "where");
    const content = await runnerOf(tool).run(invocationOf(tool, { project_id: "linked" }), { signal: SIGNAL });
    expect(content).toMatchObject({ status: "failed", error: { code: "path_outside_workdir" } });
  });

  it("whose definition makes no sense, or whose resolver throws, is a failed result", async () => {
    const tool = toolOf("inline", "echo");
    const definition = { ...tool.definition, target_subject: "nonsense" };
    const broken = await runnerOf({ ...tool, definition }).run(invocationOf(tool), { signal: SIGNAL });
    expect(broken.status).toBe("failed");
    const throwing = runnerOf(tool, {
      resolve: () => {
        throw new ToolError("no registry");
      },
    });
    expect((await throwing.run(invocationOf(tool), { signal: SIGNAL })).error?.message).toContain("no registry");
  });
});

describe("an environment argument", () => {
  const envs = { key: "SEARCH_KEY" };
  const run = async (options: Partial<ToolRunnerOptions>, given: ToolOptions = { envs }) => {
    const warnings: string[] = [];
    const tool = toolOf("inline", "echo", given);
    const runner = runnerOf(tool, { ...options, onWarning: (warning) => void warnings.push(warning) });
    const content = await runner.run(invocationOf(tool, { arguments: { key: "from the model" } }), { signal: SIGNAL });
    return { keys: (content.result as { keys: string[] }).keys, warnings };
  };

  it("comes from the service's configuration first, then from the environment", async () => {
    const seen: unknown[] = [];
    const tool: RegisteredTool = {
      definition: definitionOf("echo", { envs }),
      code: { kind: "function", handler: (_ctx, input) => seen.push(input.key) },
    };
    const env = { SEARCH_KEY: "from env" };
    for (const environment of [
      { service: { SEARCH_KEY: "from service" }, env },
      { service: { SEARCH_KEY: "" }, env },
    ]) {
      await runnerOf(tool, { environment }).run(invocationOf(tool), { signal: SIGNAL });
    }
    expect(seen).toEqual(["from service", "from env"]);
  });

  it.each([
    ["missing", { env: {} }],
    ["empty", { env: { SEARCH_KEY: "" } }],
    ["not on the operator's list", { env: { SEARCH_KEY: "x" }, allowList: ["OTHER"] }],
  ])("that is %s is left out with a warning", async (_, environment) => {
    const { keys, warnings } = await run({ environment });
    expect(keys).toEqual([]);
    expect(warnings).toHaveLength(1);
  });

  it("never reads a variable that no tool may have, whatever was pinned", async () => {
    const environment = { env: { NODE_OPTIONS: "--x", PATH: "/bin" }, allowList: ["NODE_OPTIONS", "PATH"] };
    const { keys, warnings } = await run({ environment }, { envs: { a: "NODE_OPTIONS", b: "PATH" } });
    expect(keys).toEqual(["key"]);
    expect(warnings).toHaveLength(2);
    expect(warnings.join()).not.toContain("--x");
  });
});

describe("a secret", () => {
  const FORMS = [
    CANARY,
    encodeURIComponent(CANARY),
    new URLSearchParams({ k: CANARY }).toString().slice(2),
    Buffer.from(CANARY).toString("base64").slice(0, -4),
    Buffer.from(`user:${CANARY}@host`).toString("base64").slice(8, -12),
    Buffer.from(CANARY).toString("hex"),
    CANARY.slice(0, 10),
  ];
  const run = async (placement: Placement, name: string) => {
    const logs: ToolLogEntry[] = [];
    const progress: unknown[] = [];
    const sent: unknown[] = [];
    const runtime = {
      send: async (...args: unknown[]) => {
        sent.push(args);
        return { eventId: "e", target: "other", accepted: true };
      },
    } as AgentToolRuntime;
    const tool = toolOf(placement, name, { envs: { key: "CANARY_KEY" } });
    const content = await runnerOf(tool, { environment: { env: { CANARY_KEY: CANARY } } }).run(invocationOf(tool), {
      signal: SIGNAL,
      runtime,
      onLog: (entry) => void logs.push(entry),
      onProgress: (update) => void progress.push(update),
    });
    return { content, logs, progress, sent };
  };

  it.each(PLACEMENTS)("reaches neither result, log, progress nor another agent (%s)", async (placement) => {
    const seen = await run(placement, "leak");
    expect(seen.content).toMatchObject({ status: "success", result: { raw: "***", url: "***", "***": "as a key" } });
    expect(seen.logs.length).toBeGreaterThanOrEqual(placement === "isolated" ? 3 : 1);
    expect(seen.progress).toEqual([{ message: "progress ***", data: { key: "***" } }]);
    expect(seen.sent).toMatchObject([["other", { type: "***", input: "tell ***", createdAt: new Date(5) }]]);
    const everything = JSON.stringify(seen);
    for (const form of FORMS) expect(everything).not.toContain(form);
  });

  it.each(PLACEMENTS)("reaches no error, not even one that was cut in its middle (%s)", async (placement) => {
    for (const name of ["leakError", "leakCut"]) {
      const { content } = await run(placement, name);
      expect(content.status).toBe("failed");
      expect(content.error?.message).toContain("***");
      const everything = JSON.stringify(content);
      for (const form of FORMS) expect(everything).not.toContain(form);
    }
  });
});

describe("an inline run", () => {
  /** A tool that never answers, the reasons that its signal gave, and a wait for its start. */
  const waitingTool = () => {
    const seen: string[] = [];
    const tool: RegisteredTool = {
      definition: definitionOf("wait", { timeoutMs: 5_000 }),
      code: {
        kind: "function",
        handler: (ctx) => {
          seen.push("started");
          return new Promise(() => {
            ctx.signal.addEventListener("abort", () => seen.push((ctx.signal.reason as Error).message));
          });
        },
      },
    };
    const started = () => waitFor(() => seen.length > 0, { what: "the handler to be called" });
    return { tool, seen, started };
  };

  it.each([
    ["read", "tool_timeout"],
    ["once", "outcome_unknown"],
  ] as const)("of a %s tool ends with %s at its deadline, and its signal is aborted", async (effect, code) => {
    const clock = new VirtualClock();
    const { tool, seen, started } = waitingTool();
    const run = runnerOf(tool, { clock }).run(invocationOf(tool, { effect }), { signal: SIGNAL });
    await started();
    await clock.advance(4_999);
    expect(seen).toEqual(["started"]);
    await clock.advance(1);
    expect(await run).toMatchObject({ status: "timeout", error: { code } });
    expect(seen).toEqual(["started", "the tool's time is up"]);
    expect(clock.pending).toBe(0);
  });

  it("that is canceled is answered after a short grace", async () => {
    const clock = new VirtualClock();
    const abort = new AbortController();
    const { tool, seen, started } = waitingTool();
    const run = runnerOf(tool, { clock }).run(invocationOf(tool), { signal: abort.signal });
    await started();
    abort.abort();
    expect(seen).toEqual(["started", "the call was canceled"]);
    await clock.advance(1_000);
    expect(await run).toMatchObject({ status: "canceled", error: { code: "canceled" } });
  });

  it.each<[string, (stop: () => void) => unknown]>([
    ["at once", (stop) => stop()],
    ["with a promise", async (stop) => stop()],
  ])("that brings its own cancel about is canceled, whether it answers %s", async (_, act) => {
    const abort = new AbortController();
    const code = { kind: "function" as const, handler: () => act(() => abort.abort()) as never };
    const tool: RegisteredTool = { definition: definitionOf("stop"), code };
    const clock = new VirtualClock();
    const content = await runnerOf(tool, { clock }).run(invocationOf(tool), { signal: abort.signal });
    expect(content).toMatchObject({ status: "canceled" });
    expect(clock.pending).toBe(0);
  });

  it("that answers at once sets no timer, and one that answers later takes its timer back", async () => {
    const timers: number[] = [];
    const clock = new VirtualClock();
    const counting: Clock = {
      databaseTime: () => clock.databaseTime(),
      monotonicMs: () => clock.monotonicMs(),
      after(ms, task) {
        timers.push(ms);
        return clock.after(ms, task);
      },
    };
    const answer = { ok: true };
    for (const handler of [() => answer, async () => answer]) {
      const tool: RegisteredTool = { definition: definitionOf("answer"), code: { kind: "function", handler } };
      const content = await runnerOf(tool, { clock: counting }).run(invocationOf(tool), { signal: SIGNAL });
      expect(content).toMatchObject({ status: "success", result: answer });
    }
    expect(timers).toHaveLength(1);
    expect(clock.pending).toBe(0);
  });

  it.each([
    ["read", "tool_crashed"],
    ["once", "outcome_unknown"],
  ] as const)(
    "of a %s tool whose code fails outside of the handler ends with %s, and is told",
    async (effect, code) => {
      const { tool, seen, started } = waitingTool();
      const handler = (tool.code as { handler: (...args: unknown[]) => unknown }).handler;
      let own: ForeignCode | undefined;
      const strays: RegisteredTool = {
        ...tool,
        code: {
          kind: "function",
          handler: async (...args) => {
            own = foreignCode();
            return (await handler(...args)) as null;
          },
        },
      };
      const warnings: string[] = [];
      const run = runnerOf(strays, { onWarning: (warning: string) => void warnings.push(warning) }).run(
        invocationOf(strays, { effect }),
        { signal: SIGNAL },
      );
      await started();
      own?.onStray(new Error("thrown in a timer"));
      const detail = { why: "its code failed outside of the handler: thrown in a timer" };
      expect(await run).toMatchObject({ status: "failed", error: { code, detail } });
      expect(seen).toEqual(["started", "the tool's code failed outside of the handler"]);
      own?.onStray(new Error("and later"));
      expect(warnings.map((warning) => warning.split("\n")[0])).toEqual([
        expect.stringMatching(/^the tool .+ left an unhandled failure behind \(call .+\): Error: thrown in a timer$/),
        expect.stringMatching(/: Error: and later$/),
      ]);
      expect(foreignCode()).toBeUndefined();
    },
  );

  it("is foreign code in its handler, and what it asks of the host is not", async () => {
    const whose: unknown[] = [];
    const tool: RegisteredTool = {
      definition: definitionOf("ask", {}),
      code: {
        kind: "function",
        handler: async (ctx) => {
          whose.push(foreignCode()?.name);
          ctx.progress({ fraction: 0.5 });
          await ctx.runtime?.catalog();
          return null;
        },
      },
    };
    const note = () => void whose.push(foreignCode());
    const runtime = { catalog: async () => note() } as never;
    await runnerOf(tool).run(invocationOf(tool), { signal: SIGNAL, runtime, onProgress: note });
    expect(whose).toEqual([expect.stringMatching(/^the tool .*ask.* \(call /), undefined, undefined]);
  });

  it("that is still going when the runner closes ends like a crash", async () => {
    const clock = new VirtualClock();
    const { tool, started } = waitingTool();
    const own = createIsolatedHost({ clock, onWarning: () => {} });
    const runner = runnerOf(tool, { clock, isolated: own });
    const run = runner.run(invocationOf(tool, { effect: "once" }), { signal: SIGNAL });
    await started();
    const closed = runner.close();
    await clock.advance(1_000);
    await closed;
    expect(await run).toMatchObject({ status: "failed", error: { code: "outcome_unknown" } });
    const late = await runner.run(invocationOf(tool), { signal: SIGNAL });
    expect(late).toMatchObject({ status: "failed", error: { code: "shutting_down", retryable: true } });
  });

  it("cannot change the call's arguments for any other run", async () => {
    const args = { list: ["a"] };
    const tool: RegisteredTool = {
      definition: definitionOf("mutate"),
      code: {
        kind: "function",
        handler: (_ctx, input) => {
          (input.list as string[]).push("b");
          return input;
        },
      },
    };
    const content = await runnerOf(tool).run(invocationOf(tool, { arguments: args }), { signal: SIGNAL });
    expect(content.result).toEqual({ list: ["a", "b"] });
    expect(args).toEqual({ list: ["a"] });
  });
});
