// createTessera where programs come and go: two of them share a PostgreSQL store; one that holds a directory is killed.

import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  createTessera,
  defineAgent,
  defineModel,
  defineTool,
  openStore,
  reachHolder,
  type Tessera,
  type TesseraOptions,
  verifyStore,
} from "@tessera/runtime";
import { createTestDatabases, TestChild, type TestDatabase, waitFor } from "@tessera/testkit";
import { afterEach, beforeEach, expect, test } from "vitest";

const TEST_MS = 60_000;
const quiet = { onWarning: () => {}, onFatal: () => {} };
let store: TestDatabase;
let postgres = "";
const opened: Tessera[] = [];

beforeEach(async () => {
  const databases = createTestDatabases({ engine: "postgres", prepare: async () => undefined, digest: "empty" });
  store = await databases.open();
  postgres = store.url ?? "";
  await (await openStore({ postgres, migrate: "yes", ...quiet })).close();
});
afterEach(async () => {
  await Promise.all(opened.splice(0).map((tessera) => tessera.close({ graceMs: 0 })));
  await store.close();
});

async function open(options: TesseraOptions): Promise<Tessera> {
  const tessera = await createTessera({ postgres, log: () => {}, leaseMs: 2_000, ...options });
  opened.push(tessera);
  return tessera;
}

const script = defineModel({
  name: "script",
  provider: "scripted",
  options: {
    rules: [
      { when: { step: 0 }, reply: { toolCalls: [{ name: "stamp", arguments: {} }] } },
      { reply: { text: "stamped {{result.by}}" } },
    ],
  },
});
const clerk = defineAgent({ name: "clerk", model: script, tools: ["stamp"] });

function stamp(by: string) {
  return defineTool({ name: "stamp", effect: "read", handler: () => ({ by }) });
}

test("a program that only asks and one that works share a store, each turn is run once, and the store is sound", {
  timeout: TEST_MS,
}, async () => {
  const worker = await open({ tools: [stamp("worker")], models: [script], agents: [clerk] });
  const asker = await open({ roles: [] });
  expect(asker.client).toBeNull();
  const answers = await Promise.all(
    Array.from({ length: 5 }, (_, n) => asker.run({ agent: "clerk", instanceKey: `i${n}`, input: "go" })),
  );
  for (const answer of answers) expect(answer).toMatchObject({ status: "success", deliverable: "stamped worker" });
  const again = { agent: "clerk", input: "go", idempotencyKey: "k" };
  const [first, second] = await Promise.all([asker.enqueue(again), worker.enqueue(again)]);
  expect(second).toEqual(first);
  expect(await worker.turn(first.agentTurnId, { waitMs: TEST_MS / 2 })).toMatchObject({ status: "success" });
  const opened = await openStore({ postgres, ...quiet });
  expect((await verifyStore(opened, { drained: true })).violations).toEqual([]);
  await opened.close();
});

test("a turn that a closed program left is ended by the next one", { timeout: TEST_MS }, async () => {
  const started = Promise.withResolvers<void>();
  const stuck = defineTool({
    name: "stamp",
    effect: "read",
    handler: async (ctx) => {
      started.resolve();
      await new Promise((_, reject) => ctx.signal.addEventListener("abort", () => reject(new Error("gone"))));
      return {};
    },
  });
  const first = await open({ tools: [stuck], models: [script], agents: [clerk] });
  const { agentTurnId } = await first.enqueue({ input: "go" });
  await started.promise;
  await first.close({ graceMs: 0 });

  const second = await open({ tools: [stamp("second")], models: [script], agents: [clerk] });
  const answer = await second.turn(agentTurnId, { waitMs: TEST_MS / 2 });
  expect(answer).toMatchObject({ status: "success", deliverable: "stamped second" });
});

test("a directory is reached through the program that holds it, and through no process after kill -9, whatever it left", {
  timeout: TEST_MS,
}, async () => {
  const data = mkdtempSync(join(tmpdir(), "tessera-held-"));
  const child = await TestChild.start(new URL("./holder-program.ts", import.meta.url), { args: [data] });
  try {
    const told = await waitFor(() => child.messages[0] as { url: string; apiKey: string } | undefined, {
      what: "the program's address",
      timeoutMs: TEST_MS / 2,
    });
    expect(await reachHolder(data)).toEqual({ url: told.url, key: told.apiKey });
    await expect(createTessera({ data, log: () => {} })).rejects.toMatchObject({
      code: "store_in_use",
      message: expect.stringContaining(told.url),
    });
    await child.kill();
    expect(existsSync(join(data, "key")) && existsSync(join(data, "url"))).toBe(true);
    expect(await reachHolder(data)).toBeNull();
    const next = await createTessera({ data, log: () => {} });
    expect(await reachHolder(data)).toEqual({ url: next.client?.url, key: next.client?.apiKey });
    expect(next.client?.apiKey).not.toBe(told.apiKey);
    await next.close({ graceMs: 0 });
  } finally {
    await child.kill().catch(() => undefined); // gone already, unless the test failed
    rmSync(data, { recursive: true, force: true });
  }
});
