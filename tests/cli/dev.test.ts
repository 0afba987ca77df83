// `tessera dev`, and the agents' roles of `tessera start`: a bundle served over HTTP from one command.

import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { waitFor } from "@tessera/testkit";
import { afterAll, beforeAll, expect, it } from "vitest";
import { runHere } from "./run-here.ts";
import { ROOT, TESSERA } from "./run-tessera.ts";

const SLOW_MS = 120_000;
const SWARM = join(ROOT, "examples/swarm");
const REPORT = "Report on hello\n- What I found on the history of hello.\n- What I found on the future of hello.";
let directory = "";
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), "tessera-cli-dev-"));
});
afterAll(() => rmSync(directory, { recursive: true, force: true }));

/** A process that serves, and what it has printed so far. */
async function serve(args: readonly string[], isReady: RegExp, env: Record<string, string> = {}) {
  const child = spawn(process.execPath, [TESSERA, ...args], {
    env: { ...process.env, ...env },
    stdio: ["ignore", "pipe", "ignore"],
  });
  const exit = once(child, "exit");
  let printed = "";
  child.stdout.on("data", (chunk) => {
    printed += chunk;
  });
  await waitFor(() => isReady.test(printed) || child.exitCode !== null, { what: "the start", timeoutMs: 60_000 });
  return {
    printed,
    async stop() {
      child.kill("SIGINT");
      return await exit;
    },
  };
}

const fact = (printed: string, name: string) => new RegExp(`^  ${name} +(.*)$`, "m").exec(printed)?.[1];

async function ended(url: string, key: string, turnId: string) {
  return await waitFor(
    async () => {
      const response = await fetch(`${url}/projects/default/turns/${turnId}`, {
        headers: { authorization: `Bearer ${key}` },
      });
      const turn = (await response.json()) as Record<string, unknown>;
      return turn.ended_at === null ? null : turn;
    },
    { what: "the turn to end", timeoutMs: 60_000 },
  );
}

it(
  "prints url, key, entry agent, a request that can be pasted into a shell, and nothing about roles; the turn it makes ends well",
  async () => {
    const dev = await serve(["dev", SWARM, "--port", "0"], /-d '.*'\n$/);
    const url = fact(dev.printed, "url") ?? "";
    const key = fact(dev.printed, "key") ?? "";
    expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
    expect(key).toMatch(/^tsl_/);
    expect(fact(dev.printed, "entry")).toBe("planner");
    for (const unsaid of ["roles", "targets"]) expect(fact(dev.printed, unsaid)).toBeUndefined();
    expect(fact(dev.printed, "store")).toBe("in memory");

    const curl = dev.printed.slice(dev.printed.indexOf("curl "));
    const { stdout } = await promisify(execFile)("sh", ["-c", curl]);
    const asked = JSON.parse(stdout);
    expect(asked).toMatchObject({ agent_turn_id: expect.any(String), status: "queued" });
    const turn = await ended(url, key, asked.agent_turn_id);
    expect(turn).toMatchObject({ status: "success", deliverable: { text: REPORT } });
    expect(turn.calls).toMatchObject([
      { tool_name: "words__count", result_status: "success" },
      { tool_name: "shelf__find", result_status: "success" },
      { tool_name: "fork_join", result_status: "success" },
    ]);
    expect(await dev.stop()).toEqual([0, null]);
  },
  SLOW_MS,
);

it(
  "takes the key of TESSERA_API_KEY and never prints it",
  async () => {
    const env = { TESSERA_API_KEY: "a-key-of-my-own-0123456789" };
    const dev = await serve(["dev", SWARM, "--port", "0"], /-d '.*'\n$/, env);
    expect(dev.printed).not.toContain(env.TESSERA_API_KEY);
    expect(fact(dev.printed, "key")).toBeUndefined();
    const curl = dev.printed.slice(dev.printed.indexOf("curl "));
    const { stdout } = await promisify(execFile)("sh", ["-c", curl], { env: { ...process.env, ...env } });
    const turn = await ended(fact(dev.printed, "url") ?? "", env.TESSERA_API_KEY, JSON.parse(stdout).agent_turn_id);
    expect(turn.status).toBe("success");
    expect(await dev.stop()).toEqual([0, null]);
  },
  SLOW_MS,
);

it(
  "start with the roles of agents alone works on turns, tools of the bundle included",
  async () => {
    const data = join(directory, "store");
    const args = ["start", SWARM, "--role", "kernel,worker,pmo,api", "--data", data, "--port", "0", "--json"];
    const process = await serve(args, /\n$/);
    const started = JSON.parse(process.printed);
    expect(started).toMatchObject({ ok: true, agents: ["planner", "researcher"], entry: "planner" });
    expect(started.roles).toEqual(["kernel", "worker", "pmo", "api"]);
    expect(started).not.toHaveProperty("targets");
    const response = await fetch(`${started.url}/projects/default/turns`, {
      method: "POST",
      headers: { authorization: `Bearer ${started.key}`, "content-type": "application/json" },
      body: JSON.stringify({ agent: "planner", input: "hello" }),
    });
    expect(response.status).toBe(202);
    const { agent_turn_id } = (await response.json()) as { agent_turn_id: string };
    const turn = await ended(started.url, started.key, agent_turn_id);
    expect(turn).toMatchObject({ status: "success", deliverable: { text: REPORT } });
    expect(await process.stop()).toEqual([0, null]);
  },
  SLOW_MS,
);

it("start refuses a role that there is none of, and a bundle that no role needs", { timeout: SLOW_MS }, async () => {
  const wrong = await runHere(["start", "--role", "worker,boss"]);
  expect(wrong).toMatchObject({ exitCode: 2, out: "" });
  expect(wrong.err).toContain("kernel, worker, pmo, tools, api");
  const useless = await runHere(["start", SWARM, "--role", "api,pmo", "--data", join(directory, "none")]);
  expect(useless).toMatchObject({ exitCode: 2, out: "" });
  expect(useless.err).toContain("a bundle is for the roles worker and tools");
});
