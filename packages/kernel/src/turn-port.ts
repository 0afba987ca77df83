// What asks for turns and what runs them: enqueue, take forward, send calls out, finish, stop.

import { createHash, randomBytes } from "node:crypto";
import {
  AFTER_EXECUTION_DEFAULT,
  ARGUMENTS_BYTES_MAX,
  ATTEMPTS_MAX_DEFAULT,
  CALL_DEADLINE_MARGIN_MS,
  CARD_CONTENT_BYTES_MAX,
  DEFER_DELAYS_MS,
  DEFERRALS_MAX,
  gateJson,
  TOOL_TIMEOUT_MS,
} from "@tessera/protocol";
import type { Announcer } from "./announcer.ts";
import type {
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
  JsonObject,
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
import type { Ids } from "./ports.ts";
import { moment, runOnce, type TransitionWorld, transition } from "./transitions.ts";

export interface TurnPort {
  enqueueTurn(request: TurnRequest): Promise<EnqueueOutcome>;
  /** Commit point D: take an agent's turn forward, whatever there is to do for it. */
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
  /** Commit point E. */
  finishTurn(request: FinishRequest): Promise<FinishOutcome>;
  /** Gives the turn back for later; the delay follows the reason (reference §6.4). */
  deferTurn(hold: TurnHold, reason: keyof typeof DEFER_DELAYS_MS): Promise<DeferOutcome>;
  stopTurn(request: StopRequest): Promise<StopOutcome>;
  renewWorker(request: WorkerRequest): Promise<WorkerOutcome>;
  /** Lets go of everything this worker holds, at the next sweep. */
  retireWorker(workerId: string): Promise<void>;
}

const RETRY_BACKOFF_MS = 1_000;
const headKey = (item: { readonly project_id: string; readonly agent_id: string }) =>
  `${item.project_id}/${item.agent_id}`;

export function createTurnPort(world: TransitionWorld & { ids: Ids; announcer: Announcer }): TurnPort {
  const { ids, announcer } = world;
  const enqueue = transition<JsonObject, EnqueueOutcome>(world, "enqueue_turn");
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
  const defer = transition<DeferRequest, DeferOutcome>(world, "defer_turn", { keyOf: headKey });
  const stop = transition<StopRequest, StopOutcome>(world, "stop_turn", { keyOf: (item) => item.agent_turn_id });
  const renew = transition<WorkerRequest, WorkerOutcome>(world, "renew_worker", { keyOf: (item) => item.worker_id });

  return {
    async enqueueTurn(request) {
      const turnId = request.agent_turn_id ?? ids.mint("turn");
      const outcome = await enqueue({
        ...(request as unknown as JsonObject),
        agent_turn_id: turnId,
        trace_id: request.trace_id ?? ids.traceId(),
        span_id: request.span_id ?? ids.spanId(),
        new_box_ids: [ids.mint("box"), ids.mint("box")],
        context_cards: (request.context_cards ?? []).map((card) => gateCard(card)) as never,
      });
      if (outcome.outcome === "accepted") announcer.announce({ wakes: [outcome.wake] });
      return outcome;
    },

    async resume(request) {
      const capability = randomBytes(32);
      const outcome = await take({ ...request, cap_sha256: sha256Hex(capability) });
      return outcome.outcome === "rejected" ? outcome : { ...outcome, capability: capability.toString("hex") };
    },

    async suspendOnCalls(request) {
      const calls = request.calls.map((call) => completeCall(call, ids));
      const outcome = await suspend({
        project_id: request.project_id,
        agent_id: request.agent_id,
        agent_turn_id: request.agent_turn_id,
        turn_epoch: request.turn_epoch,
        step_id: request.step_id,
        thought: {
          card_id: request.thought.card_id ?? ids.mint("card"),
          content: gateJson(request.thought.content, { bytesMax: CARD_CONTENT_BYTES_MAX }),
          metadata: request.thought.metadata,
        },
        calls: calls.map((call) => call.item),
      } as TurnHold);
      if (outcome.outcome === "rejected") return outcome;
      const commands: Command[] = [];
      const answered = outcome.calls.map((answer, n) => {
        const call = calls[n];
        if (call === undefined) return answer;
        if (answer.ticket !== null) {
          commands.push({
            project_id: request.project_id,
            channel_id: outcome.channel_id,
            agent_id: request.agent_id,
            agent_turn_id: request.agent_turn_id,
            turn_epoch: request.turn_epoch,
            step_id: request.step_id,
            tool_call_id: answer.tool_call_id,
            tool_call_card_id: call.item.card_id,
            tool_name: call.item.tool_name,
            after_execution: call.item.after_execution,
            target_subject: call.item.target_subject,
            recursion_depth: outcome.recursion_depth,
            trace_id: outcome.trace_id,
            span_id: call.item.span_id,
            parent_step_id: outcome.parent_step_id,
            parent_agent_id: request.parent_agent_id ?? null,
            parent_agent_turn_id: request.parent_agent_turn_id ?? null,
            ticket: answer.ticket,
          });
        }
        return call.capability === null ? answer : { ...answer, capability: call.capability };
      });
      // A step that was already there may have been announced or not; ringing twice is harmless, and the ids of the cards
      // may differ from this request's, so the sweeper does it.
      if (outcome.outcome === "accepted") announcer.announce({ commands });
      return { ...outcome, calls: answered };
    },

    applyResults: (request) => apply(request),
    appendCards: (request) => append({ ...request, cards: request.cards.map(gateCard) }),

    async finishTurn(request) {
      const outcome = await finish(gateFinish(request));
      if (outcome.outcome !== "accepted") return outcome;
      announcer.announce({
        wakes: [outcome.wake],
        ended: [
          {
            ...pickHold(request),
            channel_id: outcome.channel_id,
            trace_id: outcome.trace_id,
            status: request.status,
            deliverable_card_id: outcome.deliverable_card_id,
            output_box_id: outcome.output_box_id,
            ...(request.error_code === undefined ? {} : { error_code: request.error_code }),
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

    renewWorker: (request) => renew(request),
    retireWorker: (workerId) => runOnce(world, "retire_worker", [workerId, moment(world.clock)]),
  };
}

function completeCall(call: CallDraft, ids: Ids) {
  const isLocal = call.local === true;
  const capability = isLocal ? randomBytes(32) : null;
  const item = {
    tool_call_id: call.tool_call_id,
    card_id: call.card_id ?? ids.mint("card"),
    tool_name: call.tool_name,
    arguments: gateJson(call.arguments, { bytesMax: ARGUMENTS_BYTES_MAX }),
    target_subject: call.target_subject,
    author_id: call.author_id,
    span_id: call.span_id ?? ids.spanId(),
    tool_digest: call.tool_digest,
    effect: call.effect ?? "once",
    after_execution: call.after_execution ?? AFTER_EXECUTION_DEFAULT,
    deadline_ms: (call.timeout_ms ?? TOOL_TIMEOUT_MS) + CALL_DEADLINE_MARGIN_MS,
    attempts_max: call.attempts_max ?? ATTEMPTS_MAX_DEFAULT,
    backoff_ms: call.backoff_ms ?? RETRY_BACKOFF_MS,
    can_reconcile: call.can_reconcile ?? false,
    local: isLocal,
    cap_sha256: capability === null ? undefined : sha256Hex(capability),
    metadata: call.metadata,
  };
  return { item, capability: capability?.toString("hex") ?? null };
}

function gateCard(card: CardDraft): CardDraft {
  return { ...card, content: gateJson(card.content, { bytesMax: CARD_CONTENT_BYTES_MAX }) as JsonObject };
}

function gateFinish(request: FinishRequest): FinishRequest {
  return {
    ...request,
    ...(request.cards === undefined ? {} : { cards: request.cards.map(gateCard) }),
    ...(request.deliverable === undefined
      ? {}
      : { deliverable: gateCard({ ...request.deliverable, type: "task.deliverable" }) }),
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

function sha256Hex(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}
