// What the PMO's tests share: a store in memory, a kernel, profiles, agents that call internal tools, a worker without a
// model for their children, and PMOs that can be killed at any call of the kernel. Time stands still unless a test moves it.

import { openMemoryBus } from "@tessera/engines/memory-bus";
import {
  type Bus,
  type CardDocument,
  type Kernel,
  migrate,
  openKernel,
  type Row,
  SCHEMA_DIGEST,
  verifyStore,
} from "@tessera/kernel";
import type { ReadonlyJson, ReadonlyJsonObject, ResultStatus, ToolResultContent } from "@tessera/protocol";
import { createTestDatabases, SeededIds, type TestDatabase, VirtualClock, waitFor } from "@tessera/testkit";
import { afterAll, afterEach, beforeAll, beforeEach, expect } from "vitest";
import { type Pmo, type PmoOptions, startPmo } from "../src/index.ts";

export const PROJECT = "p1";
const WORKER_TARGET = "workers";
const LEASE_LAPSES_MS = 16_000;

export interface CallerTurn {
  readonly agent_id: string;
  readonly agent_turn_id: string;
  readonly tool_call_id: string;
  readonly output_box_id: string;
  readonly context_box_id: string;
}

export interface KillPlan {
  readonly method: string;
  readonly when: "before" | "after";
  /** Dies at this call of the method, counted from 1. */
  readonly nth?: number;
}

export interface ChildEnd {
  readonly status?: ResultStatus;
  readonly content?: ReadonlyJsonObject;
}

export class PmoFixture {
  readonly clock = new VirtualClock();
  readonly ids = new SeededIds(11);
  readonly warnings: string[] = [];
  readonly #pmos: Pmo[] = [];
  store!: TestDatabase;
  bus!: Bus;
  kernel!: Kernel;
  worker = "";

  async open(): Promise<void> {
    const databases = createTestDatabases({
      engine: "pglite",
      prepare: async (database) => void (await migrate(database)),
      digest: `kernel-${SCHEMA_DIGEST}`,
    });
    this.store = await databases.open();
    this.bus = await openMemoryBus({});
    this.kernel = openKernel({ database: this.store.database, bus: this.bus, clock: this.clock, ids: this.ids });
    await this.kernel.putProject({ project_id: PROJECT });
  }

  /** Time moves in tests; none of them is about a worker that died. */
  async newWorker(): Promise<void> {
    this.worker = this.ids.mint("worker");
    await this.kernel.renewWorker({ worker_id: this.worker, worker_target: WORKER_TARGET, lease_ms: 600_000 });
  }

  async close(): Promise<void> {
    await this.stopPmos();
    await this.bus.close();
    await this.store.close();
  }

  async stopPmos(): Promise<void> {
    const stopping = this.#pmos.splice(0).map((pmo) => pmo.stop({ graceMs: 0 }));
    await this.clock.advance(1);
    await Promise.race([Promise.all(stopping), this.clock.advance(1)]);
  }

  query<R extends Row = Row>(text: string, values: readonly unknown[] = []): Promise<R[]> {
    return this.store.database.query<R>(text, values);
  }

  async pmo(options: Partial<PmoOptions> = {}): Promise<Pmo> {
    const { bus, kernel, clock, ids } = this;
    const executor = ids.mint("pmo");
    const onWarning = (warning: string) => void this.warnings.push(warning);
    const pmo = await startPmo({ bus, kernel, clock, ids, executor, onWarning, ...options });
    this.#pmos.push(pmo);
    return pmo;
  }

  /** A PMO whose process ends at one call of the kernel: from then on nothing it does reaches anything. */
  async doomedPmo(plan: KillPlan): Promise<{ pmo: Pmo; died: () => boolean }> {
    let calls = 0;
    let isDead = false;
    let pmo: Pmo | null = null;
    const never = new Promise<never>(() => undefined);
    const die = () => {
      isDead = true;
      void pmo?.stop({ graceMs: 0 });
      return never;
    };
    const kernel = new Proxy(this.kernel, {
      get: (target, name) => {
        const member = Reflect.get(target, name) as unknown;
        if (typeof member !== "function") return member;
        return async (...args: unknown[]) => {
          if (isDead) return await never;
          if (name !== plan.method) return await member.apply(target, args);
          calls += 1;
          const isHit = calls === (plan.nth ?? 1);
          if (isHit && plan.when === "before") return await die();
          const answer = await member.apply(target, args);
          return isHit ? await die() : answer;
        };
      },
    });
    pmo = await this.pmo({ kernel });
    return { pmo, died: () => isDead };
  }

  /** Moves time past every lease that a dead process held, and lets the sweeper see it. */
  async afterDeath(ms = LEASE_LAPSES_MS): Promise<void> {
    await this.clock.advance(ms);
    await this.kernel.sweep();
    await this.kernel.announcer.settled();
  }

  /** A profile with its document; agents of it may delegate as `policy` says. */
  async profile(name: string, rest: { tags?: string[]; policy?: ReadonlyJson } = {}): Promise<string> {
    const profile_box_id = this.ids.mint("box");
    const card_id = this.ids.mint("card");
    const { tags = [], policy = null } = rest;
    await this.kernel.putCard({
      project_id: PROJECT,
      card_id,
      type: "sys.profile",
      author_id: "sys.test",
      content: { data: { name, tags, worker_target: WORKER_TARGET, delegation_policy: policy } },
    });
    await this.kernel.putBox({ project_id: PROJECT, box_id: profile_box_id, card_ids: [card_id] });
    const row = { project_id: PROJECT, name, profile_box_id, worker_target: WORKER_TARGET, tags };
    expect((await this.kernel.putProfile(row)).outcome).not.toBe("rejected");
    return profile_box_id;
  }

  async agent(profile_box_id: string, agent_id = this.ids.mint("agent")): Promise<string> {
    await this.kernel.putAgent({ project_id: PROJECT, agent_id, worker_target: WORKER_TARGET, profile_box_id });
    return agent_id;
  }

  /** An agent that has called an internal tool and waits for it. */
  async calling(
    agent_id: string,
    tool: string,
    args: unknown,
    rest: {
      parent_agent_turn_id?: string;
      after_execution?: "suspend" | "terminate";
      subject?: string;
      tool_digest?: string;
    } = {},
  ): Promise<CallerTurn> {
    const { parent_agent_turn_id } = rest;
    const enqueued = await this.kernel.enqueueTurn({
      project_id: PROJECT,
      agent_id,
      ...(parent_agent_turn_id === undefined ? {} : { parent_agent_turn_id }),
    });
    if (enqueued.outcome === "rejected") throw new Error(enqueued.code);
    return await this.callAgain(agent_id, tool, args, rest);
  }

  /** The same for an agent whose turn is dispatched already. */
  async callAgain(
    agent_id: string,
    tool: string,
    args: unknown,
    rest: { after_execution?: "suspend" | "terminate"; subject?: string; tool_digest?: string } = {},
  ): Promise<CallerTurn> {
    const turn = await this.kernel.resume({ project_id: PROJECT, agent_id, worker_id: this.worker });
    if (turn.outcome !== "accepted") throw new Error(`not resumed: ${JSON.stringify(turn)}`);
    const tool_call_id = this.ids.mint("tc");
    const outcome = await this.kernel.suspendOnCalls({
      project_id: PROJECT,
      agent_id,
      agent_turn_id: turn.agent_turn_id,
      turn_epoch: turn.turn_epoch,
      step_id: this.ids.mint("step"),
      thought: { content: { text: "others should do this" } },
      calls: [
        {
          tool_call_id,
          tool_name: tool,
          arguments: args as ReadonlyJsonObject,
          target_subject: rest.subject ?? `cg.v1r4.${PROJECT}.public.cmd.sys.pmo.internal.${tool}`,
          author_id: tool === "fork_join" ? "sys.pmo.batch_manager" : "sys.pmo",
          effect: "idempotent",
          attempts_max: 3,
          ...(rest.tool_digest === undefined ? {} : { tool_digest: rest.tool_digest }),
          ...(rest.after_execution === undefined ? {} : { after_execution: rest.after_execution }),
        },
      ],
    });
    expect(outcome.outcome).toBe("accepted");
    return {
      agent_id,
      agent_turn_id: turn.agent_turn_id,
      tool_call_id,
      output_box_id: turn.output_box_id,
      context_box_id: String(turn.context_box_id),
    };
  }

  async isAnswered(callId: string): Promise<boolean> {
    return (await this.kernel.reads.call(PROJECT, callId))?.wait_status !== "waiting";
  }

  /** The result of a call, as soon as there is one. */
  async result(callId: string): Promise<ToolResultContent> {
    const card = await waitFor(
      async () => {
        const call = await this.kernel.reads.call(PROJECT, callId);
        if (call?.wait_status === "waiting") return null;
        const id = call?.result_card_id;
        return typeof id === "string" ? (await this.kernel.reads.cards(PROJECT, [id]))[0] : null;
      },
      { what: `a result of ${callId}` },
    );
    return card.content as ToolResultContent;
  }

  batchOf(turn: CallerTurn) {
    return waitFor(
      async () => {
        const batch = (await this.kernel.reads.call(PROJECT, turn.tool_call_id))?.batch_id;
        return typeof batch === "string" ? await this.kernel.reads.batch(PROJECT, batch) : null;
      },
      { what: "a batch" },
    );
  }

  async tasksOf(turn: CallerTurn): Promise<readonly Row[]> {
    return ((await this.batchOf(turn)).tasks ?? []) as Row[];
  }

  /** The agents of a fork_join's tasks, when all of them were started. */
  async started(turn: CallerTurn): Promise<string[]> {
    const tasks = await waitFor(
      async () => {
        const rows = await this.tasksOf(turn);
        return rows.every((task) => task.status !== "pending") ? rows : null;
      },
      { what: "every task to be started" },
    );
    return tasks.map((task) => String(task.agent_id));
  }

  /** Stands in for an agent: takes its turn and ends it. */
  async work(agent_id: string, end: ChildEnd = {}): Promise<string> {
    const turn = await this.kernel.resume({ project_id: PROJECT, agent_id, worker_id: this.worker });
    if (turn.outcome !== "accepted") throw new Error(`${agent_id} has nothing to do: ${JSON.stringify(turn)}`);
    const { project_id, agent_turn_id, turn_epoch } = turn;
    const finished = await this.kernel.finishTurn({
      project_id,
      agent_id,
      agent_turn_id,
      turn_epoch,
      status: end.status ?? "success",
      deliverable: { card_id: this.ids.mint("card"), content: end.content ?? { text: `done by ${agent_id}` } },
      ...(end.status === "failed" ? { error_code: "internal_error", error_message: "it broke" } : {}),
    });
    expect(finished.outcome).toBe("accepted");
    return agent_turn_id;
  }

  children(turn: { readonly agent_turn_id: string }): Promise<Row[]> {
    return this.kernel.reads.childTurns(PROJECT, turn.agent_turn_id);
  }

  cardsOf(boxId: unknown): Promise<CardDocument[]> {
    return this.kernel.reads.boxCards(PROJECT, String(boxId));
  }

  async expectSafe(): Promise<void> {
    expect((await verifyStore(this.store.database, { only: "safety" })).violations).toEqual([]);
  }
}

/** One store for a test file; every test starts its own PMOs. */
export function useFixture(): PmoFixture {
  const fixture = new PmoFixture();
  beforeAll(() => fixture.open());
  afterAll(() => fixture.close());
  beforeEach(() => fixture.newWorker());
  afterEach(async () => {
    await fixture.stopPmos();
    await fixture.expectSafe();
  });
  return fixture;
}

/** The machine may be busy. */
export const PATIENCE = { timeout: 10_000 };

/** A profile that may delegate to every other, and one to delegate to. */
export function useTeam(fx: PmoFixture): { boss: string; helper: string } {
  const team = { boss: "", helper: "" };
  beforeAll(async () => {
    team.boss = await fx.profile("boss", { policy: { target_tags: [], target_profiles: null } });
    team.helper = await fx.profile("helper");
  });
  return team;
}

export const task = (rest: object = {}) => ({
  ...{ target_strategy: "new", target_ref: "helper", instruction: "Do it." },
  ...rest,
});
