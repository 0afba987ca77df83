// An executor is killed -9 in the middle of a run. What happens then is what the tool declared (docs/design.md#effects):
//
//   read, idempotent     run again, with the same idempotency key
//   once                 outcome_unknown, never run again
//   once with reconcile  asked what became of it
//
// Every tool writes what it does to a ledger, the world outside; the kill comes after the effect and before the answer.

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { migrate, SCHEMA_DIGEST } from "@tessera/kernel";
import {
  awaitToolCall,
  type Node,
  openNode,
  startToolCaller,
  type ToolCallAnswer,
  type ToolCaller,
} from "@tessera/runtime";
import { createTestDatabases, TestChild, type TestDatabase, waitFor, wholeLines } from "@tessera/testkit";
import { afterEach, beforeEach, describe, expect, inject, it } from "vitest";
import type { ExecutorOrder } from "./executor-process.ts";

const LEASE_MS = 1_500;
const PROCESS = new URL("./executor-process.ts", import.meta.url);
const TOOLS = ["read", "idempotent", "once", "reconciled"] as const;

const RESOURCE = (placement: string, target: string) => `
apiVersion: goondan.ai/v1
kind: Tool
metadata: { name: acts }
spec:
  entry: ./acts.ts
  placement: ${placement}
${placement === "service" ? `  target: ${target}` : ""}
  exports:
    - { name: read, effect: read, timeoutMs: 60000 }
    - { name: idempotent, effect: idempotent, timeoutMs: 60000 }
    - { name: once, effect: once, timeoutMs: 60000 }
    - { name: reconciled, effect: once, reconcile: true, timeoutMs: 60000 }
`;

/** The first attempt of each tool acts and then hangs; a later one answers. */
const MODULE = `
import { appendFileSync, existsSync, readFileSync } from "node:fs";
import type { ToolContext, ToolHandler, ToolReconcile } from "@tessera/tool";

const act = (name: string): ToolHandler => async (ctx: ToolContext, input) => {
  appendFileSync(String(input.ledger), JSON.stringify({ name, key: ctx.idempotencyKey, attempt: ctx.attempt }) + "\\n");
  if (ctx.attempt === 1) await new Promise(() => setInterval(() => undefined, 1_000));
  return { name, attempt: ctx.attempt };
};
export const handlers = { read: act("read"), idempotent: act("idempotent"), once: act("once"), reconciled: act("reconciled") };
const reconciled: ToolReconcile = (ctx, call) => {
  const acted = existsSync(String(call.input.ledger)) && readFileSync(String(call.input.ledger), "utf8").includes(call.idempotencyKey);
  appendFileSync(String(call.input.ledger), JSON.stringify({ name: "asked", key: call.idempotencyKey, attempt: ctx.attempt }) + "\\n");
  return acted ? { outcome: "done", output: { reconciled: true } } : { outcome: "not_done" };
};
export const reconcilers = { reconciled };
`;

interface Entry {
  readonly name: string;
  readonly key: string;
  readonly attempt: number;
}

let directory = "";
let bundle = "";
const children: TestChild[] = [];
const closing: (() => Promise<void>)[] = [];
const ledger = () => join(directory, "ledger");

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "tessera-crash-"));
});
afterEach(async () => {
  for (const child of children.splice(0)) if (child.exit === null) await child.kill();
  for (const close of closing.splice(0).reverse()) await close();
  rmSync(directory, { recursive: true, force: true });
});

function write(placement: string, target: string): void {
  bundle = join(directory, "bundle");
  mkdirSync(bundle);
  writeFileSync(join(bundle, "tessera.yaml"), RESOURCE(placement, target));
  writeFileSync(join(bundle, "acts.ts"), MODULE);
}

function entries(): Entry[] {
  return wholeLines(ledger()).map((line) => JSON.parse(line) as Entry);
}

async function start(order: Omit<ExecutorOrder, "bundle" | "leaseMs">): Promise<TestChild> {
  const child = await TestChild.start(PROCESS, { args: [JSON.stringify({ ...order, bundle, leaseMs: LEASE_MS })] });
  children.push(child);
  await child.waitForMessage("ready", (message: { event?: string }) => message.event === "ready");
  return child;
}

/** Every tool has acted once and hangs: the moment at which no other process can know what happened. */
async function killWhenAllActed(child: TestChild): Promise<void> {
  await waitFor(() => entries().length === TOOLS.length, { what: "every tool to act", timeoutMs: 20_000 });
  await child.kill();
}

function expectEffects(answers: Readonly<Record<string, ToolCallAnswer>>): void {
  expect(answers.read).toMatchObject({ status: "success", result: { name: "read", attempt: 2 } });
  expect(answers.idempotent).toMatchObject({ status: "success", result: { name: "idempotent", attempt: 2 } });
  expect(answers.once).toMatchObject({ status: "failed", error: { code: "outcome_unknown" } });
  expect(answers.reconciled).toMatchObject({ status: "success", result: { reconciled: true } });
  const attemptsOf = (name: string) => entries().filter((entry) => entry.name === name);
  expect(attemptsOf("read").map((entry) => entry.attempt)).toEqual([1, 2]);
  expect(attemptsOf("idempotent").map((entry) => entry.attempt)).toEqual([1, 2]);
  expect(new Set(attemptsOf("idempotent").map((entry) => entry.key)).size).toBe(1);
  expect(attemptsOf("once").map((entry) => entry.attempt)).toEqual([1]);
  expect(attemptsOf("reconciled").map((entry) => entry.attempt)).toEqual([1]);
  expect(attemptsOf("asked")).toHaveLength(1);
}

describe("an executor on PostgreSQL and NATS, killed -9 while its tools run", () => {
  let store: TestDatabase;
  let node: Node;
  let caller: ToolCaller;

  beforeEach(async () => {
    store = await createTestDatabases({
      engine: "postgres",
      prepare: async (database) => void (await migrate(database)),
      digest: `kernel-${SCHEMA_DIGEST}`,
    }).open();
    closing.push(() => store.close());
    const quiet = { onWarning: () => undefined, onFatal: () => undefined };
    node = await openNode({ postgres: store.url ?? "", nats: inject("natsUrl"), sweepIntervalMs: 200, ...quiet });
    closing.push(() => node.close());
    caller = await startToolCaller({
      ...node,
      runner: { run: () => Promise.reject(new Error("nothing runs here")), close: async () => undefined },
      isHosted: () => false,
    });
    closing.push(() => caller.stop());
  });

  it("leaves each call to what its tool declared", async () => {
    const target = node.ids.mint("acts").slice(0, 20);
    write("service", target);
    const connection = { postgres: store.url ?? "", nats: inject("natsUrl"), project: "crash" };
    const first = await start(connection);
    const turns = new Map<string, string>();
    for (const tool of TOOLS) {
      const request = { project_id: "crash", tool_name: `acts__${tool}`, arguments: { ledger: ledger() } };
      turns.set(tool, (await caller.request(request)).agent_turn_id);
    }
    await killWhenAllActed(first);
    await start(connection);
    const answers: Record<string, ToolCallAnswer> = {};
    for (const [tool, turn] of turns) answers[tool] = await awaitToolCall(node, "crash", turn, { waitMs: 30_000 });
    expectEffects(answers);
  }, 60_000);
});

describe("an embedded process, killed -9 while its tools run in it", () => {
  it.each(["isolated", "inline", "service"])(
    "leaves each %s call to what its tool declared",
    async (placement) => {
      write(placement, "acts");
      const data = join(directory, "store");
      const first = await start({
        data,
        project: "crash",
        calls: TOOLS.map((tool) => ({ tool: `acts__${tool}`, arguments: { ledger: ledger() } })),
      });
      await killWhenAllActed(first);
      const requested = (first.messages as { event: string; tool: string; agent_turn_id: string }[]).filter(
        (message) => message.event === "requested",
      );
      expect(requested).toHaveLength(TOOLS.length);
      // The store has one holder, so the process that holds it now tells the answers.
      const awaiting = requested.map((message) => message.agent_turn_id);
      const second = await start({ data, project: "crash", calls: [], awaiting });
      const answers: Record<string, ToolCallAnswer> = {};
      for (const { tool, agent_turn_id } of requested) {
        const said = await second.waitForMessage<{ turn?: string; answer: ToolCallAnswer }>(
          `the answer of ${tool}`,
          (message) => message.turn === agent_turn_id,
          40_000,
        );
        answers[tool.replace("acts__", "")] = said.answer;
      }
      expectEffects(answers);
    },
    90_000,
  );
});
