// A worker without a model: takes an agent's turn forward by its plan (turn-plan.ts).
//
//   W1. Wakeups of one agent are coalesced: one at a time, and one more if any came meanwhile.
//   W2. It keeps nothing about a turn in memory between two commits; how far a turn is, its box tells.
//   W3. A write that is refused ends this worker's part in the turn. If it lost its lease, it goes on under another name.
//   W4. When the database failed in the middle, it does not know whether it holds the turn, and asks to be given it again.
//       If the store then knows of an open step that it does not, it retires: the sweeper gives its turns to the next.

import {
  type CallDraft,
  type Kernel,
  type LocalCall,
  listenForWork,
  type ResultContent,
  type ResumeOutcome,
  type TurnHold,
} from "@tessera/kernel";
import type { Bus, Clock, Ids, Subscription, Timer } from "@tessera/kernel/ports";
import { HEADERS, type ReadonlyJsonObject } from "@tessera/protocol";
import type { EffectLedger } from "./effect-ledger.ts";
import { draftOf, type PlannedStep, type ScriptedArguments, stepId, WORKER_TARGET } from "./turn-plan.ts";

export interface ScriptedWorkerOptions {
  readonly kernel: Kernel;
  /** Where wakeups are heard; what it loses is found in the store. */
  readonly bus: Bus;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly project: string;
  /** For the effects of local calls. */
  readonly ledger: EffectLedger;
  readonly leaseMs: number;
  /** Awaited between reading the turn and writing its next step: the time that a model would think. */
  readonly think?: (hold: TurnHold) => Promise<void>;
  readonly onEvent?: (event: WorkerEvent) => void;
}

export type WorkerEvent =
  | { readonly event: "took"; readonly agent_turn_id: string; readonly turn_epoch: number; readonly worker_id: string }
  /** On a call of its own process. */
  | { readonly event: "acting"; readonly tool_call_id: string; readonly worker_id: string }
  | { readonly event: "finished"; readonly agent_turn_id: string; readonly worker_id: string }
  | { readonly event: "refused"; readonly move: string; readonly agent_turn_id: string; readonly code: string }
  | { readonly event: "lapsed"; readonly worker_id: string }
  | { readonly event: "failed"; readonly agent_id: string; readonly error: string };

type Taken = Extract<ResumeOutcome, { outcome: "accepted" }>;

const HEARTBEATS_PER_LEASE = 4;
const TRY_AGAIN_MS = 100;
const ANSWER_LOOK_MS = 20;

export class ScriptedWorker {
  readonly #options: ScriptedWorkerOptions;
  readonly #busy = new Map<string, Promise<void>>();
  /** Agents that were woken again while they were busy (W1). */
  readonly #again = new Set<string>();
  readonly #reclaim = new Set<string>();
  #workerId: string;
  #source: Subscription | null = null;
  #timer: Timer | null = null;
  #isStopped = false;
  wakeups = 0;

  constructor(options: ScriptedWorkerOptions) {
    this.#options = options;
    this.#workerId = options.ids.mint("worker");
  }

  get workerId(): string {
    return this.#workerId;
  }

  async start(): Promise<void> {
    const { bus, kernel, clock, project } = this.#options;
    await this.#renew();
    this.#schedule();
    this.#source = await listenForWork({
      bus,
      kernel,
      clock,
      role: { worker_target: WORKER_TARGET },
      subscribe: {
        pattern: `cg.v1r4.${project}.*.cmd.agent.${WORKER_TARGET}.wakeup`,
        durable: `${project}_worker`,
        inFlightMax: 256,
      },
      handler: (delivery) => {
        this.wakeups += 1;
        this.wake(delivery.headers[HEADERS.agent_id] ?? "");
      },
      onWarning: () => undefined, // the database is away; the next look asks again
    });
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#timer?.cancel();
    await this.#source?.stop();
    await Promise.all(this.#busy.values());
  }

  /** W1 */
  wake(agent: string): void {
    if (this.#isStopped) return;
    if (this.#busy.has(agent)) {
      this.#again.add(agent);
      return;
    }
    const busy = this.#take(agent)
      .catch((error: unknown) => {
        this.#emit({ event: "failed", agent_id: agent, error: String(error) });
        this.#reclaim.add(agent); // W4
        this.#options.clock.after(TRY_AGAIN_MS, () => this.wake(agent));
      })
      .finally(() => {
        this.#busy.delete(agent);
        if (this.#again.delete(agent)) this.wake(agent);
      });
    this.#busy.set(agent, busy);
  }

  async #take(agent: string): Promise<void> {
    const { kernel, project } = this.#options;
    const workerId = this.#workerId;
    const outcome = await kernel.resume({
      project_id: project,
      agent_id: agent,
      worker_id: workerId,
      ...(this.#reclaim.has(agent) ? { reclaim: true } : {}),
    });
    this.#reclaim.delete(agent);
    if (outcome.outcome === "rejected") {
      if (outcome.code !== "worker_lapsed") throw new Error(`resume was refused: ${outcome.code}`);
      await this.#rejoin(workerId);
      this.#again.add(agent);
      return;
    }
    if (outcome.outcome === "nothing") {
      await this.#runLocalCalls(outcome.local_calls ?? [], workerId, outcome.capability);
      return;
    }
    this.#emit({
      event: "took",
      agent_turn_id: outcome.agent_turn_id,
      turn_epoch: outcome.turn_epoch,
      worker_id: workerId,
    });
    await this.#advance(outcome, workerId);
  }

  /** Step by step, until the turn is suspended, finished, or not ours any more. */
  async #advance(taken: Taken, workerId: string): Promise<void> {
    const { kernel, project, think } = this.#options;
    const { agent_id, agent_turn_id, turn_epoch } = taken;
    const hold: TurnHold = { project_id: project, agent_id, agent_turn_id, turn_epoch };
    const steps = (taken.metadata?.steps ?? []) as unknown as readonly PlannedStep[];
    const isLocalStepOpen = taken.state === "started" && (taken.results !== null || taken.local_calls !== null);
    if (isLocalStepOpen && !(await this.#applyLocal(hold, taken.step_id ?? "", taken.local_calls ?? [], workerId)))
      return;
    for (;;) {
      const done = await this.#stepsDone(taken); // W2
      await think?.(hold);
      const step = steps[done];
      if (step === undefined) break;
      if (step.hasNote === true) {
        const card = {
          card_id: `${stepId(agent_turn_id, done)}_note`,
          type: "sys.judge_feedback",
          content: { text: "go on" },
        };
        const noted = await kernel.appendCards({ ...hold, cards: [card] });
        if (noted.outcome === "rejected") return this.#refused("append_cards", hold, noted.code);
      }
      if (step.asks !== undefined) {
        const asked = { project_id: project, ...step.asks, parent_agent_turn_id: agent_turn_id, answers_parent: true };
        const outcome = await kernel.enqueueTurn(asked);
        if (outcome.outcome === "rejected") throw new Error(`${agent_turn_id} could not ask: ${outcome.code}`);
      }
      if (step.takesAnswer === true && !(await this.#takeAnswer(hold, taken))) return;
      const drafts = step.calls.map((call, n) => draftOf(project, agent_turn_id, done, n, call));
      const step_id = stepId(agent_turn_id, done);
      const suspended = await kernel.suspendOnCalls({
        ...hold,
        step_id,
        thought: { content: { text: `step ${done}` } },
        calls: drafts,
      });
      if (suspended.outcome === "rejected") {
        this.#refused("suspend_on_calls", hold, suspended.code);
        if (suspended.code === "conflict") await this.#retire(workerId); // W4
        return;
      }
      if (!drafts.every((draft) => draft.local)) {
        for (const [n, draft] of drafts.entries()) {
          if (draft.local)
            await this.#runLocalCalls([localCall(draft)], workerId, suspended.calls[n]?.capability ?? "");
        }
        return;
      }
      if (!(await this.#applyLocal(hold, step_id, drafts.map(localCall), workerId))) return;
    }
    const deliverable = { card_id: `${agent_turn_id}_e${turn_epoch}_end`, content: { text: "done" } };
    const finished = await kernel.finishTurn({ ...hold, status: "success", deliverable });
    if (finished.outcome === "rejected") return this.#refused("finish_turn", hold, finished.code);
    this.#emit({ event: "finished", agent_turn_id, worker_id: workerId });
  }

  async #stepsDone(taken: Taken): Promise<number> {
    const { kernel, project } = this.#options;
    const cards = await kernel.reads.boxCards(project, taken.output_box_id, { from: taken.box_start });
    return cards.filter((card) => card.type === "agent.thought").length;
  }

  /** Waits until an answer is in the turn's output: a worker that was lost may have taken it (W2). False: the turn is lost. */
  async #takeAnswer(hold: TurnHold, { output_box_id, box_start }: Taken): Promise<boolean> {
    const { kernel, project, clock } = this.#options;
    for (;;) {
      const cards = await kernel.reads.boxCards(project, output_box_id, { from: box_start });
      if (cards.some((card) => card.type === "agent.answer")) return true;
      const head = await kernel.reads.head(project, hold.agent_id);
      const isWaiting = Number(head?.answers_waiting) > 0;
      const taken = isWaiting ? await kernel.takeAnswers(hold) : null;
      if (taken?.outcome === "rejected") {
        this.#refused("take_answers", hold, taken.code);
        return false;
      }
      if (!isWaiting) await new Promise<void>((resolve) => clock.after(ANSWER_LOOK_MS, resolve));
    }
  }

  /** Runs the calls of an all-local step and applies their results; false when the turn is lost. */
  async #applyLocal(hold: TurnHold, step_id: string, calls: readonly LocalPart[], workerId: string): Promise<boolean> {
    const results: { tool_call_id: string; content: ResultContent }[] = [];
    for (const call of calls)
      results.push({ tool_call_id: call.tool_call_id, content: await this.#act(call, workerId) });
    const applied = await this.#options.kernel.applyResults({ ...hold, step_id, results });
    if (applied.outcome !== "rejected") return true;
    this.#refused("apply_results", hold, applied.code);
    return false;
  }

  /** Local calls of a mixed step report like any executor. */
  async #runLocalCalls(calls: readonly LocalPart[], workerId: string, capability: string): Promise<void> {
    const { kernel, project } = this.#options;
    for (const call of calls) {
      const content = await this.#act(call, workerId);
      await kernel.report({
        project_id: project,
        tool_call_id: call.tool_call_id,
        capability,
        principal: workerId,
        content,
      });
    }
  }

  async #act(call: LocalPart, workerId: string): Promise<ResultContent> {
    const { ledger, clock } = this.#options;
    this.#emit({ event: "acting", tool_call_id: call.tool_call_id, worker_id: workerId });
    const { work_ms } = call.arguments as ScriptedArguments;
    if (work_ms > 0) await new Promise<void>((resolve) => clock.after(work_ms, resolve));
    const hasActed = ledger.entries().some((entry) => entry.tool_call_id === call.tool_call_id);
    if (call.mode !== "reconcile" || !hasActed) {
      const { tool_call_id, effect, attempt } = call;
      ledger.record({ tool_call_id, effect, key: tool_call_id, attempt, by: workerId });
    }
    return { status: "success", result: { done: call.tool_call_id } };
  }

  /** W3 */
  #refused(move: string, hold: TurnHold, code: string): void {
    this.#emit({ event: "refused", move, agent_turn_id: hold.agent_turn_id, code });
  }

  async #renew(): Promise<void> {
    const { kernel, leaseMs } = this.#options;
    const workerId = this.#workerId;
    const outcome = await kernel.renewWorker({ worker_id: workerId, worker_target: WORKER_TARGET, lease_ms: leaseMs });
    if (outcome.outcome === "rejected") await this.#rejoin(workerId);
  }

  async #retire(workerId: string): Promise<void> {
    await this.#options.kernel.retireWorker(workerId);
    await this.#rejoin(workerId);
  }

  async #rejoin(lapsed: string): Promise<void> {
    if (this.#workerId !== lapsed) return;
    this.#emit({ event: "lapsed", worker_id: lapsed });
    this.#workerId = this.#options.ids.mint("worker");
    await this.#renew();
  }

  #schedule(): void {
    if (this.#isStopped) return;
    this.#timer = this.#options.clock.after(this.#options.leaseMs / HEARTBEATS_PER_LEASE, () => {
      this.#renew().then(
        () => this.#schedule(),
        () => this.#schedule(), // the database is away; the next beat asks again
      );
    });
  }

  #emit(event: WorkerEvent): void {
    this.#options.onEvent?.(event);
  }
}

type LocalPart = Pick<LocalCall, "tool_call_id" | "effect" | "mode" | "attempt"> & {
  readonly arguments: ReadonlyJsonObject;
};

function localCall(draft: CallDraft): LocalPart {
  return {
    tool_call_id: draft.tool_call_id,
    effect: draft.effect ?? "once",
    mode: "run",
    attempt: 1,
    arguments: draft.arguments,
  };
}
