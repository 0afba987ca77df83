// A store and a bus of its own for a test of agents, the processes on it, and what they left behind.
//
//   W1. Every process started here is dead when `close` returns, ended by its own pid, also when the test failed.
//   W2. The bus is the test's own: workers of two stores would take each other's wakeups from a shared one.

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { type AgentTurnRequest, enqueueAgentTurn } from "@tessera/agent";
import { type CardDocument, type Kernel, migrate, type Row, SCHEMA_DIGEST, verifyStore } from "@tessera/kernel";
import { type Agents, type Node, openAgents, openNode, openToolHost, type ToolHost } from "@tessera/runtime";
import { createTestDatabases, type NatsServer, startNats, TestChild, type TestEngine, waitFor } from "@tessera/testkit";
import { expect } from "vitest";
import type { AgentsOrder, ProcessMessage, ProcessRole } from "./agents-process.ts";

const PROCESS = new URL("./agents-process.ts", import.meta.url);
export const PROJECT = "swarm";
/** For processes that are to be killed: the worker that goes on after them waits this long. */
const LEASE_MS = 1_500;
/** For those that live, however slow the machine is. */
const CREW_LEASE_MS = 15_000;

type Address = Pick<AgentsOrder, "postgres" | "nats">;

export interface Crew {
  readonly host: ToolHost;
  readonly agents: Agents;
  close(): Promise<void>;
}

export interface CrewOptions {
  readonly roles?: readonly ProcessRole[];
  readonly concurrencyMax?: number;
  /** Instead of the node's own. */
  readonly kernel?: Kernel;
}

export class AgentsWorld {
  readonly directory = mkdtempSync(join(tmpdir(), "tessera-agents-"));
  readonly warnings: string[] = [];
  readonly children: TestChild[] = [];
  readonly #closing: (() => Promise<void>)[];
  readonly node: Node;
  /** Null on an embedded store. */
  readonly nats: NatsServer | null;
  readonly #address: Address | null;

  static async open(engine: TestEngine): Promise<AgentsWorld> {
    const closing: (() => Promise<void>)[] = [];
    const quiet = { onWarning: () => undefined, onFatal: () => undefined };
    if (engine === "pglite") return new AgentsWorld(await openNode(quiet), null, null, closing);
    const nats = await startNats(); // W2
    closing.push(() => nats.stop());
    const store = await createTestDatabases({
      engine,
      prepare: async (database) => void (await migrate(database)),
      digest: `kernel-${SCHEMA_DIGEST}`,
    }).open();
    closing.push(() => store.close());
    const address = { postgres: store.url ?? "", nats: nats.url };
    return new AgentsWorld(await openNode({ ...address, sweepIntervalMs: 200, ...quiet }), address, nats, closing);
  }

  private constructor(node: Node, address: Address | null, nats: NatsServer | null, closing: (() => Promise<void>)[]) {
    this.node = node;
    this.nats = nats;
    this.#address = address;
    this.#closing = closing;
    closing.push(() => node.close());
  }

  bundle(files: Readonly<Record<string, string>>): string {
    const root = mkdtempSync(join(this.directory, "bundle-"));
    for (const [path, text] of Object.entries(files)) {
      mkdirSync(dirname(join(root, path)), { recursive: true });
      writeFileSync(join(root, path), text);
    }
    return root;
  }

  /** Roles of this process, to be closed before the world or with it. */
  async crew(bundle: string, options: CrewOptions = {}): Promise<Crew> {
    const { roles = ["worker", "pmo", "tools"], concurrencyMax } = options;
    const onWarning = (warning: string) => void this.warnings.push(warning);
    const node = { ...this.node, kernel: options.kernel ?? this.node.kernel };
    const common = { node, project: PROJECT, env: {}, leaseMs: CREW_LEASE_MS, onWarning };
    const serve = roles.includes("tools");
    const host = await openToolHost({ ...common, bundle, executor: "here", openApiTargets: [], serve });
    const agents = await openAgents({
      ...common,
      host,
      roles: roles.filter((role) => role !== "tools"),
      ...(concurrencyMax === undefined ? {} : { concurrencyMax }),
    });
    let closed: Promise<void> | null = null;
    const close = () => {
      closed ??= agents.close({ graceMs: 0 }).then(() => host.close({ graceMs: 0 }));
      return closed;
    };
    this.#closing.push(close);
    return { host, agents, close };
  }

  /** Roles of another process. */
  async start(
    bundle: string,
    roles: readonly ProcessRole[],
    options: { readonly killAt?: string; readonly concurrencyMax?: number; readonly awaitReady?: boolean } = {},
  ): Promise<TestChild> {
    if (this.#address === null) throw new Error("only PostgreSQL can be shared by processes");
    const { killAt, awaitReady = true, concurrencyMax } = options;
    const order: AgentsOrder = {
      ...this.#address,
      project: PROJECT,
      bundle,
      roles,
      leaseMs: LEASE_MS,
      ...(concurrencyMax === undefined ? {} : { concurrencyMax }),
    };
    const child = await TestChild.start(PROCESS, {
      args: [JSON.stringify(order)],
      ...(killAt === undefined ? {} : { env: { TESSERA_KILL_AT: killAt, TESSERA_KILL_LOG: this.killLog } }),
    });
    this.children.push(child);
    if (awaitReady) await child.waitForMessage<ProcessMessage>("ready", ({ event }) => event === "ready", 40_000);
    return child;
  }

  get killLog(): string {
    return join(this.directory, "kills");
  }

  /** The id of a new turn. */
  async ask(agent: string, input: string, more: Partial<AgentTurnRequest> = {}): Promise<string> {
    const { kernel, ids } = this.node;
    return (await enqueueAgentTurn(kernel, ids, { project_id: PROJECT, agent, input, ...more })).agent_turn_id;
  }

  async turn(turnId: string): Promise<Row> {
    const row = await this.node.kernel.reads.turn(PROJECT, turnId);
    if (row === null) throw new Error(`no turn ${turnId}`);
    return row;
  }

  async ended(turnId: string, timeoutMs = 30_000): Promise<Row> {
    return await waitFor(
      async () => {
        const row = await this.turn(turnId);
        return row.ended_at === null ? null : row;
      },
      { what: `turn ${turnId} to end; ${this.warnings.slice(-5).join("; ")}`, timeoutMs },
    );
  }

  /** The cards that a turn has written, in order. */
  async cards(turnId: string): Promise<(CardDocument & { pos: number })[]> {
    const turn = await this.turn(turnId);
    const cards = await this.node.kernel.reads.boxCards(PROJECT, String(turn.output_box_id));
    return cards.filter((card) => card.metadata.agent_turn_id === turnId);
  }

  async deliverable(turnId: string): Promise<unknown> {
    const turn = await this.turn(turnId);
    const [card] = await this.node.kernel.reads.cards(PROJECT, [String(turn.deliverable_card_id)]);
    return card?.content.text ?? card?.content.data;
  }

  /** Results of a turn's calls by tool name, in order. */
  async results(turnId: string): Promise<{ readonly tool: string; readonly content: CardDocument["content"] }[]> {
    const cards = await this.cards(turnId);
    return cards
      .filter((card) => card.type === "tool.result")
      .map((card) => ({ tool: String(card.metadata.function_name), content: card.content }));
  }

  query<R extends Row>(text: string, values: readonly unknown[] = []): Promise<R[]> {
    return this.node.store.database.query<R>(text, values);
  }

  /** Terminal events of every turn: exactly one each. */
  async expectOneEndEach(): Promise<void> {
    const text = `select t.agent_turn_id, count(e.seq)::int as ends from state.turns t
                    left join state.events e on e.agent_turn_id = t.agent_turn_id and e.kind = 'task'
                   group by 1 having count(e.seq) <> 1`;
    expect(await this.query(text)).toEqual([]);
  }

  async expectClean(): Promise<void> {
    const check = async () => (await verifyStore(this.node.store.database, { drained: true })).violations;
    await waitFor(async () => (await check()).length === 0, { what: "a drained store", timeoutMs: 15_000 }).catch(
      () => undefined,
    );
    expect(await check()).toEqual([]);
  }

  async close(): Promise<void> {
    for (const child of this.children) if (child.exit === null) await child.kill(); // W1
    for (const close of this.#closing.splice(0).reverse()) await close();
    rmSync(this.directory, { recursive: true, force: true });
  }
}
