// What the kernel's tests share: a migrated store on the engine under test, a clock that stands still, and short ways
// to bring an agent into each of its states.

import { openMemoryBus } from "@tessera/engines/memory-bus";
import { createTestDatabases, SeededIds, seedFromEnvironment, type TestDatabase, VirtualClock } from "@tessera/testkit";
import { afterAll, afterEach, beforeAll, expect } from "vitest";
import {
  type Bus,
  type BusMessage,
  type CallDraft,
  type Kernel,
  migrate,
  type OpenedCall,
  openKernel,
  type Row,
  SCHEMA_DIGEST,
  type TurnHold,
  verifyStore,
} from "../src/index.ts";

export const PROJECT = "p1";
export const SUBJECT = "cg.v1r4.p1.public.cmd.tool.echo.run";

/** Databases with the kernel's schema on the engine of this run. */
const kernelDatabases = () =>
  createTestDatabases({
    prepare: async (database) => void (await migrate(database)),
    digest: `kernel-${SCHEMA_DIGEST}`,
  });

export interface Started extends TurnHold {
  readonly output_box_id: string;
  readonly worker_id: string;
}

export interface Suspended extends Started {
  readonly step_id: string;
  readonly calls: readonly {
    readonly tool_call_id: string;
    readonly ticket: string | null;
    readonly capability?: string;
  }[];
}

export class Fixture {
  readonly clock = new VirtualClock();
  readonly seed = seedFromEnvironment();
  readonly ids = new SeededIds(this.seed.value);
  /** Everything the kernel published, in order. */
  readonly published: BusMessage[] = [];
  readonly warnings: string[] = [];
  /** Of the bus; one more says that it was away and is back. */
  connections = 1;
  store!: TestDatabase;
  bus!: Bus;
  kernel!: Kernel;

  async open(): Promise<void> {
    this.store = await kernelDatabases().open();
    const memory = await openMemoryBus({});
    this.bus = {
      capabilities: memory.capabilities,
      publish: async (messages) => {
        this.published.push(...messages);
        await memory.publish(messages);
      },
      subscribe: (options, handler) => memory.subscribe(options, handler),
      health: () => ({ ...memory.health(), connections: this.connections }),
      close: () => memory.close(),
    };
    this.kernel = this.anotherKernel();
    await this.kernel.putProject({ project_id: PROJECT });
  }

  anotherKernel(database = this.store.database): Kernel {
    return openKernel({
      database,
      bus: this.bus,
      clock: this.clock,
      ids: this.ids,
      onWarning: (warning) => this.warnings.push(warning),
    });
  }

  async close(): Promise<void> {
    await this.bus.close();
    await this.store.close();
  }

  query<R extends Row = Row>(text: string, values: readonly unknown[] = []): Promise<R[]> {
    return this.store.database.query<R>(text, values);
  }

  /** Safety must hold at every moment; a test that planted a violation does not call this. */
  async expectSafe(): Promise<void> {
    expect((await verifyStore(this.store.database, { only: "safety" })).violations).toEqual([]);
  }

  async expectDrained(): Promise<void> {
    expect((await verifyStore(this.store.database, { drained: true })).violations).toEqual([]);
  }

  /** A digest of every row of every table but the audit log: two equal ones mean that nothing changed. */
  async everything(): Promise<string> {
    const tables = await this.query<{ name: string }>(
      `select format('%I.%I', schemaname, tablename) as name from pg_tables
        where schemaname in ('card', 'resource', 'state') and tablename <> 'audit_log' order by 1`,
    );
    const parts: string[] = [];
    for (const { name } of tables) {
      const rows = await this.query<{ digest: string | null }>(
        `select md5(string_agg(t::text, ',' order by t::text)) as digest from ${name} t`,
      );
      parts.push(`${name}:${rows[0]?.digest}`);
    }
    return parts.join("\n");
  }

  async newAgent(agentId = this.ids.mint("agent"), project = PROJECT): Promise<string> {
    const box = this.ids.mint("box");
    await this.kernel.putBox({ project_id: project, box_id: box });
    await this.kernel.putAgent({
      project_id: project,
      agent_id: agentId,
      worker_target: "workers",
      profile_box_id: box,
    });
    return agentId;
  }

  async newWorker(workerId = this.ids.mint("worker"), leaseMs = 15_000): Promise<string> {
    const outcome = await this.kernel.renewWorker({ worker_id: workerId, worker_target: "workers", lease_ms: leaseMs });
    expect(outcome.outcome).toBe("accepted");
    return workerId;
  }

  /** An agent with a turn that a worker holds. */
  async started(options: { agent_id?: string; worker_id?: string; project_id?: string } = {}): Promise<Started> {
    const project = options.project_id ?? PROJECT;
    const agent = options.agent_id ?? (await this.newAgent(undefined, project));
    const worker = options.worker_id ?? (await this.newWorker());
    const enqueued = await this.kernel.enqueueTurn({ project_id: project, agent_id: agent });
    expect(enqueued.outcome).toBe("accepted");
    return this.resumed(agent, worker, project);
  }

  async resumed(agent: string, worker: string, project = PROJECT): Promise<Started> {
    const outcome = await this.kernel.resume({ project_id: project, agent_id: agent, worker_id: worker });
    if (outcome.outcome !== "accepted") throw new Error(`not taken: ${JSON.stringify(outcome)}`);
    const { project_id, agent_id, agent_turn_id, turn_epoch, output_box_id } = outcome;
    return { project_id, agent_id, agent_turn_id, turn_epoch, output_box_id, worker_id: worker };
  }

  call(draft: Partial<CallDraft> = {}): CallDraft {
    return {
      tool_call_id: this.ids.mint("tc"),
      tool_name: "echo__run",
      arguments: { text: "hello" },
      target_subject: SUBJECT,
      author_id: "tool.echo",
      ...draft,
    };
  }

  async suspend(turn: Started, drafts: readonly Partial<CallDraft>[] = [{}]): Promise<Suspended> {
    const step_id = this.ids.mint("step");
    const outcome = await this.kernel.suspendOnCalls({
      ...turn,
      step_id,
      thought: { content: { text: "thinking" } },
      calls: drafts.map((draft) => this.call(draft)),
    });
    if (outcome.outcome === "rejected") throw new Error(`not suspended: ${outcome.code}`);
    return { ...turn, step_id, calls: outcome.calls };
  }

  /** A turn that waits for calls. */
  async suspended(drafts: readonly Partial<CallDraft>[] = [{}]): Promise<Suspended> {
    return this.suspend(await this.started(), drafts);
  }

  async opened(
    suspended: Suspended,
    n = 0,
    options: { principal?: string; executor?: string; lease_ms?: number } = {},
  ): Promise<OpenedCall> {
    const call = suspended.calls[n];
    const outcome = await this.kernel.openCall({
      project_id: PROJECT,
      tool_call_id: call?.tool_call_id ?? "",
      ticket: call?.ticket ?? "",
      executor: options.executor ?? "executor-1",
      ...(options.principal === undefined ? {} : { principal: options.principal }),
      ...(options.lease_ms === undefined ? {} : { lease_ms: options.lease_ms }),
    });
    if (outcome.outcome === "rejected") throw new Error(`not opened: ${outcome.code}`);
    return outcome;
  }

  report(
    opened: OpenedCall,
    content: { status: string; result?: unknown; error?: unknown } = { status: "success", result: { ok: true } },
  ) {
    return this.kernel.report({
      project_id: opened.project_id,
      tool_call_id: opened.tool_call_id,
      capability: opened.capability,
      content,
    });
  }

  /** The ticket of the newest command for a call. */
  ticketOf(callId: string): string {
    const command = this.published.findLast((message) => message.headers["CG-Tool-Call-Id"] === callId);
    return command?.headers["CG-Call-Ticket"] ?? "none";
  }

  /** Moves time and sweeps once. */
  async later(ms: number): Promise<void> {
    await this.clock.advance(ms);
    await this.kernel.sweep();
    await this.kernel.announcer.settled();
  }

  finish(turn: TurnHold, status: "success" | "failed" = "success") {
    return this.kernel.finishTurn({
      ...hold(turn),
      status,
      deliverable: { card_id: this.ids.mint("card"), content: { text: "done" } },
    });
  }

  async headStatus(turn: { agent_id: string }): Promise<string> {
    return String((await this.kernel.reads.head(PROJECT, turn.agent_id))?.status);
  }
}

export function hold(turn: TurnHold): TurnHold {
  return {
    project_id: turn.project_id,
    agent_id: turn.agent_id,
    agent_turn_id: turn.agent_turn_id,
    turn_epoch: turn.turn_epoch,
  };
}

/** One store for a test file; safety is checked after each test unless it says otherwise. */
export function useFixture(options: { checkSafety?: boolean } = {}): Fixture {
  const fixture = new Fixture();
  beforeAll(() => fixture.open());
  afterAll(() => fixture.close());
  afterEach(async (context) => {
    if (context.task.result?.state === "fail") console.error(fixture.seed.hint);
    if (options.checkSafety !== false) await fixture.expectSafe();
  });
  return fixture;
}
