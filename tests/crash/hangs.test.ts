// A turn whose code holds up its process for good: an endless loop, a system call that does not return. Real processes of
// `tessera start`, ended by their own watch and started again, as a supervisor would do it.
//
// Goal: the process never stays dead, the turn is set aside at its second hang, its agent goes on with the next turn, and a
// turn that was at work beside it loses time and nothing else.

import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { systemClock } from "@tessera/engines/system";
import { migrate, SCHEMA_DIGEST } from "@tessera/kernel";
import { createTestDatabases, TestChild, waitFor } from "@tessera/testkit";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { TESSERA } from "../cli/run-tessera.ts";
import { isStopped } from "./process-state.ts";

const TEST_MS = 180_000;
/** Longer than the loop of a busy machine is held by a start. */
const HANG_SECONDS = 4;
const LEASE_SECONDS = 60;
const EXIT_HUNG = 8;
const KEY = "tsl_the-key-of-this-test";

const TOOL = `apiVersion: goondan.ai/v1
kind: Tool
metadata: { name: holds }
spec:
  entry: ./holds.ts
  placement: inline
  exports:
    - { name: loop, effect: read, timeoutMs: 600000, parameters: { type: object, properties: {} } }
    - { name: block, effect: read, timeoutMs: 600000, parameters: { type: object, properties: {} } }
    - { name: wait, effect: read, timeoutMs: 600000, parameters: { type: object, properties: {} } }
`;
const MODULE = `
import { execSync } from "node:child_process";
import { existsSync, writeFileSync } from "node:fs";
const file = (name) => new URL("./" + name, import.meta.url);
const until = async (name) => { while (!existsSync(file(name))) await new Promise((resolve) => setTimeout(resolve, 20)); };
const began = (name) => writeFileSync(file(name), "");
export const handlers = {
  loop: async () => { await until("neighbour"); await until("armed"); began("loop"); for (;;); },
  block: async () => { await until("neighbour"); await until("armed"); began("block"); execSync("sleep 30"); },
  wait: async () => { began("neighbour"); await until("go"); return { waited: true }; },
};
`;
const rule = (name: string, tool: string) => ({
  when: { agent: name, step: 0, text: "^act$" },
  reply: { text: "acting", toolCalls: [{ name: `holds__${tool}` }] },
});
const RULES = [
  ...[rule("looper", "loop"), rule("blocker", "block"), rule("neighbour", "wait")],
  { when: {}, reply: { text: "done" } },
];
const DOCUMENTS = [
  { kind: "Model", metadata: { name: "script" }, spec: { provider: "scripted", options: { rules: RULES } } },
  ...["looper", "blocker", "neighbour"].map((name) => ({
    kind: "Agent",
    metadata: { name },
    spec: { modelConfig: { modelRef: "Model/script" }, tools: ["Tool/holds"] },
  })),
].map((document) => JSON.stringify({ apiVersion: "goondan.ai/v1", ...document }));

interface Turn {
  readonly agent_turn_id: string;
  readonly status: string;
  readonly error_code: string | null;
  readonly error_message: string | null;
  readonly turn_epoch: number;
}

let root = "";
beforeAll(() => {
  root = mkdtempSync(join(tmpdir(), "tessera-hangs-"));
});
afterAll(() => rmSync(root, { recursive: true, force: true }));

/** A bundle of its own, its store, and processes on it, one after the other. */
class Hangs {
  readonly bundle: string;
  readonly #store: readonly string[];
  readonly #children: TestChild[] = [];
  #url = "";

  constructor(name: string, store?: readonly string[]) {
    this.bundle = join(root, name);
    mkdirSync(this.bundle);
    writeFileSync(join(this.bundle, "tessera.yaml"), [...DOCUMENTS, TOOL].join("\n---\n"));
    writeFileSync(join(this.bundle, "holds.ts"), MODULE);
    this.#store = store ?? ["--data", join(root, `${name}-store`)];
  }

  /** All that is asked was answered: from now on the code may hold up its process. */
  arm(): void {
    writeFileSync(this.path("armed"), "");
  }

  path(name: string): string {
    return join(this.bundle, name);
  }

  /** What was at work before is taken up before it says that it started. */
  async again(): Promise<TestChild> {
    for (const name of ["neighbour", "loop", "block"]) rmSync(this.path(name), { force: true });
    const args = ["start", this.bundle, ...this.#store, "--port", "0", "--json", "--lease", String(LEASE_SECONDS)];
    const child = await TestChild.start(TESSERA, {
      args,
      env: { TESSERA_API_KEY: KEY, TESSERA_HANG_SECONDS: String(HANG_SECONDS) },
    });
    this.#children.push(child);
    return child;
  }

  async start(): Promise<TestChild> {
    const child = await this.again();
    const started = await child.waitForMessage<{ event: string; url: string }>(
      "that it started",
      ({ event }) => event === "started",
      TEST_MS,
    );
    this.#url = started.url;
    return child;
  }

  async ask(agent: string, input: string): Promise<string> {
    const turn = await this.#send<Turn>("/projects/default/turns", { agent, input });
    return turn.agent_turn_id;
  }

  turn(id: string): Promise<Turn> {
    return this.#send<Turn>(`/projects/default/turns/${id}`);
  }

  async ended(id: string): Promise<Turn> {
    return await waitFor(
      async () => {
        const turn = await this.turn(id);
        return ["success", "failed"].includes(turn.status) ? turn : null;
      },
      { what: `the turn ${id} to end`, timeoutMs: TEST_MS },
    );
  }

  async close(): Promise<void> {
    for (const child of this.#children) if (child.exit === null) await child.kill();
  }

  async #send<T>(path: string, body?: object): Promise<T> {
    const answer = await fetch(this.#url + path, {
      headers: { authorization: `Bearer ${KEY}`, "content-type": "application/json" },
      ...(body === undefined ? {} : { method: "POST", body: JSON.stringify(body) }),
    });
    const read = (await answer.json()) as T;
    if (!answer.ok) throw new Error(`${path}: ${answer.status} ${JSON.stringify(read)}`);
    return read;
  }
}

async function withHangs(hangs: Hangs, work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } finally {
    await hangs.close();
  }
}

/** What its log says of its end: one line. */
function lastWords(child: TestChild): string {
  const said = child.output.filter((line) => line.includes("the event loop has stood still"));
  expect(said).toHaveLength(1);
  return (JSON.parse(said[0] ?? "") as { msg: string }).msg;
}

async function twoHangs(hangs: Hangs): Promise<void> {
  const first = await hangs.start();
  const neighbour = await hangs.ask("neighbour", "act");
  const looper = await hangs.ask("looper", "act");
  const next = await hangs.ask("looper", "something else");
  hangs.arm();
  expect(await first.ended(TEST_MS)).toEqual({ code: EXIT_HUNG, signal: null });
  expect(lastWords(first)).toContain(`it is code of turn ${looper}; turns at work: 2`);
  expect(lastWords(first)).toMatch(/holds\.ts:\d+:\d+/);

  const second = await hangs.again();
  expect(await second.ended(TEST_MS)).toEqual({ code: EXIT_HUNG, signal: null });
  expect(lastWords(second)).toContain(looper);

  const third = await hangs.start();
  expect(await hangs.ended(looper)).toMatchObject({ status: "failed", error_code: "process_hung" });
  expect(await hangs.ended(next)).toMatchObject({ status: "success" });
  writeFileSync(hangs.path("go"), "");
  expect(await hangs.ended(neighbour)).toMatchObject({ status: "success" });
  expect(await third.terminate()).toEqual({ code: 0, signal: null });
}

describe("a turn with an endless loop in an inline tool", () => {
  test("is set aside at its second hang; its agent goes on, and the turn beside it ends well", {
    timeout: TEST_MS,
  }, async () => {
    const hangs = new Hangs("embedded");
    await withHangs(hangs, () => twoHangs(hangs));
  });

  test("also on PostgreSQL, where its leases would last for longer than this test", { timeout: TEST_MS }, async () => {
    const databases = createTestDatabases({
      engine: "postgres",
      prepare: async (database) => void (await migrate(database)),
      digest: `kernel-${SCHEMA_DIGEST}`,
    });
    const database = await databases.open();
    const hangs = new Hangs("shared", ["--postgres", database.url ?? ""]);
    await withHangs(hangs, () => twoHangs(hangs));
    await database.close();
  });
});

describe("a process that hangs", () => {
  test("in a system call ends as well; whose fault it was is known at the second time", {
    timeout: TEST_MS,
  }, async () => {
    const hangs = new Hangs("blocked");
    await withHangs(hangs, async () => {
      const first = await hangs.start();
      await hangs.ask("neighbour", "act");
      const blocker = await hangs.ask("blocker", "act");
      hangs.arm();
      expect(await first.ended(TEST_MS)).toEqual({ code: null, signal: "SIGKILL" });
      expect(lastWords(first)).toContain("inside of a system call; whose code it is is not known");
      const second = await hangs.again();
      expect(await second.ended(TEST_MS)).toEqual({ code: null, signal: "SIGKILL" });
      expect(lastWords(second)).toContain(`inside of a system call; it is code of turn ${blocker}`);
    });
  });

  test("and gets a stop ends within the time of the watch", { timeout: TEST_MS }, async () => {
    const hangs = new Hangs("told");
    await withHangs(hangs, async () => {
      const child = await hangs.start();
      await hangs.ask("neighbour", "act");
      await hangs.ask("looper", "act");
      hangs.arm();
      await waitFor(() => existsSync(hangs.path("loop")), { what: "the loop to begin" });
      process.kill(child.pid, "SIGTERM");
      const started = performance.now();
      expect(await child.ended(TEST_MS)).toEqual({ code: EXIT_HUNG, signal: null });
      expect(performance.now() - started).toBeLessThan(HANG_SECONDS * 1_000 * 10);
    });
  });

  test("is not one that was stopped for longer than that and goes on", { timeout: TEST_MS }, async () => {
    const hangs = new Hangs("stopped");
    await withHangs(hangs, async () => {
      const child = await hangs.start();
      const neighbour = await hangs.ask("neighbour", "act");
      await waitFor(() => existsSync(hangs.path("neighbour")), { what: "the tool to begin" });
      child.stop();
      await waitFor(() => isStopped(child.pid), { what: "the process to be stopped" });
      await new Promise<void>((resolve) => void systemClock.after(HANG_SECONDS * 2_000, resolve)); // the fault itself takes time
      child.resume();
      writeFileSync(hangs.path("go"), "");
      expect(await hangs.ended(neighbour)).toMatchObject({ status: "success" });
      expect(child.output.join("\n")).not.toContain("stood still");
      expect(await child.terminate()).toEqual({ code: 0, signal: null });
    });
  });
});
