// Isolated tools, with real processes: whatever a handler does, its call settles and everybody else lives.

import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readFile, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { systemClock } from "@tessera/engines/system";
import { TestChild, VirtualClock, waitFor } from "@tessera/testkit";
import type { AgentToolRuntime, ToolInvocation, ToolPolicy } from "@tessera/tool";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { invocationForTest } from "../../test/invocation.ts";
import { NO_SECRETS } from "../secrets/secret-mask.ts";
import { createIsolatedHost, type IsolatedCall, type IsolatedHost, type IsolatedHostOptions } from "./isolated-host.ts";
import { contentOfEnd } from "./run-end.ts";

const HOSTILE = `
import { spawn } from "node:child_process";
import { writeFileSync, writeSync, existsSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
let calls = 0;
const deep = (levels: number): unknown => (levels === 0 ? 1 : [deep(levels - 1)]);
export const handlers: Record<string, (ctx: any, input: any) => unknown> = {
  echo: (_ctx, input) => ({ input }),
  pid: () => ({ pid: process.pid, calls: ++calls }),
  where: () => ({ cwd: process.cwd(), env: { ...process.env } }),
  spin: () => { for (;;) {} },
  spinAsync: async () => { for (;;) await null; },
  wait: async () => { for (;;) await delay(5); },
  never: () => new Promise(() => {}),
  heap: () => { const all: unknown[] = []; for (;;) all.push(new Array(1000).fill({ a: 1 })); },
  buffers: async () => { const all: Buffer[] = []; for (;;) { all.push(Buffer.alloc(16 * 1024 * 1024, 1)); await null; } },
  exit0: () => process.exit(0),
  exit1: () => process.exit(1),
  throwString: () => { throw "just a string"; },
  cycle: () => { const a: any = {}; a.a = a; return a; },
  print: () => { const text = "x".repeat(1024 * 1024 - 1) + "\\n"; for (let i = 0; i < 1024; i++) process.stdout.write(text); return "done"; },
  rejects: async () => { void Promise.reject(new Error("nobody listens")); await delay(200); return "late"; },
  rejectsAfter: () => { setTimeout(() => void Promise.reject(new Error("after the answer")), 20); return "answered"; },
  throwsLater: () => { void (async () => { await delay(300); throw new Error("after the answer"); })(); return "answered"; },
  pay: async () => { await delay(1_000); return "paid"; },
  blocksLater: (ctx) => { setTimeout(() => { writeFileSync(ctx.workdir + "/blocked", ""); for (;;) {} }, 20).unref(); return "answered"; },
  blocksAfter: () => { setImmediate(() => { for (;;) {} }); return "answered"; },
  killSelf: async () => { process.kill(process.pid, "SIGKILL"); await delay(5_000); },
  fork: async (ctx) => {
    const child = spawn("sleep", ["1000"], { stdio: "inherit" });
    writeFileSync(ctx.workdir + "/grandchild", String(child.pid));
    await new Promise(() => {});
  },
  forkAndExit: (ctx) => {
    const child = spawn("sleep", ["1000"], { stdio: "inherit" });
    writeFileSync(ctx.workdir + "/grandchild", String(child.pid));
    process.exit(0);
  },
  block: () => { const end = Date.now() + 400; while (Date.now() < end) {} return "blocked"; },
  huge: () => "x".repeat(5 * 1024 * 1024),
  deep: () => deep(2_000),
  forge: async () => { for (let call = 1; call < 50; call++) writeSync(4, '{"type":"settled","call":' + call + ',"executed":{"status":"ok"}}\\n'); await delay(5_000); },
  garbage: async () => { writeSync(4, "not a frame\\n"); await delay(5_000); },
  longFrame: async () => { const text = "y".repeat(1024 * 1024); for (let i = 0; i < 6; i++) writeSync(4, text); await delay(5_000); },
  pollute: () => { (Object.prototype as any).polluted = "yes"; return "done"; },
  isPolluted: () => ({ polluted: ({} as any).polluted ?? null }),
  abortable: (ctx) => new Promise((_, reject) => ctx.signal.addEventListener("abort", () => { writeFileSync(ctx.workdir + "/aborted", ctx.signal.reason.message); reject(new Error("stopped")); })),
  talk: (ctx) => { ctx.logger.warn("from the logger"); console.log("from stdout"); console.error("from stderr"); ctx.progress({ message: "half", fraction: 0.5 }); return null; },
  ask: async (ctx) => {
    const event = { id: "e1", type: "t", createdAt: new Date(1000), source: { kind: "agent", name: "a" } };
    const answers = [await ctx.runtime.request("coder", event, { timeoutMs: 5 }), await ctx.runtime.send("coder", event), await ctx.runtime.spawn("coder"), await ctx.runtime.list(), await ctx.runtime.catalog()];
    const refusal = await ctx.runtime.send("nobody", event).catch((error: any) => ({ message: error.message, code: error.code, name: error.name }));
    return { answers, refusal };
  },
  hasRuntime: (ctx) => "runtime" in ctx,
  crashOnce: (ctx) => { if (!existsSync(ctx.workdir + "/crashed")) { writeFileSync(ctx.workdir + "/crashed", ""); process.exit(3); } return "second"; },
  effectThenCrash: (ctx) => { writeFileSync(ctx.workdir + "/effect", "done"); process.exit(3); },
};
export const reconcilers = {
  crashOnce: () => ({ outcome: "not_done" }),
  effectThenCrash: (ctx: any) => (existsSync(ctx.workdir + "/effect") ? { outcome: "done", output: { reconciled: true } } : { outcome: "unknown" }),
  exit1: () => ({ outcome: "unknown" }),
};
`;

let root: string;
let workdir: string;
let hostile: string;
let other: string;
const hosts: IsolatedHost[] = [];

beforeAll(async () => {
  root = await realpath(await mkdtemp(join(tmpdir(), "tessera-isolated-")));
  hostile = join(root, "hostile.ts");
  other = join(root, "other.mjs");
  await writeFile(hostile, HOSTILE);
  await writeFile(other, "export const handlers = { echo: (_ctx, input) => ({ input }), pid: () => process.pid };");
});
afterEach(async () => {
  await Promise.all(hosts.splice(0).map((host) => host.close()));
});
afterAll(() => rm(root, { recursive: true, force: true }));

async function newHost(options: Partial<IsolatedHostOptions> = {}): Promise<IsolatedHost> {
  workdir = await mkdtemp(join(root, "work-"));
  const host = createIsolatedHost({ clock: systemClock, onWarning: () => {}, ...options });
  hosts.push(host);
  return host;
}

const POLICY: ToolPolicy = {
  resource: "hostile",
  target: "hostile",
  author_id: "tool.hostile",
  placement: "isolated",
  effect: "read",
  attempts_max: 1,
  backoff_ms: 0,
  timeout_ms: 20_000,
  can_reconcile: false,
  error_message_limit: 1_000,
};

interface CallOptions {
  readonly effect?: ToolInvocation["effect"];
  readonly timeoutMs?: number;
  readonly project?: string;
  readonly entry?: string;
  readonly canReconcile?: boolean;
  readonly signal?: AbortSignal;
  readonly hooks?: Partial<IsolatedCall["hooks"]>;
}

async function run(host: IsolatedHost, name: string, options: CallOptions = {}) {
  const effect = options.effect ?? "read";
  const policy = {
    ...POLICY,
    timeout_ms: options.timeoutMs ?? POLICY.timeout_ms,
    can_reconcile: options.canReconcile ?? false,
  };
  const invocation = invocationForTest({
    project_id: options.project ?? "p1",
    tool_name: `hostile__${name}`,
    arguments: { text: "hello" },
    effect,
  });
  const end = await host.run({
    entry: options.entry ?? hostile,
    export_name: name,
    invocation,
    policy,
    workdir,
    signal: options.signal ?? new AbortController().signal,
    hooks: { onLog: () => {}, onProgress: () => {}, runtime: null, ...options.hooks },
  });
  return contentOfEnd(end, {
    policy,
    effect,
    afterExecution: "suspend",
    toolCallId: "tc_1",
    toolName: invocation.tool_name,
    mask: NO_SECRETS,
  });
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

const ECHO = { status: "success", result: { input: { text: "hello" } }, error: null };
const SMALL = { heapMb: 64, memoryBytesMax: 400 * 1024 * 1024 };

describe("an isolated tool", () => {
  let shared: IsolatedHost;
  beforeAll(async () => {
    shared = await newHost({ limits: SMALL });
    hosts.splice(0); // kept until the last of its tests is done
  });
  afterAll(() => shared.close());

  it.each([
    ["spin", "timeout", "tool_timeout"],
    ["spinAsync", "timeout", "tool_timeout"],
    ["wait", "timeout", "tool_timeout"],
    ["never", "timeout", "tool_timeout"],
    ["heap", "failed", "tool_crashed"],
    ["buffers", "failed", "tool_crashed"],
    ["exit0", "failed", "tool_crashed"],
    ["exit1", "failed", "tool_crashed"],
    ["throwString", "failed", "internal_error"],
    ["cycle", "failed", "result_not_serializable"],
    ["print", "failed", "payload_too_large"],
    ["rejects", "failed", "tool_crashed"],
    ["killSelf", "failed", "tool_crashed"],
    ["forkAndExit", "failed", "tool_crashed"],
    ["huge", "failed", "payload_too_large"],
    ["deep", "failed", "too_deep"],
    ["forge", "failed", "tool_crashed"],
    ["garbage", "failed", "tool_crashed"],
    ["longFrame", "failed", "tool_crashed"],
  ])("that does %s settles %s with %s, and its neighbours live", async (name, status, code) => {
    const host = shared;
    await run(host, "echo"); // a warm start, so that the limit below is the handler's own
    const started = performance.now();
    const timeoutMs = status === "timeout" ? 500 : 15_000;
    const hostileCall = run(host, name, { timeoutMs });
    const neighbours = Promise.all([run(host, "echo"), run(host, "echo", { entry: other })]);
    const content = await hostileCall;
    if (status === "timeout") expect(performance.now() - started).toBeLessThan(timeoutMs + 2_000);
    expect(content).toMatchObject({ status, error: { code } });
    for (const neighbour of await neighbours) expect(neighbour).toMatchObject(ECHO);
    expect(await run(host, "echo")).toMatchObject(ECHO);
  });

  it("that blocks its event loop and then returns succeeds", async () => {
    expect(await run(await newHost(), "block")).toMatchObject({ status: "success", result: { value: "blocked" } });
  });

  it.each([
    ["exit1", "failed", "tool_crashed"],
    ["spin", "timeout", "tool_timeout"],
    ["print", "failed", "output_too_large"],
  ])("with the effect once that does %s has an unknown outcome", async (name, status, reason) => {
    const host = await newHost();
    const content = await run(host, name, { effect: "once", timeoutMs: name === "spin" ? 300 : 15_000 });
    expect(content).toMatchObject({ status, error: { code: "outcome_unknown", detail: { reason } } });
  });

  it("takes what it started with it when it is timed out, and is answered after that", async () => {
    const host = await newHost();
    await run(host, "echo"); // it is warm
    const content = await run(host, "fork", { timeoutMs: 1_000 });
    expect(content.status).toBe("timeout");
    const grandchild = Number(await readFile(join(workdir, "grandchild"), "utf8"));
    await waitFor(() => !isAlive(grandchild), { what: "the grandchild to be gone" });
  });

  it("takes what it started with it when it exits", async () => {
    const host = await newHost();
    await run(host, "forkAndExit");
    const grandchild = Number(await readFile(join(workdir, "grandchild"), "utf8"));
    await waitFor(() => !isAlive(grandchild), { what: "the grandchild to be gone" });
  });

  it("runs in a warm process the next time, and never in one of another project", async () => {
    const host = await newHost({ limits: { restMs: 10_000 } });
    const first = await run(host, "pid");
    const second = await run(host, "pid");
    expect(second.result).toEqual({ pid: (first.result as { pid: number }).pid, calls: 2 });
    const foreign = await run(host, "pid", { project: "p2" });
    expect(foreign.result).toMatchObject({ calls: 1 });
  });

  it("runs side by side with itself, up to the limit of children, and waits beyond it", async () => {
    const host = await newHost({ limits: { childrenPerEntryMax: 2, childrenMax: 3, restMs: 10_000 } });
    const results = await Promise.all(Array.from({ length: 6 }, () => run(host, "pid")));
    expect(results.every(({ status }) => status === "success")).toBe(true);
    expect(new Set(results.map(({ result }) => (result as { pid: number }).pid)).size).toBe(2);
    expect(host.children()).toBe(2);
  });

  it("gives its idle process up for a module that needs the place", async () => {
    const host = await newHost({ limits: { childrenMax: 1 } });
    await run(host, "echo");
    expect(await run(host, "echo", { entry: other })).toMatchObject(ECHO);
    expect(await run(host, "echo")).toMatchObject(ECHO);
    expect(host.children()).toBe(1);
  });

  it("that finds no process free in time is refused as retryable", async () => {
    const host = await newHost({ limits: { childrenPerEntryMax: 1, queueMs: 100 } });
    const busy = run(host, "never", { timeoutMs: 1_500 });
    const content = await run(host, "echo");
    expect(content).toMatchObject({ status: "failed", error: { code: "upstream_unavailable", retryable: true } });
    await busy;
  });

  it("loses its process when it is idle for long enough", async () => {
    const clock = new VirtualClock();
    const host = await newHost({ clock });
    await run(host, "echo");
    expect(host.children()).toBe(1);
    await clock.advance(60_000);
    await waitFor(() => host.children() === 0, { what: "the idle child to be gone" });
  });

  it("sees its workspace and four variables, nothing of the host", async () => {
    const host = await newHost({ env: { PATH: process.env.PATH, TZ: "UTC", SECRET_CANARY: "canary", LANG: "" } });
    const { result } = await run(host, "where");
    expect(result).toEqual({
      cwd: workdir,
      env: { PATH: process.env.PATH, TZ: "UTC", LANG: "C.UTF-8", HOME: workdir },
    });
  });

  it("cannot change the prototypes of its host, nor of its next call", async () => {
    const host = await newHost();
    expect(await run(host, "pollute")).toMatchObject({ status: "success" });
    expect(({} as { polluted?: string }).polluted).toBeUndefined();
    expect((await run(host, "isPolluted")).result).toEqual({ polluted: null });
  });

  it("whose process dies after the answer does not spoil the next call", async () => {
    const host = await newHost();
    for (let round = 0; round < 3; round++) {
      const content = await run(host, "rejectsAfter", { effect: "once" });
      expect(content).toMatchObject({ status: "success", result: { value: "answered" } });
      await waitFor(() => host.children() === 0, { what: "the child to die of its rejection" });
    }
  });

  it("that leaves work behind does not take the next call with it", async () => {
    const host = await newHost();
    expect(await run(host, "throwsLater")).toMatchObject({ status: "success", result: { value: "answered" } });
    expect(await run(host, "pay", { effect: "once" })).toMatchObject({ status: "success", result: { value: "paid" } });
  });

  it("whose process hangs after the answer does not keep the next call waiting", async () => {
    const host = await newHost({ limits: { takeMs: 300 } });
    expect(await run(host, "blocksAfter")).toMatchObject({ result: { value: "answered" } });
    expect(await run(host, "echo", { effect: "once", timeoutMs: 10_000 })).toMatchObject(ECHO);
    expect(await run(host, "blocksLater")).toMatchObject({ result: { value: "answered" } });
    await waitFor(() => existsSync(join(workdir, "blocked")), { what: "the process to hang" });
    expect(await run(host, "echo", { effect: "once", timeoutMs: 10_000 })).toMatchObject(ECHO);
  });

  it("is told of a cancel, and ended when it does not listen", async () => {
    for (const { name, cancelGraceMs } of [
      { name: "spin", cancelGraceMs: 300 },
      { name: "abortable", cancelGraceMs: 10_000 },
    ]) {
      const host = await newHost({ limits: { cancelGraceMs, restMs: 10_000 } });
      const abort = new AbortController();
      await run(host, "echo");
      const call = run(host, name, { signal: abort.signal, effect: "once" });
      setImmediate(() => abort.abort());
      expect(await call).toMatchObject({ status: "canceled", error: { code: "canceled" } });
    }
    expect(await readFile(join(workdir, "aborted"), "utf8")).toBe("the call was canceled");
  });

  it("that was canceled before it had a process does not run", async () => {
    const host = await newHost();
    const content = await run(host, "forkAndExit", { signal: AbortSignal.abort() });
    expect(content.status).toBe("canceled");
    expect(host.children()).toBe(0);
  });

  it("logs through its logger, stdout and stderr, and tells its progress", async () => {
    const host = await newHost();
    const logs: string[] = [];
    const updates: unknown[] = [];
    const hooks = {
      onLog: (level: string, message: string) => void logs.push(`${level} ${message}`),
      onProgress: (update: unknown) => void updates.push(update),
    };
    await run(host, "talk", { hooks });
    expect(logs.sort()).toEqual(["error from stderr", "info from stdout", "warn from the logger"]);
    expect(updates).toEqual([{ message: "half", fraction: 0.5 }]);
  });

  it("talks to other agents through its host, with Dates as Dates", async () => {
    const host = await newHost();
    const asked: unknown[][] = [];
    const note =
      (method: string, answer: unknown) =>
      async (...args: unknown[]) => {
        asked.push([method, ...args]);
        if (args[0] === "nobody") throw Object.assign(new Error("no such agent"), { code: "not_found" });
        return answer;
      };
    const runtime = {
      request: note("request", { eventId: "r", at: new Date(2_000) }),
      send: note("send", { accepted: true }),
      spawn: note("spawn", { spawned: true }),
      list: note("list", { agents: [] }),
      catalog: note("catalog", { swarmName: "s" }),
    } as unknown as AgentToolRuntime;
    const { status, result, error } = await run(host, "ask", { hooks: { runtime } });
    // A Date in the output of the handler itself is not JSON: the first answer proves that it arrived as one.
    expect({ status, code: error?.code, result }).toMatchObject({ status: "failed", code: "result_not_serializable" });
    expect(asked.map(([method]) => method)).toEqual(["request", "send", "spawn", "list", "catalog", "send"]);
    const [, target, event, given] = asked[0] ?? [];
    expect(target).toBe("coder");
    expect(event).toMatchObject({ createdAt: new Date(1_000) });
    expect(given).toEqual({ timeoutMs: 5 });
  });

  it("gets the error of another agent's refusal, and no runtime where its host has none", async () => {
    const host = await newHost();
    const answer = async (target?: unknown) => {
      if (target === "nobody") throw Object.assign(new Error("no such agent"), { code: "not_found" });
      return { ok: true };
    };
    const runtime = { request: answer, send: answer, spawn: answer, list: answer, catalog: answer };
    const { result } = await run(host, "ask", { hooks: { runtime: runtime as unknown as AgentToolRuntime } });
    expect(result).toMatchObject({ refusal: { message: "no such agent", code: "not_found", name: "Error" } });
    expect(await run(host, "hasRuntime")).toMatchObject({ result: { value: false } });
  });
});

describe("a once tool whose process died", () => {
  it.each([
    ["crashOnce", "success", { value: "second" }, null],
    ["effectThenCrash", "success", { reconciled: true }, null],
    ["exit1", "failed", null, "outcome_unknown"],
  ])("goes through its reconciler: %s ends %s", async (name, status, result, code) => {
    const host = await newHost();
    const content = await run(host, name, { effect: "once", canReconcile: true });
    expect(content.status).toBe(status);
    if (result !== null) expect(content.result).toEqual(result);
    if (code !== null) expect(content.error).toMatchObject({ code });
  });
});

describe("a tool in a crash loop", () => {
  it("is answered at once with the time of its next start, and is forgiven after a success", async () => {
    const clock = new VirtualClock();
    const host = await newHost({ clock });
    for (let crash = 0; crash < 6; crash++) {
      expect(await run(host, "exit1")).toMatchObject({ error: { code: "tool_crashed" } });
    }
    const refused = await run(host, "echo");
    expect(refused).toMatchObject({ status: "failed", error: { code: "upstream_unavailable", retryable: true } });
    expect(refused.error?.message).toContain("in 1000 ms");
    expect(await run(host, "echo", { entry: other })).toMatchObject(ECHO); // another module is not in the loop

    await clock.advance(1_000);
    expect(await run(host, "exit1")).toMatchObject({ error: { code: "tool_crashed" } });
    expect((await run(host, "echo")).error?.message).toContain("in 2000 ms");
    await clock.advance(2_000);
    expect(await run(host, "echo")).toMatchObject(ECHO);
    expect(await run(host, "exit1")).toMatchObject({ error: { code: "tool_crashed" } });
    expect(await run(host, "echo")).toMatchObject(ECHO);
  });
});

describe("a module that changed", () => {
  it("is loaded anew when it is looked at again", async () => {
    const host = await newHost();
    const entry = join(root, "changing.mjs");
    for (const version of [1, 2]) {
      await writeFile(entry, `export const handlers = { v${version}: () => ${version} };`);
      expect(await host.inspect(entry, root)).toEqual({ handlers: [`v${version}`], reconcilers: [] });
      expect(await run(host, `v${version}`, { entry })).toMatchObject({ result: { value: version } });
    }
  });
});

describe("a module that cannot be used", () => {
  it.each([
    ["throws", "throw new Error('broken at load');", "broken at load"],
    ["has no handlers", "export const other = 1;", 'exports no "handlers"'],
    ["exits", "process.exit(4);", "exit code 4"],
  ])("because it %s is refused, and not loaded here", async (name, text, message) => {
    const host = await newHost();
    const entry = join(root, `unusable-${name.replaceAll(" ", "-")}.mjs`);
    await writeFile(entry, text);
    const content = await run(host, "echo", { entry });
    expect(content.status).toBe("failed");
    expect(content.error?.message).toContain(message);
    await expect(host.inspect(entry, root)).rejects.toThrow(message);
  });

  it("because it never finishes loading is given up", async () => {
    const host = await newHost({ limits: { startMs: 700 } });
    const entry = join(root, "slow.mjs");
    await writeFile(entry, "for (;;) {}");
    const content = await run(host, "echo", { entry });
    expect(content).toMatchObject({ status: "failed", error: { code: "tool_crashed", retryable: true } });
    const looking = await newHost({ limits: { inspectMs: 700 } });
    await expect(looking.inspect(entry, root)).rejects.toThrow("not loaded within 700 ms");
  });

  it("only in the eyes of a host that was too busy to read its answer is none", async () => {
    const inspectMs = 1_000;
    const host = await newHost({ limits: { inspectMs } });
    const entry = join(root, "ready.mjs");
    const told = join(root, "told");
    await writeFile(
      entry,
      `import { writeFileSync } from "node:fs";
       setTimeout(() => writeFileSync(${JSON.stringify(told)}, ""), 50); // after the answer, which follows the loading
       export const handlers = { echo: () => ({}) };`,
    );
    const inspected = host.inspect(entry, root);
    await new Promise((resolve) => setImmediate(resolve)); // its time runs from here
    const began = performance.now();
    const cell = new Int32Array(new SharedArrayBuffer(4));
    while (performance.now() < began + inspectMs + 100) Atomics.wait(cell, 0, 0, 20);
    while (!existsSync(told) && performance.now() < began + 60_000) Atomics.wait(cell, 0, 0, 20);
    expect(existsSync(told)).toBe(true);
    expect(await inspected).toMatchObject({ handlers: ["echo"] });
  });
});

describe("the children of a host that was killed", () => {
  it("are gone too, even one that loops for ever", async () => {
    const place = await mkdtemp(join(root, "orphan-"));
    const hostUrl = new URL("./isolated-host.ts", import.meta.url).href;
    const program = join(place, "host.ts");
    await mkdir(join(place, "work"));
    await writeFile(
      join(place, "loop.mjs"),
      `import { writeFileSync } from "node:fs";
       import { spawn } from "node:child_process";
       export const handlers = { loop: (ctx) => {
         const child = spawn("sleep", ["1000"]);
         writeFileSync(ctx.workdir + "/pids", process.pid + " " + child.pid);
         for (;;) {}
       } };`,
    );
    await writeFile(
      program,
      `import { createIsolatedHost } from ${JSON.stringify(hostUrl)};
       const clock = { databaseTime: () => null, monotonicMs: () => performance.now(), after: (ms, task) => { const t = setTimeout(task, ms); return { cancel: () => clearTimeout(t) }; } };
       const host = createIsolatedHost({ clock, onWarning: () => {} });
       await host.run({ entry: ${JSON.stringify(join(place, "loop.mjs"))}, export_name: "loop", workdir: ${JSON.stringify(join(place, "work"))},
         invocation: { project_id: "p", channel_id: "c", agent_id: "a", agent_turn_id: "t", tool_call_id: "tc", tool_name: "l__loop", arguments: {}, effect: "read", attempt: 1, mode: "run", idempotency_key: "k", trace_id: "t", step_id: "s", message: { card_id: "c", content: "", tool_calls: [] }, definition: null },
         policy: { timeout_ms: 600_000, error_message_limit: 1000, can_reconcile: false },
         signal: new AbortController().signal, hooks: { onLog() {}, onProgress() {}, runtime: null } });`,
    );
    const host = await TestChild.start(program);
    const pids = await waitFor(() => readFile(join(place, "work", "pids"), "utf8").catch(() => ""), {
      what: "the tool to run",
    });
    const [child = 0, grandchild = 0] = pids.split(" ").map(Number);
    try {
      expect([isAlive(child), isAlive(grandchild)]).toEqual([true, true]);
      await host.kill();
      await waitFor(() => !isAlive(child) && !isAlive(grandchild), { what: "child and grandchild to be gone" });
    } finally {
      for (const pid of [child, grandchild]) if (isAlive(pid)) process.kill(pid, "SIGKILL"); // also when the test fails
    }
  });
});
