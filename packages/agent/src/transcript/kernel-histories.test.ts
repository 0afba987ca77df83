// Promise 7 over histories that the real kernel makes: random moves of users, workers, tools, clocks and crashes on a store
// in memory. After every move the transcript is projected as a worker would do it then, and compared with what the store
// knows of the calls, and with a transcript that has only been appended to.

import { openMemoryBus } from "@tessera/engines/memory-bus";
import {
  type Bus,
  type CallDraft,
  type Kernel,
  migrate,
  openKernel,
  SCHEMA_DIGEST,
  type TurnHold,
} from "@tessera/kernel";
import { createTestDatabases, SeededIds, seedFromEnvironment, type TestDatabase, VirtualClock } from "@tessera/testkit";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { answeredCalls, statusSaid } from "../../test/transcript-rules.ts";
import { createTranscript, projectTranscript, type Transcript } from "./transcript.ts";

const PROJECT = "p1";
const LEASE_MS = 15_000;
const seed = seedFromEnvironment();
const clock = new VirtualClock();
const ids = new SeededIds(seed.value);
let store: TestDatabase;
let bus: Bus;
let kernel: Kernel;

beforeAll(async () => {
  const prepare = async (database: Parameters<typeof migrate>[0]) => void (await migrate(database));
  store = await createTestDatabases({ engine: "pglite", prepare, digest: `kernel-${SCHEMA_DIGEST}` }).open();
  bus = await openMemoryBus({});
  kernel = openKernel({ database: store.database, bus, clock, ids });
  await kernel.putProject({ project_id: PROJECT });
});
afterAll(async () => {
  await bus.close();
  await store.close();
});

const MOVES = [
  "enqueue",
  "take",
  "step",
  "step",
  "answer",
  "answer",
  "answer",
  "note",
  "finish",
  "stop",
  "child",
  "take in",
  "time",
  "crash",
] as const;
/** A move, and two numbers for whatever it has to choose. */
const moves = fc.array(fc.tuple(fc.constantFrom(...MOVES), fc.nat(255), fc.nat(255)), { minLength: 10, maxLength: 40 });
const RESULTS = [
  { status: "success", result: { ok: true } },
  { status: "success", result: { ok: true, __cg_control: { after_execution: "suspend" } } },
  { status: "partial", result: [1], error: { code: "batch_failed", message: "m", source: "tool" } },
  { status: "failed", result: null, error: { code: "bad_request", message: "m", source: "tool" } },
  { status: "canceled", result: null, error: { code: "canceled", message: "m", source: "tool" } },
] as const;

type Move = readonly [name: (typeof MOVES)[number], a: number, b: number];

/** Eight calls to tools elsewhere: four are answered, each otherwise, and the rest time out. */
const EVERY_STATUS = [
  ["step", 7, 2],
  ["answer", 1, 0],
  ["answer", 2, 1],
  ["answer", 3, 2],
  ["answer", 9, 3],
  ["time", 1, 0],
  ["step", 3, 0],
  ["crash", 0, 0],
  ["stop", 0, 0],
  ["enqueue", 0, 0],
  ["take", 0, 0],
  ["child", 0, 1],
  ["child", 0, 1],
  ["take in", 0, 0],
  ["child", 0, 1],
  ["finish", 1, 0],
  ["take", 0, 0],
] satisfies Move[] as [Move[0], number, number][];

interface OpenCall {
  readonly id: string;
  readonly ticket: string | null;
  capability?: string;
}

/** One agent, some of whose turns share an output box, and everybody who deals with it. */
class World {
  readonly turns: string[] = [];
  readonly seen = new Set<string>();
  #agent = "";
  #box = "";
  #worker = "";
  #held: TurnHold | null = null;
  #step: { readonly id: string; readonly isLocal: boolean; readonly calls: OpenCall[] } | null = null;
  #growing: { readonly turn: string; readonly transcript: Transcript; readonly known: Set<string> } | null = null;

  async open(): Promise<void> {
    this.#agent = ids.mint("agent");
    this.#box = ids.mint("box");
    const profile_box_id = ids.mint("box");
    await kernel.putBox({ project_id: PROJECT, box_id: profile_box_id });
    await kernel.putAgent({ project_id: PROJECT, agent_id: this.#agent, worker_target: "workers", profile_box_id });
    await kernel.putBox({ project_id: PROJECT, box_id: this.#box, agent_id: this.#agent });
    await this.#hire();
  }

  async move(name: (typeof MOVES)[number], a: number, b: number): Promise<void> {
    if (name === "enqueue") await this.#enqueue(a);
    else if (name === "take") await this.#take();
    else if (name === "step") await this.#takeStep(a, b);
    else if (name === "answer") await this.#answer(a, b);
    else if (name === "note") await this.#note();
    else if (name === "finish") await this.#finish(a);
    else if (name === "stop") await this.#stop(a);
    else if (name === "child") await this.#child(b);
    else if (name === "take in") await this.#takeIn();
    else if (name === "time") await this.#pass(a % 2 === 0 ? 5_000 : 90_000);
    else await this.#crash();
  }

  async #hire(): Promise<void> {
    this.#worker = ids.mint("worker");
    await this.#renew();
  }

  #renew() {
    return kernel.renewWorker({ worker_id: this.#worker, worker_target: "workers", lease_ms: LEASE_MS });
  }

  async #enqueue(a: number): Promise<void> {
    const card = {
      card_id: ids.mint("card"),
      type: "task.instruction",
      author_id: "user",
      content: { text: `do ${a}` },
    };
    const outcome = await kernel.enqueueTurn({
      project_id: PROJECT,
      agent_id: this.#agent,
      ...(a % 2 === 0 ? { output_box_id: this.#box } : {}),
      context_cards: [card],
    });
    if (outcome.outcome === "rejected") throw new Error(outcome.code);
    this.turns.push(outcome.agent_turn_id);
  }

  async #take(): Promise<void> {
    const request = { project_id: PROJECT, agent_id: this.#agent, worker_id: this.#worker };
    const outcome = await kernel.resume({ ...request, reclaim: this.#held === null });
    if (outcome.outcome === "rejected") throw new Error(outcome.code);
    for (const { tool_call_id } of outcome.local_calls ?? []) {
      const call = this.#step?.calls.find(({ id }) => id === tool_call_id);
      if (call !== undefined) call.capability = outcome.capability;
    }
    if (outcome.outcome !== "accepted") return;
    if (outcome.state === "resumed" || outcome.step_id !== this.#step?.id) this.#step = null;
    const { project_id, agent_id, agent_turn_id, turn_epoch } = outcome;
    this.#held = { project_id, agent_id, agent_turn_id, turn_epoch };
  }

  async #takeStep(a: number, b: number): Promise<void> {
    if (this.#held === null || this.#step !== null) return;
    const size = 1 + (a % 8);
    const calls = Array.from(
      { length: size },
      (_, n): CallDraft => ({
        tool_call_id: ids.mint("tc"),
        tool_name: "echo__run",
        arguments: { n },
        target_subject: "cg.v1r4.p1.public.cmd.tool.echo.run",
        author_id: "tool.echo",
        effect: (["read", "idempotent", "once"] as const)[(a + n) % 3] ?? "read",
        // All local, all remote, or mixed.
        local: b % 3 === 0 || (b % 3 === 1 && (b >> (n % 6)) % 2 === 1),
      }),
    );
    const step_id = ids.mint("step");
    const thought = { content: { text: a % 2 === 0 ? "" : "thinking" } };
    const outcome = await kernel.suspendOnCalls({ ...this.#held, step_id, thought, calls });
    if (outcome.outcome === "rejected") {
      this.#held = null;
      return;
    }
    const isLocal = calls.every(({ local }) => local);
    const opened = outcome.calls.map(({ tool_call_id: id, ...rest }) => ({ id, ...rest }));
    this.#step = { id: step_id, isLocal, calls: opened };
    if (!isLocal) this.#held = null;
  }

  /** A step that is all local is applied at once; else one call of it is reported, whichever, perhaps twice. */
  async #answer(a: number, b: number): Promise<void> {
    if (this.#step === null) return;
    const content = (n: number) => RESULTS[(a + n) % RESULTS.length] ?? RESULTS[0];
    if (this.#step.isLocal) {
      if (this.#held === null) return;
      const results = this.#step.calls.map(({ id }, n) => ({ tool_call_id: id, content: content(n) }));
      const outcome = await kernel.applyResults({ ...this.#held, step_id: this.#step.id, results });
      if (outcome.outcome === "rejected") this.#held = null;
      else this.#step = null;
      return;
    }
    const call = this.#step.calls[b % this.#step.calls.length];
    if (call === undefined) return;
    const key = { project_id: PROJECT, tool_call_id: call.id };
    if (call.capability === undefined && call.ticket !== null) {
      const opened = await kernel.openCall({ ...key, ticket: call.ticket, executor: "executor-1", lease_ms: LEASE_MS });
      if (opened.outcome === "accepted") call.capability = opened.capability;
      if (a % 4 === 0) return; // claimed, and not answered
    }
    if (call.capability !== undefined)
      await kernel.report({ ...key, capability: call.capability, content: content(0) });
  }

  async #note(): Promise<void> {
    if (this.#held === null || this.#step !== null) return;
    const card = {
      card_id: ids.mint("card"),
      type: "sys.must_end_with_required",
      content: { text: "End with report." },
    };
    await kernel.appendCards({ ...this.#held, cards: [card] });
  }

  /** A turn of another agent that this one asks for and does not wait for; it may end at once, or never. */
  async #child(b: number): Promise<void> {
    if (this.#held === null) return;
    const agent_id = ids.mint("agent");
    const profile_box_id = ids.mint("box");
    await kernel.putBox({ project_id: PROJECT, box_id: profile_box_id });
    await kernel.putAgent({ project_id: PROJECT, agent_id, worker_target: "others", profile_box_id });
    const child = {
      project_id: PROJECT,
      agent_id,
      parent_agent_turn_id: this.#held.agent_turn_id,
      answers_parent: true,
    };
    const asked = await kernel.enqueueTurn(child);
    if (asked.outcome === "rejected") return;
    const taken = await kernel.resume({ project_id: PROJECT, agent_id, worker_id: this.#worker });
    if (b % 4 === 0 || taken.outcome !== "accepted") return;
    await kernel.finishTurn({
      ...taken,
      status: "success",
      deliverable: { card_id: ids.mint("card"), content: { text: "ok" } },
    });
  }

  async #takeIn(): Promise<void> {
    if (this.#held === null || this.#step !== null) return;
    await kernel.takeAnswers(this.#held);
  }

  async #finish(a: number): Promise<void> {
    if (this.#held === null) return;
    const deliverable = {
      card_id: ids.mint("card"),
      content: a % 2 === 0 ? { text: "done" } : { data: { fields: [] } },
    };
    const outcome = await kernel.finishTurn({
      ...this.#held,
      status: "success",
      ...(a % 3 === 0 ? {} : { deliverable }),
    });
    if (outcome.outcome !== "rejected") this.#step = null;
    this.#held = null;
  }

  async #stop(a: number): Promise<void> {
    const agent_turn_id = this.turns[a % Math.max(1, this.turns.length)];
    if (agent_turn_id === undefined) return;
    const active = await kernel.reads.head(PROJECT, this.#agent);
    await kernel.stopTurn({ project_id: PROJECT, agent_turn_id });
    if (active?.active_agent_turn_id !== agent_turn_id) return;
    this.#held = null;
    this.#step = null;
  }

  async #pass(ms: number): Promise<void> {
    for (let left = ms; left > 0; left -= 5_000) {
      await clock.advance(Math.min(left, 5_000));
      await this.#renew();
    }
    await kernel.sweep();
  }

  /** The worker is gone without a word; another comes when its lease has lapsed. */
  async #crash(): Promise<void> {
    this.#held = null;
    await clock.advance(LEASE_MS + 1);
    await kernel.sweep();
    await this.#hire();
    const head = await kernel.reads.head(PROJECT, this.#agent);
    if (head?.open_calls === null) this.#step = null;
  }

  /** What the store knows, against what the model would see now. */
  async check(): Promise<void> {
    const head = await kernel.reads.head(PROJECT, this.#agent);
    const active = typeof head?.active_agent_turn_id === "string" ? head.active_agent_turn_id : null;
    const turn = active === null ? null : await kernel.reads.turn(PROJECT, active);
    const last = Number(turn?.turn_number ?? Number(head?.turns_dispatched) + 1) - 1;
    const earlier = await kernel.reads.conversation(PROJECT, this.#agent, { first: 1, last });
    const box = turn === null ? [] : await kernel.reads.boxCards(PROJECT, String(turn.output_box_id));
    const current = box.filter(({ metadata }) => metadata.agent_turn_id === active);
    const context = turn === null ? [] : await kernel.reads.boxCards(PROJECT, String(turn.context_box_id));
    const messages = projectTranscript({ earlier, context, current });
    const said = messages.map(({ content }) => (typeof content === "string" ? content : ""));
    expect(said.filter((text) => text.startsWith("[answer of "))).toHaveLength(await this.#answersTaken());
    expect(said.filter((text) => /^do \d+$/.test(text))).toHaveLength(await this.#asked());
    const found = answeredCalls(messages).map(({ id, output }) => ({ id, status: statusSaid(output) }));
    expect(found).toEqual(await this.#callsInStore());
    for (const { status } of found) this.seen.add(status);
    if (active === null) return;
    if (this.#growing?.turn !== active) {
      const known = new Set(current.map((card) => card.card_id));
      this.#growing = { turn: active, transcript: createTranscript({ earlier, context, current }), known };
    }
    const { transcript, known } = this.#growing;
    transcript.append(current.filter((card) => !known.has(card.card_id)));
    for (const card of current) known.add(card.card_id);
    expect(transcript.messages()).toEqual(messages);
    expect(transcript.leftOut()).toEqual({ results: 0, calls: 0, repeats: 0 });
  }

  /** Turns of one agent run one after the other; one that was stopped in the queue is not among them. */
  async #callsInStore(): Promise<{ id: string; status: string }[]> {
    const turns = await store.database.query<{ agent_turn_id: string }>(
      "select agent_turn_id from state.agent_turns where agent_id = $1 and turn_number is not null order by turn_number",
      [this.#agent],
    );
    const calls = [];
    for (const { agent_turn_id } of turns) calls.push(...(await kernel.reads.callsOfTurn(PROJECT, agent_turn_id)));
    return calls.map((call) => ({ id: String(call.tool_call_id), status: String(call.result_status ?? "waiting") }));
  }

  #answersTaken(): Promise<number> {
    return this.#count("state.inbox where agent_id = $1 and message_type = 'answer' and status = 'consumed'");
  }

  #asked(): Promise<number> {
    return this.#count(
      "state.agent_turns t join card.cards c on c.box_id = t.context_box_id and c.type = 'task.instruction' where t.agent_id = $1 and t.turn_number is not null",
    );
  }

  async #count(what: string): Promise<number> {
    const [row] = await store.database.query<{ n: number }>(`select count(*)::int as n from ${what}`, [this.#agent]);
    return row?.n ?? 0;
  }
}

describe("any history that the kernel makes", () => {
  it("becomes a transcript in which every call has exactly one result, in call order, at every moment", async () => {
    const seen = new Set<string>();
    const property = fc.asyncProperty(moves, async (chosen) => {
      const world = new World();
      await world.open();
      await world.move("enqueue", 0, 0);
      await world.move("take", 0, 0);
      for (const [name, a, b] of chosen) {
        await world.move(name, a, b);
        if (name === "answer" || name === "time") await world.move("take", 0, 0);
        await world.check();
      }
      for (const status of world.seen) seen.add(status);
    });
    await fc.assert(property, {
      seed: seed.value | 0,
      numRuns: 25,
      examples: [[EVERY_STATUS]],
      reporter: (run) => {
        if (run.failed) throw new Error(`${seed.hint}\n${fc.defaultReportMessage(run)}`, { cause: run.errorInstance });
      },
    });
    // A run that never came to these states would prove little.
    for (const status of ["success", "waiting", "canceled", "failed", "partial", "timeout"])
      expect(seen).toContain(status);
  }, 120_000);
});
