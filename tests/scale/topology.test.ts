// The quick start on PostgreSQL and NATS, with every role in a process and with rights of its own, as deploy/ describes it.
// Processes are killed in the middle.

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { waitFor } from "@tessera/testkit";
import { afterAll, beforeAll, expect, it } from "vitest";
import { PROCESSES, type ProcessName, startTopology, type Topology } from "../../scripts/topology/start-topology.ts";
import { ROOT, runTessera } from "../cli/run-tessera.ts";

const SLOW_MS = 120_000;
/** A lease, the sweep that notices, and the work again. */
const RECOVERY_MS = 60_000;
const DELIVERABLE = `A day in Porto
- See: the old bridge, the book shop with the red stairs, the river at dusk
- Eat: grilled fish at the harbour, custard tarts for the train
- Travel: out at 08:09 (coach 4, seat 21), back at 19:39 (coach 2, seat 11)`;

interface Turn {
  readonly agent_turn_id: string;
  readonly status: string;
  readonly ended_at: string | null;
  readonly deliverable: { readonly text?: string } | null;
}

let topology: Topology;
beforeAll(async () => {
  topology = await startTopology({ bundle: join(ROOT, "examples/quickstart") });
}, SLOW_MS);
afterAll(async () => await topology?.stop(), SLOW_MS);

async function ask<T>(path: string, body?: unknown): Promise<T> {
  const headers = { authorization: `Bearer ${topology.key}`, "content-type": "application/json" };
  const init = body === undefined ? { headers } : { method: "POST", headers, body: JSON.stringify(body) };
  const answer = await fetch(`${topology.url}/projects/default${path}`, init);
  if (!answer.ok) throw new Error(`${path} answered ${answer.status}: ${await answer.text()}`);
  return (await answer.json()) as T;
}

const begin = (instance_key: string) => ask<Turn>("/turns", { agent: "planner", input: "Porto", instance_key });
const ended = ({ agent_turn_id }: Turn, timeoutMs: number) =>
  waitFor(
    async () => {
      const turn = await ask<Turn>(`/turns/${agent_turn_id}`);
      return turn.ended_at !== null && turn;
    },
    { what: "the turn to end", timeoutMs, intervalMs: 100 },
  );

/** Each trip has a clerk of its own, and each clerk a ledger of its own. */
function payments(): string[] {
  const root = join(topology.directory, "workspaces/default");
  const places = readdirSync(root).map((agent) => join(root, agent, "ledger.txt"));
  return places.flatMap((file) => {
    try {
      return readFileSync(file, "utf8").trimEnd().split("\n");
    } catch {
      return []; // the workspace of an agent that has paid nothing
    }
  });
}

function outputs(): string {
  const names = Object.keys(PROCESSES) as ProcessName[];
  return names.flatMap((name) => topology.process(name).child.output.map((line) => `${name}: ${line}`)).join("\n");
}

async function expectVerified(): Promise<void> {
  const verified = await runTessera(["verify", "--drained"], { TESSERA_POSTGRES: topology.postgres.urlOf("reader") });
  expect(verified.exitCode, verified.out + verified.err).toBe(0);
}

it(
  "delivers the same as in one process, and no role lacks a right",
  async () => {
    const turn = await ended(await begin("calm"), 30_000);
    expect(turn).toMatchObject({ status: "success", deliverable: { text: DELIVERABLE } });
    expect(payments()).toHaveLength(2);
    await expectVerified();
    expect(outputs()).not.toMatch(/permission|not allowed|denied|42501/i);
  },
  SLOW_MS,
);

it(
  "killed in the middle, a worker and the tools, it still delivers, and every ticket is paid once",
  async () => {
    const before = payments().length;
    const turn = await begin("stormy");
    await waitFor(() => payments().length > before, { what: "a ticket to be paid", timeoutMs: 30_000 });
    await topology.process("tools").child.kill();
    await topology.process("worker-1").child.kill();
    expect((await ask<Turn>(`/turns/${turn.agent_turn_id}`)).ended_at).toBeNull();
    await Promise.all([topology.restart("tools"), topology.restart("worker-1")]);

    const done = await ended(turn, RECOVERY_MS);
    expect(done).toMatchObject({ status: "success", deliverable: { text: DELIVERABLE } });
    const paid = payments();
    expect(paid).toHaveLength(before + 2);
    expect(new Set(paid).size).toBe(before + 2);
    await expectVerified();
  },
  SLOW_MS,
);

it(
  "stops in order, each process by itself and without a fault",
  async () => {
    const names = (Object.keys(PROCESSES) as ProcessName[]).map((name) => topology.process(name));
    await topology.stop();
    expect(names.map(({ name, child }) => ({ name, ...child.exit }))).toEqual(
      names.map(({ name }) => ({ name, code: 0, signal: null })),
    );
    expect(() => process.kill(topology.nats.pid, 0)).toThrow("ESRCH");
  },
  SLOW_MS,
);
