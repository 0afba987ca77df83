// What asks for turns and what runs them: enqueue, take forward, send calls out, finish, stop.

import { createHash } from "node:crypto";
import {
  AFTER_EXECUTION_DEFAULT,
  ATTEMPTS_MAX_DEFAULT,
  CALL_DEADLINE_MARGIN_MS,
  CALL_TIMEOUT_MS,
  DEFER_DELAYS_MS,
  DEFERRALS_MAX,
  type ReadonlyJsonObject,
} from "@tessera/protocol";
import { moment, runOnce, type TransitionDeps, transition } from "../batching/transitions.ts";
import type { Announcer } from "../messages/announcer.ts";
import type { BusMessage, Ids } from "../ports.ts";
import type {
  AnswersOutcome,
  ApplyOutcome,
  ApplyRequest,
  CallDraft,
  CardDraft,
  Command,
  DeferOutcome,
  DeferRequest,
  EnqueueOutcome,
  FinishOutcome,
  FinishRequest,
  RepeatOutcome,
  RepeatRequest,
  ResetOutcome,
  ResetRequest,
  ResumeOutcome,
  StepRequest,
  StopOutcome,
  StopRequest,
  SuspendOutcome,
  TurnHold,
  TurnRequest,
  WorkerOutcome,
  WorkerRequest,
  WriteOutcome,
} from "./outcomes.ts";
import {
  answering,
  checkIds,
  checkTarget,
  gateCard,
  gateRuntimeConfig,
  storableArguments,
  storableStack,
} from "./request-gate.ts";

export interface TurnPort {
  enqueueTurn(request: TurnRequest): Promise<EnqueueOutcome>;
  /** Commit point D: take an agent's turn forward, whatever there is to do for it. A worker must not ask for an agent whose
   *  turn it is running; after an error that leaves it in doubt whether it holds the turn, it asks with `reclaim`. */
  resume(request: {
    project_id: string;
    agent_id: string;
    worker_id: string;
    reclaim?: boolean;
  }): Promise<ResumeOutcome>;
  /** Commit point A. */
  suspendOnCalls(request: StepRequest): Promise<SuspendOutcome>;
  /** Commit points C and D of a step whose calls were all local. */
  applyResults(request: ApplyRequest): Promise<ApplyOutcome>;
  appendCards(request: TurnHold & { readonly cards: readonly CardDraft[] }): Promise<WriteOutcome>;
  /**
   * Commit point E. `messages` are published after the commit and before the terminal event
   * (docs/protocol/turns.md#one-step-in-order).
   */
  finishTurn(request: FinishRequest, messages?: readonly BusMessage[]): Promise<FinishOutcome>;
  /** Gives the turn back for later; the delay follows the reason (docs/protocol/turns.md#putting-a-turn-off). */
  deferTurn(hold: TurnHold, reason: keyof typeof DEFER_DELAYS_MS): Promise<DeferOutcome>;
  stopTurn(request: StopRequest): Promise<StopOutcome>;
  /** Takes the answers that wait for the turn's agent into its output, once. It may return some again that the turn has taken before. */
  takeAnswers(hold: TurnHold): Promise<AnswersOutcome>;
  /** Later turns of the agent remember nothing from before now. */
  resetConversation(request: ResetRequest): Promise<ResetOutcome>;
  /** Before a local call runs again where it runs; `rejected`: it may not, it is no longer this worker's. */
  repeatCall(request: RepeatRequest): Promise<RepeatOutcome>;
  renewWorker(request: WorkerRequest): Promise<WorkerOutcome>;
  /** Lets go of everything this worker holds, at the next sweep. */
  retireWorker(workerId: string): Promise<void>;
}

const RETRY_BACKOFF_MS = 1_000;
const REASON_CHARS_MAX = 1_000;
const headKey = (item: { readonly project_id: string; readonly agent_id: string }) =>
  `${item.project_id}/${item.agent_id}`;

export function createTurnPort(world: TransitionDeps & { ids: Ids; announcer: Announcer }): TurnPort {
  const { ids, announcer } = world;
  const enqueue = transition<ReadonlyJsonObject, EnqueueOutcome>(world, "enqueue_turn");
  type Taking = { project_id: string; agent_id: string; worker_id: string; reclaim?: boolean; cap_sha256: string };
  const take = transition<Taking, ResumeOutcome>(world, "resume", {
    keyOf: headKey,
    // The answer of a resume that committed may be lost with its connection: the head then names this worker.
    repeat: (item) => ({ ...item, reclaim: true }),
  });
  const suspend = transition<object & TurnHold, SuspendOutcome>(world, "suspend_on_calls", { keyOf: headKey });
  const apply = transition<ApplyRequest, ApplyOutcome>(world, "apply_results", { keyOf: headKey });
  const append = transition<TurnHold & { readonly cards: readonly CardDraft[] }, WriteOutcome>(world, "append_cards", {
    keyOf: headKey,
  });
  const finish = transition<FinishRequest, FinishOutcome>(world, "finish_turn", { keyOf: headKey });
  const answers = transition<TurnHold, AnswersOutcome>(world, "take_answers", {
    keyOf: headKey,
    // Answers are taken once: where that was lost with its connection, the repetition returns them again.
    repeat: (item) => ({ ...item, is_repeat: true }),
  });
  const defer = transition<DeferRequest, DeferOutcome>(world, "defer_turn", { keyOf: headKey });
  const stop = transition<StopRequest, StopOutcome>(world, "stop_turn", { keyOf: (item) => item.agent_turn_id });
  const repeat = transition<RepeatRequest, RepeatOutcome>(world, "repeat_call", { keyOf: (item) => item.tool_call_id });
  const renew = transition<WorkerRequest, WorkerOutcome>(world, "renew_worker", { keyOf: (item) => item.worker_id });

  return {
    enqueueTurn: (request) =>
      answering(async () => {
        const {
          project_id,
          agent_id,
          channel_id,
          agent_turn_id = ids.mint("turn"),
          profile_box_id,
          context_box_id,
        } = request;
        checkIds({ project_id, agent_id, channel_id, agent_turn_id, profile_box_id, context_box_id });
        checkIds({ correlation_id: request.correlation_id, output_box_id: request.output_box_id });
        const outcome = await enqueue({
          ...request,
          runtime_config: gateRuntimeConfig(request.runtime_config),
          agent_turn_id,
          trace_id: request.trace_id ?? ids.traceId(),
          span_id: request.span_id ?? ids.spanId(),
          new_box_ids: [ids.mint("box"), ids.mint("box")],
          context_cards: (request.context_cards ?? []).map((card): ReadonlyJsonObject => ({ ...gateCard(card) })),
        });
        if (outcome.outcome === "accepted") announcer.announce({ wakes: [outcome.wake] });
        return outcome;
      }),

    async resume(request) {
      const capability = mintCapability(ids);
      const outcome = await take({ ...request, cap_sha256: sha256OfHex(capability) });
      return outcome.outcome === "rejected" ? outcome : { ...outcome, capability };
    },

    suspendOnCalls: (request) =>
      answering(async () => {
        checkIds({ step_id: request.step_id, card_id: request.thought.card_id });
        const calls = request.calls.map((call) => completeCall(call, request.project_id, ids));
        const thought = gateCard({ card_id: ids.mint("card"), ...request.thought, type: "agent.thought" });
        const outcome = await suspend({
          ...pickHold(request),
          step_id: request.step_id,
          thought: { card_id: thought.card_id, content: thought.content, metadata: thought.metadata },
          calls: calls.map((call) => call.item),
        } as TurnHold);
        if (outcome.outcome === "rejected") return outcome;
        // A step that was already there may have been announced or not; the ids of its cards may differ from this
        // request's, so ringing for it is left to the sweeper.
        if (outcome.outcome === "accepted") announcer.announce({ commands: commandsOf(request, outcome, calls) });
        return {
          ...outcome,
          calls: outcome.calls.map((answer, n) => {
            const capability = calls[n]?.capability ?? null;
            return capability === null ? answer : { ...answer, capability };
          }),
        };
      }),

    applyResults({ results, ...request }) {
      const storable = results.map(({ stack, ...result }) => ({ ...result, ...storableStack(stack) }));
      return apply({ ...request, results: storable });
    },
    appendCards: (request) => answering(() => append({ ...request, cards: request.cards.map(gateCard) })),

    async finishTurn(request, messages = []) {
      const outcome = await answering(() => finish(gateFinish(request)));
      if (outcome.outcome !== "accepted") return outcome;
      announcer.announce({
        messages,
        wakes: [outcome.wake, outcome.answer_wake],
        ended: [
          {
            ...pickHold(request),
            channel_id: outcome.channel_id,
            trace_id: outcome.trace_id,
            status: request.status,
            deliverable_card_id: outcome.deliverable_card_id,
            output_box_id: outcome.output_box_id,
            error_code: request.error_code,
          },
        ],
      });
      return outcome;
    },

    async deferTurn(hold, reason) {
      const outcome = await defer({
        ...pickHold(hold),
        reason,
        delay_ms: DEFER_DELAYS_MS[reason],
        deferrals_max: DEFERRALS_MAX,
      });
      if (outcome.outcome === "rejected") announcer.announce({ wakes: [outcome.wake] });
      return outcome;
    },

    async stopTurn(request) {
      const outcome = await stop(request);
      if (outcome.outcome === "accepted") {
        announcer.announce({
          wakes: [outcome.wake],
          ended: [
            {
              project_id: request.project_id,
              channel_id: outcome.channel_id,
              agent_id: outcome.agent_id,
              agent_turn_id: request.agent_turn_id,
              turn_epoch: outcome.turn_epoch,
              trace_id: outcome.trace_id,
              status: "canceled",
              error_code: "canceled",
            },
          ],
        });
      }
      return outcome;
    },

    takeAnswers: (hold) => answers(pickHold(hold)),
    resetConversation: (request) =>
      answering(async () => {
        const { project_id, agent_id, card_id = ids.mint("card"), author_id, reason } = request;
        checkIds({ project_id, agent_id, card_id });
        const text =
          reason === undefined ? null : reason.slice(0, REASON_CHARS_MAX).toWellFormed().replaceAll("\0", "\ufffd");
        const values = [project_id, agent_id, card_id, author_id, text, moment(world.clock)];
        return await runOnce<ResetOutcome>(world, "reset_conversation", values);
      }),
    repeatCall: ({ stack, ...request }) => repeat({ ...request, ...storableStack(stack) }),
    renewWorker: (request) => renew(request),
    retireWorker: (workerId) => runOnce(world, "retire_worker", [workerId, moment(world.clock)]),
  };
}

type CompleteCall = ReturnType<typeof completeCall>;

function completeCall(call: CallDraft, projectId: string, ids: Ids) {
  checkIds({ tool_call_id: call.tool_call_id, card_id: call.card_id });
  checkTarget(call.target_subject, projectId);
  const isLocal = call.local === true;
  const capability = isLocal ? mintCapability(ids) : null;
  const item = {
    tool_call_id: call.tool_call_id,
    card_id: call.card_id ?? ids.mint("card"),
    tool_name: call.tool_name,
    arguments: storableArguments(call.arguments),
    target_subject: call.target_subject,
    author_id: call.author_id,
    span_id: call.span_id ?? ids.spanId(),
    tool_digest: call.tool_digest,
    effect: call.effect ?? "once",
    after_execution: call.after_execution ?? AFTER_EXECUTION_DEFAULT,
    ...deadlinesOf(call, isLocal),
    attempts_max: call.attempts_max ?? ATTEMPTS_MAX_DEFAULT,
    backoff_ms: call.backoff_ms ?? RETRY_BACKOFF_MS,
    can_reconcile: call.can_reconcile ?? false,
    local: isLocal,
    cap_sha256: capability === null ? undefined : sha256OfHex(capability),
    metadata: call.metadata,
  };
  return { item, capability };
}

/** Without a queue time one deadline covers waiting and running. A local call waits for no executor (decision 40). */
function deadlinesOf({ timeout_ms = CALL_TIMEOUT_MS, queue_timeout_ms }: CallDraft, isLocal: boolean) {
  const run_deadline_ms = timeout_ms + CALL_DEADLINE_MARGIN_MS;
  if (queue_timeout_ms === undefined || isLocal) return { deadline_ms: run_deadline_ms };
  return { deadline_ms: queue_timeout_ms, queue_timeout_ms, run_deadline_ms };
}

function commandsOf(
  request: StepRequest,
  outcome: Exclude<SuspendOutcome, { outcome: "rejected" }>,
  calls: readonly CompleteCall[],
): Command[] {
  return outcome.calls.flatMap((answer, n) => {
    const call = calls[n];
    if (call === undefined || answer.ticket === null) return [];
    const { card_id, tool_name, after_execution, target_subject, span_id } = call.item;
    return {
      ...pickHold(request),
      step_id: request.step_id,
      tool_call_id: answer.tool_call_id,
      tool_call_card_id: card_id,
      tool_name,
      after_execution,
      target_subject,
      span_id,
      channel_id: outcome.channel_id,
      recursion_depth: outcome.recursion_depth,
      trace_id: outcome.trace_id,
      parent_step_id: outcome.parent_step_id,
      parent_agent_id: request.parent_agent_id ?? null,
      parent_agent_turn_id: request.parent_agent_turn_id ?? null,
      ticket: answer.ticket,
    };
  });
}

/** 32 random bytes for calls that this worker claims itself; the store gets only their hash. */
function mintCapability(ids: Ids): string {
  return ids.traceId() + ids.traceId();
}

function gateFinish({ stack, ...request }: FinishRequest): FinishRequest {
  return {
    ...request,
    ...storableStack(stack),
    cards: request.cards?.map(gateCard),
    deliverable: request.deliverable && gateCard({ ...request.deliverable, type: "task.deliverable" }),
  };
}

function pickHold(hold: TurnHold): TurnHold {
  return {
    project_id: hold.project_id,
    agent_id: hold.agent_id,
    agent_turn_id: hold.agent_turn_id,
    turn_epoch: hold.turn_epoch,
  };
}

function sha256OfHex(hex: string): string {
  return createHash("sha256").update(hex, "hex").digest("hex");
}
