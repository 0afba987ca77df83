// A store, a bus and the kernel, with a short way to commit calls, for tests of executors.
//
// The bus keeps what was published, so that a test can send a command again, altered.

import { openMemoryBus } from "@tessera/engines/memory-bus";
import { openNatsBus } from "@tessera/engines/nats";
import { systemClock } from "@tessera/engines/system";
import {
  type Bus,
  type BusMessage,
  type CallDraft,
  type Kernel,
  migrate,
  openKernel,
  type Row,
  SCHEMA_DIGEST,
  type Sweeper,
  startSweeper,
  verifyStore,
} from "@tessera/kernel";
import {
  createTestDatabases,
  SeededIds,
  seedFromEnvironment,
  type TestDatabase,
  type TestEngine,
  waitFor,
} from "@tessera/testkit";
import { expect, inject } from "vitest";

export interface CommittedCall {
  readonly project_id: string;
  readonly agent_id: string;
  readonly agent_turn_id: string;
  readonly turn_epoch: number;
  readonly step_id: string;
  readonly tool_call_id: string;
  /** As the kernel published it. */
  readonly command: BusMessage;
}

export class CallWorld {
  readonly seed = seedFromEnvironment();
  readonly ids = new SeededIds(this.seed.value);
  readonly clock = systemClock;
  readonly published: BusMessage[] = [];
  readonly warnings: string[] = [];
  readonly project: string;
  readonly bus: Bus;
  readonly kernel: Kernel;
  readonly store: TestDatabase;
  readonly #raw: Bus;
  readonly #sweeper: Sweeper | null;
  #worker: Promise<string> | null = null;

  static async open(
    options: { engine?: TestEngine; bus?: "memory" | "nats"; sweep?: boolean } = {},
  ): Promise<CallWorld> {
    const databases = createTestDatabases({
      engine: options.engine ?? "pglite",
      prepare: async (database) => void (await migrate(database)),
      digest: `kernel-${SCHEMA_DIGEST}`,
    });
    const store = await databases.open();
    const raw = options.bus === "nats" ? await openNatsBus({ servers: inject("natsUrl") }) : await openMemoryBus({});
    const world = new CallWorld(store, raw, options.sweep ?? false);
    await world.kernel.putProject({ project_id: world.project });
    return world;
  }

  private constructor(store: TestDatabase, raw: Bus, sweeps: boolean) {
    this.store = store;
    this.#raw = raw;
    this.project = this.ids.mint("p");
    this.bus = {
      capabilities: raw.capabilities,
      publish: async (messages) => {
        this.published.push(...messages);
        await raw.publish(messages);
      },
      subscribe: (subscription, handler) => raw.subscribe(subscription, handler),
      health: () => raw.health(),
      close: () => raw.close(),
    };
    this.kernel = openKernel({
      database: store.database,
      bus: this.bus,
      clock: this.clock,
      ids: this.ids,
      onWarning: (warning) => this.warnings.push(warning),
    });
    this.#sweeper = sweeps
      ? startSweeper({
          sweep: this.kernel.sweep,
          clock: this.clock,
          intervalMs: 200,
          onWarning: (warning) => this.warnings.push(warning),
        })
      : null;
  }

  /** A turn that waits for one call, and the command that was published for it. `isSecond`: its agent has ended one before. */
  async commit(draft: Partial<CallDraft> = {}, options: { readonly isSecond?: boolean } = {}): Promise<CommittedCall> {
    const { kernel, ids, project } = this;
    const agent_id = ids.mint("agent");
    const profile_box_id = ids.mint("box");
    await kernel.putBox({ project_id: project, box_id: profile_box_id });
    await kernel.putAgent({ project_id: project, agent_id, worker_target: "unused", profile_box_id });
    if (options.isSecond === true) {
      const agent_turn_id = ids.mint("turn");
      await kernel.enqueueTurn({ project_id: project, agent_id, agent_turn_id });
      await kernel.stopTurn({ project_id: project, agent_turn_id });
    }
    await kernel.enqueueTurn({ project_id: project, agent_id });
    const turn = await kernel.resume({ project_id: project, agent_id, worker_id: await this.#workerId() });
    if (turn.outcome !== "accepted") throw new Error(`not taken: ${JSON.stringify(turn)}`);
    const tool_call_id = ids.mint("tc");
    const step_id = ids.mint("step");
    const outcome = await kernel.suspendOnCalls({
      ...turn,
      step_id,
      thought: { content: { text: "thinking" } },
      calls: [
        {
          tool_call_id,
          tool_name: "echo__run",
          arguments: { text: "hello" },
          target_subject: `cg.v1r4.${project}.public.cmd.tool.echo.run`,
          author_id: "tool.echo",
          ...draft,
        },
      ],
    });
    if (outcome.outcome === "rejected") throw new Error(`not suspended: ${outcome.code}`);
    await kernel.announcer.settled();
    const command = this.published.find((message) => message.headers["CG-Tool-Call-Id"] === tool_call_id);
    if (command === undefined) throw new Error("no command was published");
    const { agent_turn_id, turn_epoch } = turn;
    return { project_id: project, agent_id, agent_turn_id, turn_epoch, step_id, tool_call_id, command };
  }

  async call(toolCallId: string): Promise<Row> {
    const row = await this.kernel.reads.call(this.project, toolCallId);
    if (row === null) throw new Error(`no call ${toolCallId}`);
    return row;
  }

  async settled(toolCallId: string, timeoutMs = 15_000): Promise<Row> {
    return await waitFor(
      async () => {
        const row = await this.call(toolCallId);
        return row.wait_status === "waiting" ? null : row;
      },
      { what: `call ${toolCallId} to be settled`, timeoutMs },
    );
  }

  async resultOf(
    toolCallId: string,
  ): Promise<{ status: string; result: unknown; error: Record<string, unknown> | null }> {
    const row = await this.settled(toolCallId);
    const [card] = await this.kernel.reads.cards(this.project, [String(row.result_card_id)]);
    return card?.content as never;
  }

  async expectSafe(): Promise<void> {
    expect((await verifyStore(this.store.database, { only: "safety" })).violations).toEqual([]);
  }

  async close(): Promise<void> {
    await this.#sweeper?.stop();
    await this.kernel.announcer.settled();
    await this.#raw.close();
    await this.store.close();
  }

  /** One worker for the whole test; its lease outlives it. */
  #workerId(): Promise<string> {
    this.#worker ??= (async () => {
      const worker_id = this.ids.mint("worker");
      await this.kernel.renewWorker({ worker_id, worker_target: "unused", lease_ms: 600_000 });
      return worker_id;
    })();
    return this.#worker;
  }
}
