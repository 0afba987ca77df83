// publish_tool_result_report of CommonGround: the pointer to a saved card goes through the report port.
//
//   P1. The target is the command's own context, the source the tool's actor: `tool.<name>` or `sys.<name>`, of the same
//       project. The kernel compares author, function name, lineage and depth with the call; nothing here is believed.
//   P2. Anything but accepted or duplicate is thrown.
//   P3. A status that is none, or not its card's, goes to the kernel as it is: it settles the call as failed and says so in a
//       warning. Thrown here, the call would wait for its deadline.

import type { ResultWarning } from "@tessera/kernel";
import {
  type CGContext,
  childTraceparent,
  errorOf,
  getHeader,
  HEADERS,
  isServiceActorId,
  type JsonObject,
  ProtocolViolation,
  parseCallbackPointer,
  type TraceIds,
} from "@tessera/protocol";
import type { CardBox } from "./card-box.ts";

/** What `publishToolResultReport` sends. */
export interface ReportOptions {
  /** Which read the call's card and saved the result's. */
  readonly cardbox: CardBox;
  /** Who reports: the context of the tool's actor, `tool.<name>` or `sys.<name>`. */
  readonly sourceCtx: CGContext;
  /** What is reported about: the context of the command. */
  readonly targetCtx: CGContext;
  /** As `ToolResultBuilder` made it: the pointer to the saved card. */
  readonly payload: Readonly<JsonObject>;
  /** With it the report names a child span of the command's; the kernel makes its own in any case. */
  readonly ids?: TraceIds;
  /** Where the tool failed, as its language writes it: for operators, cut after STACK_CHARS_MAX, never shown to a model. */
  readonly stack?: string;
}

/** Reports a saved result, which ends the call. Throws what the report was refused for. */
export async function publishToolResultReport(options: ReportOptions): Promise<{
  readonly outcome: "accepted" | "duplicate";
  readonly tool_result_card_id: string;
  readonly warning?: ResultWarning | undefined;
}> {
  const { cardbox, sourceCtx, targetCtx, payload, ids, stack } = options;
  const toolCallId = targetCtx.requireToolCallId();
  if (sourceCtx.project_id !== targetCtx.project_id) throw new ProtocolViolation("source and target differ in project");
  if (!isServiceActorId(sourceCtx.agent_id)) {
    throw new ProtocolViolation("the source must be a service: tool.<name> or sys.<name>", {
      code: "invalid_source_actor",
    });
  }
  const pointer = parseCallbackPointer(payload);
  const { status, after_execution } = payload as { readonly status?: string; readonly after_execution?: string };
  const inbound = getHeader(targetCtx.headers, HEADERS.traceparent);
  const traceparent = inbound === null || ids === undefined ? null : childTraceparent(inbound, ids);
  const { hold, port, storedId, settled } = cardbox.holdOf(toolCallId);
  const tool_result_card_id = storedId(pointer);
  const outcome = await port.report({
    ...hold,
    tool_result_card_id,
    ...(status === undefined || status === null ? {} : { status }), // P3
    ...(after_execution === undefined || after_execution === null ? {} : { after_execution }),
    message_type: "tool_result",
    author_id: sourceCtx.agent_id,
    agent_id: targetCtx.agent_id,
    agent_turn_id: targetCtx.requireAgentTurnId(),
    turn_epoch: targetCtx.turn_epoch,
    recursion_depth: targetCtx.recursion_depth,
    ...(traceparent === null ? {} : { traceparent }),
    ...(stack === undefined ? {} : { stack }),
  });
  settled();
  if (outcome.outcome === "rejected") throw errorOf(outcome.code, "the report was refused"); // P2
  if (outcome.outcome === "duplicate" || "retry_at" in outcome)
    return { outcome: outcome.outcome, tool_result_card_id };
  return {
    outcome: outcome.outcome,
    tool_result_card_id: outcome.tool_result_card_id,
    warning: outcome.warning,
  };
}
