// What an executor may ask of the kernel: open a call, keep it, save a result, report it. Nothing else:
// a tool is handed this port, never a store.

import {
  BATCH_ITEMS_MAX,
  CARD_CONTENT_BYTES_MAX,
  ENVELOPE_DEPTH_EXTRA,
  gateJson,
  JSON_DEPTH_MAX,
  parseId,
} from "@tessera/protocol";
import { moment, runOnce, type TransitionDeps, transition } from "../batching/transitions.ts";
import type { Announcer } from "../messages/announcer.ts";
import type { Ids } from "../ports.ts";
import type {
  CallHold,
  ClaimRequest,
  OpenedCall,
  OpenOutcome,
  OpenRequest,
  RenewOutcome,
  ReportOutcome,
  ReportRequest,
  ResultCardOutcome,
  ResultCardRequest,
  ResultContent,
} from "./outcomes.ts";
import { answering, checkIds, storableStack } from "./request-gate.ts";

export interface ExecutorPort {
  /** Commit point B. The command that brought the call is acked after this, whatever the answer. */
  openCall(request: OpenRequest): Promise<OpenOutcome>;
  /** The oldest unclaimed calls of a target, opened for a caller whose right to the target was checked outside. */
  claimCalls(request: ClaimRequest): Promise<OpenedCall[]>;
  /** The heartbeat. `cancel: true` = stop the tool, its outcome no longer matters. */
  renewCall(hold: CallHold & { readonly lease_ms?: number }): Promise<RenewOutcome>;
  /** Saves a result without reporting it; changes nothing else. */
  putResultCard(request: ResultCardRequest): Promise<ResultCardOutcome>;
  /** Commit point C. */
  report(request: ReportRequest): Promise<ReportOutcome>;
}

const RESULT_GATE = { bytesMax: CARD_CONTENT_BYTES_MAX, depthMax: JSON_DEPTH_MAX + ENVELOPE_DEPTH_EXTRA };

export function createExecutorPort(world: TransitionDeps & { ids: Ids; announcer: Announcer }): ExecutorPort {
  const open = transition<OpenRequest, OpenOutcome>(world, "open_call");
  const renew = transition<CallHold & { readonly lease_ms?: number }, RenewOutcome>(world, "renew_call");
  const putCard = transition<ResultCardRequest, ResultCardOutcome>(world, "put_result_card", {
    keyOf: (item) => item.tool_call_id,
  });
  const sendReport = transition<ReportRequest, ReportOutcome>(world, "report");
  return {
    // The claim's own id makes asking again after a lost answer the same claim, not a second attempt.
    openCall: (request) =>
      answering(async () => {
        checkCall(request);
        return await open({ ...request, claim_id: request.claim_id ?? world.ids.mint("claim") });
      }),
    async claimCalls(request) {
      checkIds({ project_id: request.project_id, claim_id: request.claim_id });
      const { project_id, target, executor, principal = null, max = 1, lease_ms = null } = request;
      const claimId = request.claim_id ?? world.ids.mint("claim");
      const values = [project_id, target, executor, claimId, principal, Math.min(max, BATCH_ITEMS_MAX), lease_ms];
      return await runOnce<OpenedCall[]>(world, "claim_calls", [...values, moment(world.clock)]);
    },
    async renewCall(hold) {
      const outcome = await answering(async () => {
        checkCall(hold);
        return await renew(hold);
      });
      return "cancel" in outcome ? outcome : { ...outcome, cancel: true };
    },
    putResultCard: (request) =>
      answering(async () => {
        checkCall(request);
        checkIds({ card_id: request.card_id });
        return await putCard({ ...request, content: gateResult(request.content) });
      }),
    report: (request) =>
      answering(async () => {
        checkCall(request);
        const { content, stack, ...claims } = request;
        const outcome = await sendReport({
          ...claims,
          content: content && gateResult(content),
          ...storableStack(stack),
        });
        if (outcome.outcome === "accepted" && "wake" in outcome) world.announcer.announce({ wakes: [outcome.wake] });
        return outcome;
      }),
  };
}

function checkCall(call: { readonly project_id: string; readonly tool_call_id: string }): void {
  parseId(call.project_id, "project_id");
  parseId(call.tool_call_id, "tool_call_id");
}

// What a tool answers passes the JSON gate before the store sees it; jsonb would refuse some of it for ever.
function gateResult(content: ResultContent): ResultContent {
  const gated: unknown = gateJson(content, RESULT_GATE);
  return gated as ResultContent;
}
