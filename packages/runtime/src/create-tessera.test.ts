import { existsSync, mkdirSync, mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { createTessera, type Tessera, type TesseraOptions } from "./create-tessera.ts";
import { defineAgent, defineModel, defineSwarm, defineTool, reachHolder } from "./index.ts";

vi.setConfig({ testTimeout: 60_000 }); // several stores are opened in one test
let data = "";
const opened: Tessera[] = [];

beforeEach(() => {
  data = mkdtempSync(join(tmpdir(), "tessera-embedded-"));
});
afterEach(async () => {
  await Promise.all(opened.splice(0).map((tessera) => tessera.close({ graceMs: 0 })));
  rmSync(data, { recursive: true, force: true });
});

async function open(options: TesseraOptions): Promise<Tessera> {
  const tessera = await createTessera({ log: () => {}, ...options });
  opened.push(tessera);
  return tessera;
}

const double = defineTool({
  name: "double",
  parameters: { type: "object", properties: { n: { type: "number" } }, required: ["n"] } as const,
  effect: "read",
  handler: (_, { n }) => ({ twice: n * 2 }),
});

const script = defineModel({
  name: "script",
  provider: "scripted",
  options: {
    rules: [
      { when: { agent: "counter", step: 0 }, reply: { toolCalls: [{ name: "double", arguments: { n: 21 } }] } },
      { when: { agent: "counter" }, reply: { text: "it is {{result.twice}}" } },
      { when: { agent: "echo", text: "^recall" }, reply: { text: "before: {{earlier}}" } },
      { when: { agent: "echo" }, reply: { text: "you said {{input}}" } },
    ],
  },
});
const counter = defineAgent({ name: "counter", model: script, tools: [double] });
const echo = defineAgent({ name: "echo", model: script });
const crew = defineSwarm({ name: "crew", entryAgent: echo, agents: [echo, counter] });
const world = { tools: [double], models: [script], agents: [counter, echo], swarms: [crew] };

describe("a program with a store in memory", () => {
  it("runs agents, models and swarms that it defines, and the entry of the swarm where it names none", async () => {
    const tessera = await open(world);
    expect(tessera.entryAgent).toBe("echo");
    expect(await tessera.run({ input: "hi" })).toMatchObject({ status: "success", deliverable: "you said hi" });
    const answer = await tessera.run({ agent: "counter", input: "go" });
    expect(answer).toMatchObject({ status: "success", deliverable: "it is 42", error: null });
    expect(await tessera.turn(answer.agentTurnId)).toEqual(answer);
    expect(tessera.client).toBeNull();
  });

  it("remembers what each instance was asked before, until it is asked afresh or reset", async () => {
    const tessera = await open(world);
    const ask = async (input: string, more: { instanceKey?: string; isFresh?: boolean } = {}) =>
      (await tessera.run({ input, ...more })).deliverable;
    expect(await tessera.reset()).toBe(false); // nothing was asked yet
    await ask("a");
    await ask("b");
    expect(await ask("recall")).toBe('before: ["a","b"]');
    expect(await ask("recall", { instanceKey: "other" })).toBe("before: []");
    expect(await ask("recall", { isFresh: true })).toBe("before: []");
    expect(await ask("recall")).toBe('before: ["recall"]');
    expect(await tessera.reset({ agent: "echo", reason: "done with this" })).toBe(true);
    expect(await ask("recall")).toBe("before: []");
    expect(await ask("recall", { instanceKey: "other" })).toBe('before: ["recall"]');
    await expect(tessera.reset({ agent: "nobody" })).rejects.toMatchObject({ code: "agent_not_found" });
    await expect(tessera.reset({ instanceKey: "a b" })).rejects.toMatchObject({ code: "bad_request" });
  });

  it("calls a tool by its name, once for one idempotency key", async () => {
    const tessera = await open({ tools: [double] });
    const first = await tessera.callTool("double", { n: 4 }, { idempotencyKey: "k" });
    expect(first).toMatchObject({ status: "success", result: { twice: 8 } });
    const again = await tessera.callTool("double", { n: 5 }, { idempotencyKey: "k" });
    expect(again).toEqual(first);
    expect(await tessera.callTool("double", { n: "four" })).toMatchObject({ status: "failed" });
    await expect(tessera.callTool("treble")).rejects.toMatchObject({ code: "not_found" });
  });

  it("gives up waiting without giving up the turn, and stops one that is no longer wanted", async () => {
    const release = Promise.withResolvers<void>();
    const slow = defineTool({
      name: "slow",
      effect: "read",
      handler: () => release.promise.then(() => ({ ok: true })),
    });
    const tessera = await open({ tools: [slow] });
    const unwanted = await tessera.callTool("slow", {}, { waitMs: 0 });
    expect(await tessera.stop(unwanted.agentTurnId, "changed my mind")).toBe(true);
    expect(await tessera.turn(unwanted.agentTurnId)).toMatchObject({ status: "canceled" });
    const { agentTurnId } = await tessera.callTool("slow", {}, { waitMs: 0 });
    expect(await tessera.turn(agentTurnId)).toMatchObject({ status: "waiting", deliverable: null });
    release.resolve();
    expect(await tessera.turn(agentTurnId, { waitMs: 10_000 })).toMatchObject({ status: "success" });
    expect(await tessera.stop(agentTurnId)).toBe(false);
    await expect(tessera.stop("turn_of_nobody")).rejects.toMatchObject({ code: "not_found" });
  });

  it("that closes answers `waiting` to requests that wait, and refuses later ones", async () => {
    const begun = Promise.withResolvers<void>();
    const endless = defineTool({
      name: "endless",
      effect: "read",
      handler: () => {
        begun.resolve();
        return new Promise<never>(() => {});
      },
    });
    const tessera = await open({ tools: [endless] });
    const waiting = tessera.callTool("endless");
    await begun.promise;
    await tessera.close({ graceMs: 0 });
    const { agentTurnId, status } = await waiting;
    expect(status).toBe("waiting");
    const refused = { code: "bad_request", message: expect.stringContaining("was closed") };
    await expect(tessera.callTool("endless")).rejects.toMatchObject(refused);
    await expect(tessera.run({ agent: "a", input: "x" })).rejects.toMatchObject(refused);
    await expect(tessera.turn(agentTurnId)).rejects.toMatchObject(refused);
    await expect(tessera.stop(agentTurnId)).rejects.toMatchObject(refused);
    await expect(tessera.reset({ agent: "a" })).rejects.toMatchObject(refused);
  });

  it("is told all mistakes in what it defines before anything is served", async () => {
    const lost = defineAgent({ name: "lost", model: "nowhere" });
    await expect(createTessera({ log: () => {}, agents: [lost] })).rejects.toMatchObject({
      code: "E_CONFIG_REF_NOT_FOUND",
    });
    const empty = await open({});
    await expect(empty.run({ input: "anybody?" })).rejects.toMatchObject({ code: "agent_not_found" });
  });
});

describe("a program with a directory", () => {
  it("goes on after a restart with what was under way before it", async () => {
    const started = Promise.withResolvers<void>();
    const stuck = defineTool({
      name: "double",
      effect: "read",
      handler: async (ctx) => {
        started.resolve();
        await new Promise((_, reject) => ctx.signal.addEventListener("abort", () => reject(new Error("gone"))));
        return {};
      },
    });
    const first = await open({ ...world, data, tools: [stuck] });
    const { agentTurnId } = await first.enqueue({ agent: "counter", input: "go" });
    await started.promise;
    await first.close({ graceMs: 0 });

    const second = await open({ ...world, data });
    expect(await second.turn(agentTurnId, { waitMs: 20_000 })).toMatchObject({
      status: "success",
      deliverable: "it is 42",
    });
  });

  it("says what is in the way of its key, and what to do", async () => {
    mkdirSync(join(data, "key"), { recursive: true });
    await expect(open({ ...world, data })).rejects.toMatchObject({
      code: "bad_request",
      message: expect.stringContaining(`${join(data, "key")} is in the way and cannot be removed; move it away`),
    });
    rmSync(join(data, "key"), { recursive: true });
    await open({ ...world, data });
  });

  it("is reached by others through its API, which they find in the directory while it runs", async () => {
    expect(await reachHolder(data)).toBeNull();
    const tessera = await open({ ...world, data });
    const holder = await reachHolder(data);
    expect(holder).toEqual({ url: tessera.client?.url, key: tessera.client?.apiKey });
    for (const file of ["key", "url"]) expect(statSync(join(data, file)).mode & 0o777).toBe(0o600);
    const answer = await fetch(`${holder?.url}/projects/default/turns`, {
      method: "POST",
      headers: { authorization: `Bearer ${holder?.key}`, "content-type": "application/json" },
      body: JSON.stringify({ agent: "echo", input: "from outside" }),
    });
    expect(answer.status).toBe(202);
    const { agent_turn_id } = (await answer.json()) as { agent_turn_id: string };
    expect(await tessera.turn(agent_turn_id, { waitMs: 10_000 })).toMatchObject({
      deliverable: "you said from outside",
    });
    await tessera.close({ graceMs: 0 });
    expect(await reachHolder(data)).toBeNull();
    for (const file of ["key", "url"]) expect(existsSync(join(data, file))).toBe(false);
  });
});
