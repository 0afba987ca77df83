// A store in memory, a worker and a model that says what the test tells it, for tests of the loop.

import { openMemoryBus } from "@tessera/engines/memory-bus";
import { systemClock } from "@tessera/engines/system";
import {
  type Bus,
  type BusMessage,
  type CardDocument,
  type Kernel,
  migrate,
  type OpenedCall,
  openKernel,
  type ResultContent,
  SCHEMA_DIGEST,
  type Sweeper,
  startSweeper,
  type TurnRequest,
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
import { defineTool, type RegisteredTool, type ToolInvocation, type ToolRunner } from "@tessera/tool";
import { completeArguments } from "@tessera/tool/catalog";
import { buildToolContext, createCallLogger, executeHandler, toResultContent } from "@tessera/tool/run";
import { expect } from "vitest";
import { traceRun } from "../../executor/src/placements/trace-run.ts";
import { deployProfiles, enqueueAgentTurn } from "../src/deploy/index.ts";
import { type AgentWorker, startAgentWorker } from "../src/loop/agent-worker.ts";
import type { AgentWorkerOptions } from "../src/loop/worker-context.ts";
import type { ModelAnswer, ModelCall, ModelPort } from "../src/model-port.ts";
import type { AgentProfile } from "../src/profile.ts";

export type Script = (call: ModelCall) => Partial<ModelAnswer> | Promise<Partial<ModelAnswer>>;

export const PROFILE: AgentProfile = {
  schema_version: 1,
  name: "planner",
  description: "",
  worker_target: "worker_generic",
  tags: [],
  model: { provider: "scripted", model: "test" },
  system_prompt: "You are {display_name}.",
  allowed_tools: null,
  allowed_internal_tools: [],
  must_end_with: [],
  required_tools: [],
  delegation_policy: null,
  max_steps: 8,
  extensions: [],
  swarm: null,
};

export interface EndedTurn {
  readonly status: string;
  readonly error_code: string | null;
  readonly error_message: string | null;
  readonly deliverable: Readonly<Record<string, unknown>>;
}

export class AgentFixture {
  readonly seed = seedFromEnvironment();
  readonly ids = new SeededIds(this.seed.value);
  readonly clock = systemClock;
  readonly project: string;
  readonly kernel: Kernel;
  readonly bus: Bus;
  readonly published: BusMessage[] = [];
  readonly warnings: string[] = [];
  readonly modelCalls: ModelCall[] = [];
  readonly tools = new Map<string, RegisteredTool>();
  /** Runs of tools in this process. */
  readonly invocations: ToolInvocation[] = [];
  script: Script = () => ({ text: "done" });
  readonly #store: TestDatabase;
  readonly #workers: AgentWorker[] = [];
  readonly #sweeper: Sweeper;

  static async open(engine: TestEngine = "pglite"): Promise<AgentFixture> {
    const store = await createTestDatabases({
      engine,
      prepare: async (database) => void (await migrate(database)),
      digest: `kernel-${SCHEMA_DIGEST}`,
    }).open();
    const fixture = new AgentFixture(store, await openMemoryBus({}));
    await fixture.kernel.putProject({ project_id: fixture.project });
    return fixture;
  }

  private constructor(store: TestDatabase, bus: Bus) {
    this.#store = store;
    this.project = this.ids.mint("p");
    this.bus = {
      ...bus,
      capabilities: bus.capabilities,
      publish: async (messages) => {
        this.published.push(...messages);
        await bus.publish(messages);
      },
      subscribe: (options, handler) => bus.subscribe(options, handler),
      health: () => bus.health(),
      close: () => bus.close(),
    };
    const onWarning = (warning: string) => void this.warnings.push(warning);
    this.kernel = openKernel({ database: store.database, bus: this.bus, clock: this.clock, ids: this.ids, onWarning });
    this.#sweeper = startSweeper({ sweep: this.kernel.sweep, clock: this.clock, intervalMs: 100, onWarning });
  }

  get models(): ModelPort {
    return {
      call: async (call, onChunk) => {
        this.modelCalls.push(call);
        const answer = await this.script(call);
        if (answer.text !== undefined) onChunk({ type: "content", text: answer.text });
        return { text: "", tool_calls: [], finish_reason: "stop", provider: "scripted", model: "test", ...answer };
      },
    };
  }

  /** What services and the PMO are started with. */
  get parts() {
    const { bus, kernel, clock, ids } = this;
    return { bus, kernel, clock, ids, onWarning: (warning: string) => void this.warnings.push(warning) };
  }

  /** The runner with the spans that the executor's has. */
  get tracedRunner(): ToolRunner {
    const { run, close } = this.runner;
    return { run: (invocation, options) => traceRun(invocation, () => run(invocation, options)), close };
  }

  /** Runs tools of this fixture in this process, like the executor's inline placement. */
  get runner(): ToolRunner {
    return {
      run: async (invocation, { signal, runtime }) => {
        this.invocations.push(invocation);
        const tool = this.tools.get(invocation.tool_name);
        if (tool?.code?.kind !== "function") throw new Error(`no code for ${invocation.tool_name}`);
        const { definition, code } = tool;
        const input = completeArguments(definition, invocation.arguments, {});
        const base = {
          project_id: invocation.project_id,
          tool_call_id: invocation.tool_call_id,
          tool_name: invocation.tool_name,
          attempt: invocation.attempt,
        };
        const ctx = buildToolContext(invocation, {
          workdir: "/nowhere",
          logger: createCallLogger(() => undefined, base),
          signal,
          progress: () => undefined,
          ...(runtime === undefined ? {} : { runtime }),
        });
        const executed = await executeHandler({
          code,
          ctx,
          input,
          toolName: invocation.tool_name,
          errorMessageLimit: 1_000,
          mode: invocation.mode,
          idempotencyKey: invocation.idempotency_key,
        } as never);
        return toResultContent(executed, {
          afterExecution: invocation.after_execution,
          errorMessageLimit: 1_000,
        } as never);
      },
      close: async () => undefined,
    };
  }

  async tool(tool: Parameters<typeof defineTool>[0]): Promise<void> {
    await this.register(defineTool(tool as never) as unknown as RegisteredTool);
  }

  async register(defined: RegisteredTool): Promise<void> {
    this.tools.set(defined.definition.tool_name, defined);
    const outcome = await this.kernel.putTool({ project_id: this.project, ...defined.definition } as never);
    if (outcome.outcome === "rejected") throw new Error(outcome.code);
  }

  async worker(options: Partial<AgentWorkerOptions> = {}): Promise<AgentWorker> {
    const worker = await startAgentWorker({
      bus: this.bus,
      kernel: this.kernel,
      clock: this.clock,
      ids: this.ids,
      models: this.models,
      runner: this.runner,
      isHosted: (name) => this.tools.has(name),
      onWarning: (warning) => void this.warnings.push(warning),
      ...options,
    });
    this.#workers.push(worker);
    return worker;
  }

  async agent(profile: Partial<AgentProfile> = {}): Promise<string> {
    const { kernel, ids, project } = this;
    const full = { ...PROFILE, ...profile };
    const agent_id = ids.mint("agent");
    const [card_id, box_id] = [ids.mint("card"), ids.mint("box")];
    await kernel.putCard({
      project_id: project,
      card_id,
      type: "sys.profile",
      author_id: "sys.test",
      content: { data: full } as never,
    });
    await kernel.putBox({ project_id: project, box_id, card_ids: [card_id] });
    const { worker_target } = full;
    const metadata = { agent_name: full.name, instance_key: "default" };
    await kernel.putAgent({ project_id: project, agent_id, worker_target, profile_box_id: box_id, metadata });
    return agent_id;
  }

  /** Agents that are defined by name, as a bundle would: instances of them are made when they are asked for. */
  async define(...profiles: (Partial<AgentProfile> & { readonly name: string })[]): Promise<void> {
    await deployProfiles(
      this.kernel,
      this.project,
      profiles.map((profile) => ({ ...PROFILE, ...profile })),
    );
  }

  /** A turn of a defined agent. */
  async ask(agent: string, input: string, instance_key = "default"): Promise<string> {
    const request = { project_id: this.project, agent, instance_key, input };
    return (await enqueueAgentTurn(this.kernel, this.ids, request)).agent_turn_id;
  }

  /** Rows of the store; `from` is the rest of a query. */
  async count(from: string): Promise<number> {
    const [row] = await this.#store.database.query<{ n: number }>(`select count(*)::int as n from ${from}`, []);
    return row?.n ?? 0;
  }

  /** Leaves a trace with so many turns to spend. */
  async leaveTurns(traceId: string, left: number): Promise<void> {
    const text = "update state.trace_budgets set turns = 1000 - $2::int where trace_id = $1";
    await this.#store.database.query(text, [traceId, left]);
  }

  async enqueue(agent_id: string, text: string, more: Partial<TurnRequest> = {}): Promise<string> {
    const outcome = await this.kernel.enqueueTurn({
      project_id: this.project,
      agent_id,
      ...more,
      context_cards: [
        { card_id: this.ids.mint("card"), type: "task.instruction", content: { text }, author_id: "sys.test" },
      ],
    });
    if (outcome.outcome === "rejected") throw new Error(outcome.code);
    return outcome.agent_turn_id;
  }

  /** Claims calls of a target until there were `count`, and reports what `answer` says about each. */
  async answerCalls(
    target: string,
    count: number,
    answer: (call: OpenedCall, n: number) => ResultContent,
    timeoutMs?: number,
  ): Promise<OpenedCall[]> {
    const { kernel, project: project_id } = this;
    const claimed: OpenedCall[] = [];
    await this.until(
      async () => {
        const calls = await kernel.claimCalls({ project_id, target, executor: "test", max: 64 });
        const reports = calls.map(async (call, n) => {
          const { tool_call_id, capability } = call;
          const content = answer(call, claimed.length + n);
          const outcome = await kernel.report({ project_id, tool_call_id, capability, content });
          if (outcome.outcome === "rejected") throw new Error(outcome.code);
        });
        await Promise.all(reports);
        claimed.push(...calls);
        return claimed.length >= count;
      },
      `${count} calls of ${target}`,
      timeoutMs,
    );
    return claimed;
  }

  async until(isTrue: () => boolean | Promise<boolean>, what: string, timeoutMs = 25_000): Promise<void> {
    await waitFor(async () => ((await isTrue()) ? true : null), { what, timeoutMs });
  }

  async ended(turnId: string, timeoutMs = 25_000): Promise<EndedTurn> {
    const turn = await waitFor(
      async () => {
        const row = await this.kernel.reads.turn(this.project, turnId);
        return row?.ended_at ? row : null;
      },
      { what: `turn ${turnId} to end; warnings: ${this.warnings}`, timeoutMs },
    );
    const [deliverable] = await this.kernel.reads.cards(this.project, [String(turn.deliverable_card_id)]);
    return { ...turn, deliverable: deliverable?.content } as unknown as EndedTurn;
  }

  async cards(turnId: string): Promise<CardDocument[]> {
    const turn = await this.kernel.reads.turn(this.project, turnId);
    return await this.kernel.reads.boxCards(this.project, String(turn?.output_box_id));
  }

  /** The sweeper's next look is at every call that waits, and not only at those that are due. */
  async makeCallsDue(): Promise<void> {
    await this.#store.database.query(
      "update state.calls set due_at = clock_timestamp() where project_id = $1 and wait_status = 'waiting'",
      [this.project],
    );
  }

  async expectSafe(): Promise<void> {
    expect((await verifyStore(this.#store.database, { only: "safety" })).violations).toEqual([]);
  }

  async close(): Promise<void> {
    await Promise.all(this.#workers.map((worker) => worker.stop({ graceMs: 100 })));
    await this.#sweeper.stop();
    await this.kernel.announcer.settled();
    await this.bus.close();
    await this.#store.close();
  }
}
