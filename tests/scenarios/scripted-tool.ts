// A tool service without a tool: claims calls from the bus, does what their arguments say, and reports.
//
//   T1. The command is acked right after the claim, whatever its answer (docs/design.md#claim-before-work).
//   T2. While it works it renews its lease; told `cancel`, it stops and reports nothing.
//   T3. A report that the database could not take is sent again, for as long as the service runs.

import {
  type CallHold,
  type Kernel,
  listenForWork,
  type OpenedCall,
  type ReportOutcome,
  type ResultContent,
} from "@tessera/kernel";
import type { Bus, Clock, Delivery, Subscription, Timer } from "@tessera/kernel/ports";
import { HEADERS } from "@tessera/protocol";
import type { EffectLedger } from "./effect-ledger.ts";
import { type ScriptedArguments, subjectOf } from "./turn-plan.ts";

export interface ScriptedToolOptions {
  readonly kernel: Kernel;
  /** Where commands are heard; what it loses is found in the store. */
  readonly bus: Bus;
  readonly clock: Clock;
  readonly project: string;
  readonly target: string;
  readonly executor: string;
  readonly ledger: EffectLedger;
  readonly leaseMs: number;
  /** Awaited between the effect and the report; decides the order of the answers. */
  readonly beforeReport?: (call: OpenedCall) => Promise<void>;
  readonly onEvent?: (event: ToolEvent) => void;
}

export type ToolEvent =
  | { readonly event: "working"; readonly tool_call_id: string; readonly attempt: number; readonly mode: string }
  | { readonly event: "reported"; readonly tool_call_id: string; readonly attempt: number; readonly answer: string }
  | { readonly event: "canceled"; readonly tool_call_id: string; readonly code: string };

const HEARTBEATS_PER_LEASE = 4;
const REPORT_AGAIN_MS = 100;

export class ScriptedTool {
  readonly #options: ScriptedToolOptions;
  readonly #running = new Set<Promise<void>>();
  #source: Subscription | null = null;
  #isStopped = false;
  /** How often each answer to an opening was given. */
  readonly openings = new Map<string, number>();
  /** Ids of calls in the order in which their reports were accepted. */
  readonly accepted: string[] = [];

  constructor(options: ScriptedToolOptions) {
    this.#options = options;
  }

  async start(): Promise<void> {
    const { bus, kernel, clock, project, target } = this.#options;
    this.#source = await listenForWork({
      bus,
      kernel,
      clock,
      role: { tool_target: target },
      subscribe: { pattern: subjectOf(project, target), durable: `${project}_tool_${target}`, inFlightMax: 256 },
      handler: (delivery) => this.#hear(delivery),
      onWarning: () => undefined, // the database is away; the next look asks again
    });
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.#source?.stop();
    await Promise.all(this.#running);
  }

  async #hear(delivery: Delivery): Promise<void> {
    const { kernel, project, target, executor, leaseMs } = this.#options;
    const outcome = await kernel.openCall({
      project_id: project,
      tool_call_id: delivery.headers[HEADERS.tool_call_id] ?? "",
      ticket: delivery.headers[HEADERS.call_ticket] ?? "",
      executor,
      principal: `tool.${target}`,
      lease_ms: leaseMs,
    });
    delivery.ack(); // T1
    const answer = outcome.outcome === "rejected" ? outcome.code : "accepted";
    this.openings.set(answer, (this.openings.get(answer) ?? 0) + 1);
    if (outcome.outcome === "rejected") return;
    const running = this.#run(outcome).finally(() => this.#running.delete(running));
    this.#running.add(running);
  }

  async #run(call: OpenedCall): Promise<void> {
    const { project, target, ledger, executor, onEvent } = this.#options;
    const { behave, work_ms } = call.arguments as ScriptedArguments;
    const hold = {
      project_id: project,
      tool_call_id: call.tool_call_id,
      capability: call.capability,
      principal: `tool.${target}`,
    };
    onEvent?.({ event: "working", tool_call_id: call.tool_call_id, attempt: call.attempt, mode: call.mode });
    const heartbeat = new Heartbeat(this.#options, hold);
    try {
      const isHeld = await heartbeat.work(behave === "hang" ? Number.POSITIVE_INFINITY : work_ms);
      if (!isHeld) {
        onEvent?.({ event: "canceled", tool_call_id: call.tool_call_id, code: heartbeat.lostBecause });
        return;
      }
      const hasActed = ledger.entries().some((entry) => entry.key === call.idempotency_key);
      // A reconciling tool asks the world first; the others act.
      if (call.mode !== "reconcile" || !hasActed) {
        ledger.record({
          tool_call_id: call.tool_call_id,
          effect: call.effect,
          key: call.idempotency_key,
          attempt: call.attempt,
          by: executor,
        });
      }
      await this.#options.beforeReport?.(call);
      const answer = await this.#report(
        hold,
        { status: "success", result: { done: call.tool_call_id } },
        behave === "pointer",
      );
      onEvent?.({ event: "reported", tool_call_id: call.tool_call_id, attempt: call.attempt, answer });
      if (answer === "accepted") this.accepted.push(call.tool_call_id);
    } finally {
      heartbeat.stop();
    }
  }

  async #report(hold: CallHold, content: ResultContent, isPointer: boolean): Promise<string> {
    const { kernel, clock } = this.#options;
    for (;;) {
      try {
        const outcome = isPointer
          ? await this.#reportPointer(hold, content)
          : await kernel.report({ ...hold, content });
        return outcome.outcome === "rejected" ? outcome.code : outcome.outcome;
      } catch (error) {
        if (this.#isStopped) return String(error);
        await new Promise<void>((resolve) => clock.after(REPORT_AGAIN_MS, resolve)); // T3
      }
    }
  }

  async #reportPointer(hold: CallHold, content: ResultContent): Promise<ReportOutcome> {
    const { kernel } = this.#options;
    const saved = await kernel.putResultCard({ ...hold, content });
    if (saved.outcome === "rejected") return saved;
    return await kernel.report({
      ...hold,
      tool_result_card_id: saved.tool_result_card_id,
      status: content.status,
      after_execution: "suspend",
    });
  }
}

/** T2 */
class Heartbeat {
  readonly #options: ScriptedToolOptions;
  readonly #hold: CallHold;
  #timer: Timer | null = null;
  #isStopped = false;
  #lose: (isHeld: boolean) => void = () => {};
  lostBecause = "";

  constructor(options: ScriptedToolOptions, hold: CallHold) {
    this.#options = options;
    this.#hold = hold;
    this.#schedule();
  }

  /** True after `ms` of work, false as soon as the call is lost. */
  async work(ms: number): Promise<boolean> {
    if (ms === 0) return true;
    const timers: Timer[] = [];
    const isHeld = await new Promise<boolean>((resolve) => {
      this.#lose = resolve;
      if (this.lostBecause !== "") resolve(false);
      if (Number.isFinite(ms)) timers.push(this.#options.clock.after(ms, () => resolve(true)));
    });
    for (const timer of timers) timer.cancel();
    return isHeld;
  }

  stop(): void {
    this.#isStopped = true;
    this.#timer?.cancel();
  }

  #schedule(): void {
    if (this.#isStopped) return;
    this.#timer = this.#options.clock.after(this.#options.leaseMs / HEARTBEATS_PER_LEASE, () => {
      this.#beat().then(
        () => this.#schedule(),
        () => this.#schedule(), // the database is away; the next beat asks again
      );
    });
  }

  async #beat(): Promise<void> {
    const outcome = await this.#options.kernel.renewCall({ ...this.#hold, lease_ms: this.#options.leaseMs });
    if (!outcome.cancel) return;
    this.lostBecause = outcome.code;
    this.stop();
    this.#lose(false);
  }
}
