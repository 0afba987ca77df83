// Fork and join, as moves on rows. Which child to start, and when, is the PMO's business; that a batch is looked at again
// when its PMO dies is the store's (migration 0007).

import {
  BATCH_DISPATCH_ATTEMPTS_MAX,
  BATCH_DISPATCH_DELAY_FIRST_MS,
  BATCH_DISPATCH_DELAY_MAX_MS,
  type ReadonlyJsonObject,
} from "@tessera/protocol";
import { moment, runOnce, type TransitionDeps, transition } from "../batching/transitions.ts";
import type { Announcer } from "../messages/announcer.ts";
import type { Ids } from "../ports.ts";
import type { BatchEnd, BatchRequest, BatchTaskMove, Rejected, TurnRequest, Wake, WriteOutcome } from "./outcomes.ts";
import { answering, checkIds } from "./request-gate.ts";

export interface BatchPort {
  /** Turns a held call into a batch: from now on the batch answers it, whichever process dies. */
  openBatch(request: BatchRequest): Promise<WriteOutcome>;
  moveBatchTask(move: BatchTaskMove): Promise<WriteOutcome>;
  /** Starts a task's child and records it in the task, in one commit. A busy agent puts the task off. */
  dispatchBatchTask(request: BatchDispatch): Promise<BatchDispatchOutcome>;
  /** Ends a batch and answers its call, once. */
  finishBatch(end: BatchEnd): Promise<BatchOutcome>;
  /** Batches that need a hand, given to one caller at a time and for a few seconds. */
  takeDueBatches(limit: number): Promise<DueBatch[]>;
  /** Open children of turns that were stopped. They are for the caller to stop; when none is left, the list is empty. */
  childrenOfStopped(limit: number): Promise<{ readonly project_id: string; readonly agent_turn_id: string }[]>;
}
type BatchOutcome = Rejected | { readonly outcome: "accepted" | "duplicate"; readonly wake?: Wake | null };

interface BatchDispatch {
  readonly project_id: string;
  readonly batch_task_id: string;
  /** An agent that is at work counts as busy, instead of getting one more turn in its queue. */
  readonly only_idle: boolean;
  readonly turn: TurnRequest & { readonly agent_turn_id: string; readonly context_box_id: string };
}
type BatchDispatchOutcome =
  | (Rejected & { readonly retry_at?: string })
  | {
      readonly outcome: "accepted" | "duplicate";
      readonly agent_turn_id: string;
      readonly wake?: Wake;
    };

export interface DueTask {
  readonly batch_task_id: string;
  readonly task_index: number;
  readonly status: "pending" | "dispatched" | "success" | "failed" | "canceled" | "timeout" | "partial";
  readonly agent_id: string;
  readonly current_agent_turn_id: string | null;
  readonly profile_box_id: string | null;
  readonly context_box_id: string | null;
  readonly output_box_id: string | null;
  readonly error_detail: ReadonlyJsonObject | null;
  readonly metadata: ReadonlyJsonObject;
  /** Pending, and to be started now. */
  readonly is_due: boolean;
  /** Its turn has not ended, whatever the task says. */
  readonly is_running: boolean;
  /** A minute after its start no worker has taken it. */
  readonly is_untaken: boolean | null;
  readonly deliverable_card_id: string | null;
}

export interface DueBatch {
  readonly batch_id: string;
  readonly project_id: string;
  readonly channel_id: string;
  readonly parent_agent_id: string;
  readonly parent_agent_turn_id: string;
  readonly parent_tool_call_id: string;
  readonly fail_fast: boolean;
  readonly metadata: ReadonlyJsonObject;
  /** Its call still waits for it. */
  readonly is_awaited: boolean;
  /** Its deadline has passed. */
  readonly is_late: boolean;
  readonly call: { readonly trace_id: string; readonly span_id: string; readonly step_id: string };
  readonly tasks: readonly DueTask[];
}

export function createBatchPort(world: TransitionDeps & { ids: Ids; announcer: Announcer }): BatchPort {
  const { ids, announcer } = world;
  const open = transition<BatchRequest, WriteOutcome>(world, "open_batch", { keyOf: (item) => item.tool_call_id });
  const move = transition<BatchTaskMove, WriteOutcome>(world, "move_batch_task", {
    keyOf: (item) => item.batch_task_id,
  });
  const dispatch = transition<object, BatchDispatchOutcome>(world, "dispatch_batch_task");
  const finish = transition<BatchEnd, BatchOutcome>(world, "finish_batch", { keyOf: (item) => item.batch_id });
  return {
    openBatch: (request) => open(request),
    moveBatchTask: (request) => move(request),
    dispatchBatchTask: (request) =>
      answering(async () => {
        const { turn } = request;
        const { agent_id, agent_turn_id, context_box_id, profile_box_id, output_box_id } = turn;
        checkIds({ project_id: request.project_id, agent_id, agent_turn_id, channel_id: turn.channel_id });
        checkIds({ context_box_id, profile_box_id, output_box_id, correlation_id: turn.correlation_id });
        const outcome = await dispatch({
          ...request,
          attempts_max: BATCH_DISPATCH_ATTEMPTS_MAX,
          delay_first_ms: BATCH_DISPATCH_DELAY_FIRST_MS,
          delay_max_ms: BATCH_DISPATCH_DELAY_MAX_MS,
          turn: {
            ...turn,
            project_id: request.project_id,
            trace_id: turn.trace_id ?? ids.traceId(),
            span_id: turn.span_id ?? ids.spanId(),
            new_box_ids: [ids.mint("box"), ids.mint("box")],
          },
        });
        if (outcome.outcome === "accepted") announcer.announce({ wakes: [outcome.wake] });
        return outcome;
      }),
    async finishBatch(end) {
      const outcome = await finish(end);
      if (outcome.outcome === "accepted") announcer.announce({ wakes: [outcome.wake] });
      return outcome;
    },
    takeDueBatches: (limit) => runOnce(world, "take_due_batches", [limit, moment(world.clock)]),
    childrenOfStopped: (limit) => runOnce(world, "children_of_stopped", [limit, moment(world.clock)]),
  };
}
