import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { requestToolCall } from "@tessera/agent";
import { defineTool } from "@tessera/tool";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { openSelfApi } from "../api/open-api.ts";
import { reachHolder } from "../store/holder.ts";
import { openStore } from "../store/open-store.ts";
import { awaitToolCall } from "../tools/call-tool.ts";
import { openNode } from "./open-node.ts";
import { openProcess, type Process, type ProcessOptions } from "./open-process.ts";

const quiet = { onWarning: () => {}, onFatal: () => {} };
const base = { project: "default", env: {}, executor: "test", ...quiet } satisfies ProcessOptions;
vi.setConfig({ testTimeout: 60_000 }); // several stores are opened in one test
let data = "";
const opened: Process[] = [];

beforeEach(() => {
  data = mkdtempSync(join(tmpdir(), "tessera-process-"));
});
afterEach(async () => {
  await Promise.all(opened.splice(0).map((each) => each.close({ graceMs: 0 })));
  rmSync(data, { recursive: true, force: true });
});

async function open(options: Partial<ProcessOptions>): Promise<Process> {
  const process = await openProcess({ ...base, ...options });
  opened.push(process);
  return process;
}

/** A tool that ends when it is told to, or when its call is given up. */
function gated(effect: "read" | "once" = "read") {
  const started = Promise.withResolvers<void>();
  const release = Promise.withResolvers<void>();
  let runs = 0;
  const tool = defineTool({
    name: "gated",
    effect,
    handler: async (ctx) => {
      runs += 1;
      started.resolve();
      const givenUp = new Promise<never>((_, reject) => {
        ctx.signal.addEventListener("abort", () => reject(new Error("given up")));
      });
      await Promise.race([release.promise, givenUp]);
      return { ok: true };
    },
  });
  return { tool, started: started.promise, release: () => release.resolve(), runs: () => runs };
}

async function call({ node }: Process): Promise<string> {
  const request = { project_id: "default", tool_name: "gated", arguments: {} };
  return (await requestToolCall(node.kernel, node.ids, request)).agent_turn_id;
}

describe("a process", () => {
  it("has the parts that its roles need, and no more", async () => {
    const api = await open({ roles: ["api"], api: { port: 0 } });
    expect(api).toMatchObject({ host: null, agents: null, node: { sweeper: null } });
    expect(api.api?.url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
    const pmo = await open({ roles: ["pmo", "kernel"] });
    expect(pmo).toMatchObject({ roles: ["kernel", "pmo"], host: null, agents: null, api: null });
    expect(pmo.node.sweeper).not.toBeNull();
    const worker = await open({ roles: ["worker"] });
    expect(worker.host?.services).toEqual([]);
    expect(worker.agents?.worker).not.toBeNull();
  });

  it("that only works takes tool calls without an agent, too", async () => {
    const { tool, release } = gated();
    release();
    const process = await open({ roles: ["kernel", "worker"], tools: [tool] });
    const turn = await call(process);
    expect(await awaitToolCall(process.node, "default", turn, { waitMs: 10_000 })).toMatchObject({ status: "success" });
  });

  it("says that it is going away before anything of it stops, and lets what runs finish", async () => {
    const { tool, started, release, runs } = gated("once");
    const options = { data, roles: ["kernel", "tools", "api"], tools: [tool], api: { port: 0 } } as const;
    const process = await open(options);
    const turn = await call(process);
    await started;
    expect(await process.health()).toMatchObject({ status: "ok" });
    const closing = process.close({ graceMs: 60_000 });
    expect(await process.health()).toMatchObject({ status: "unready" });
    expect((await fetch(`${process.api?.url}/health/ready`)).status).toBe(503); // there for executors elsewhere, too
    release();
    await closing;
    await expect(fetch(`${process.api?.url}/health/live`)).rejects.toThrow();
    await expect(process.node.kernel.sweep()).rejects.toThrow();

    const next = await open(options); // the turn ends here, with the result of the one run
    const answer = await awaitToolCall(next.node, "default", turn, { waitMs: 20_000 });
    expect(answer).toMatchObject({ status: "success", result: { ok: true } });
    expect(runs()).toBe(1);
  });

  it("gives no grace when it is told a second time to stop", async () => {
    const { tool, started } = gated();
    const process = await open({ roles: ["kernel", "worker"], tools: [tool] });
    await call(process);
    await started;
    const first = process.close({ graceMs: 3_600_000 });
    await Promise.all([first, process.close()]);
    await expect(process.node.kernel.sweep()).rejects.toThrow();
  });

  it("that cannot start gives back what it had opened", async () => {
    const blocker = createServer();
    await new Promise<void>((resolve) => blocker.listen(0, "127.0.0.1", resolve));
    const { port } = blocker.address() as { port: number };
    await expect(openProcess({ ...base, data, api: { port } })).rejects.toMatchObject({ code: "EADDRINUSE" });
    await expect(openProcess({ ...base, data, bundle: join(data, "none") })).rejects.toMatchObject({
      code: "E_CONFIG_ENTRY_NOT_FOUND",
    });
    await new Promise((resolve) => blocker.close(resolve));
    await (await openStore({ data, ...quiet })).close();
    for (const file of ["key", "url"]) expect(existsSync(join(data, file))).toBe(false);
  });
});

describe("the process that holds a directory", () => {
  it("serves the API for others, also without the role, and on no port that it was not asked for", async () => {
    const process = await open({ data, roles: ["kernel"], api: { port: 8099 } });
    const { port } = new URL(process.api?.url ?? "");
    expect(port).not.toBe("8099");
    expect(await reachHolder(data)).toEqual({ url: process.api?.url, key: process.api?.key.text });
  });

  it("is not taken for one by what a dead process left behind", async () => {
    const dead = await open({ data, roles: ["kernel"] });
    const left = { url: `${dead.api?.url}\n`, key: `${dead.api?.key.text}\n` };
    await dead.close({ graceMs: 0 });
    for (const [file, text] of Object.entries(left)) writeFileSync(join(data, file), text);
    expect(await reachHolder(data)).toBeNull(); // no process holds it

    const node = await openNode({ data, ...quiet });
    expect(await reachHolder(data)).toBeNull(); // one does, and serves nothing
    const own = await openSelfApi(node, quiet);
    expect(own.url).toMatch(/^http:\/\/127\.0\.0\.1:/);
    expect(await reachHolder(data)).toBeNull();
    await own.close();
    await node.close();
  });

  it("is looked for without making anything", async () => {
    expect(await reachHolder(join(data, "nothing"))).toBeNull();
    expect(existsSync(join(data, "nothing"))).toBe(false);
  });
});
