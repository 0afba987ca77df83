// Isolated tools, with real processes: whatever a handler does, its call settles and everybody else lives.

import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { VirtualClock, waitFor } from "@tessera/testkit";
import { type AgentToolRuntime, ToolError } from "@tessera/tool";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  ECHO,
  isAlive,
  keptHost,
  newHost,
  other,
  run,
  useIsolatedBench,
  workdir,
} from "../../../test/isolated-bench.ts";
import type { IsolatedHost } from "./isolated-host.ts";

/** What a tool sees of an error of ctx.runtime. */
const REFUSAL = { code: "not_found", suggestion: "Ask another.", helpUrl: "https://help.example/x", retryable: false };
const SMALL = { heapMb: 64, memoryBytesMax: 400 * 1024 * 1024 };

useIsolatedBench();

describe("an isolated tool", () => {
  let shared: IsolatedHost;
  beforeAll(async () => {
    shared = await keptHost({ limits: SMALL });
  });
  afterAll(() => shared.close());

  const endings: readonly { readonly status: string; readonly code: string; readonly of: readonly string[] }[] = [
    { status: "timeout", code: "tool_timeout", of: ["spin", "spinAsync", "wait", "never"] },
    {
      status: "failed",
      code: "tool_crashed",
      of: ["heap", "buffers", "exit0", "exit1", "rejects", "killSelf", "forkAndExit", "forge", "garbage", "longFrame"],
    },
    { status: "failed", code: "internal_error", of: ["throwString"] },
    { status: "failed", code: "result_not_serializable", of: ["cycle"] },
    { status: "failed", code: "payload_too_large", of: ["print", "huge"] },
    { status: "failed", code: "too_deep", of: ["deep"] },
  ];
  it.each(endings.flatMap(({ status, code, of }) => of.map((name) => [name, status, code] as const)))(
    "that does %s settles %s with %s, and its neighbours live",
    async (name, status, code) => {
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
    },
  );

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

  it("gets a cancel, and is ended when it does not react", async () => {
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

  it("logs through its logger, stdout and stderr, and reports its progress", async () => {
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
    } as AgentToolRuntime;
    const { status, result, error } = await run(host, "ask", { hooks: { runtime } });
    // A Date in the output of the handler itself is not JSON: the first answer proves that it arrived as one.
    expect({ status, code: error?.code, result }).toMatchObject({ status: "failed", code: "result_not_serializable" });
    expect(asked.map(([method]) => method)).toEqual(["request", "send", "spawn", "list", "catalog", "send"]);
    const [, target, event, given] = asked[0] ?? [];
    expect(target).toBe("coder");
    expect(event).toMatchObject({ createdAt: new Date(1_000) });
    expect(given).toEqual({ timeoutMs: 5 });
  });

  it("reports variables that it reads and does not see, once for a call, and finds what it asks for", async () => {
    const host = await newHost();
    const read: string[] = [];
    const hooks = { onMissingVariable: (name: string) => void read.push(name) };
    const { result } = await run(host, "env", { hooks });
    expect(result).toEqual({
      ...{ token: null, again: null, debug: null, has: false, loaded: null },
      spread: expect.stringMatching(/^HOME,LANG,PATH/),
    });
    expect(read).toEqual(["AT_LOAD", "SOME_TOKEN"]);
    read.length = 0;
    expect(await run(host, "envNeeded", { hooks })).toMatchObject({
      error: { detail: { code: "E_TOKEN" } },
    });
    expect(read).toEqual(["AT_LOAD", "SOME_TOKEN"]);
  });

  it("gets the error of another agent's refusal, and no runtime where its host has none", async () => {
    const host = await newHost();
    const answer = async (target?: unknown) => {
      if (target === "nobody") throw new ToolError("no such agent", REFUSAL);
      return { ok: true };
    };
    const runtime = { request: answer, send: answer, spawn: answer, list: answer, catalog: answer };
    const { result } = await run(host, "ask", { hooks: { runtime: runtime as unknown as AgentToolRuntime } });
    expect(result).toMatchObject({ refusal: { message: "no such agent", name: "ToolError", ...REFUSAL } });
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
