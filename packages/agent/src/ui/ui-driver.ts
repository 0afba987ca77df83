// Drives the turn of a UI action through the loop: one call, then its result, then the last acknowledgement.
//
//   D1. The action's id is its call's id. Where a call of this project has it, the action is refused; where one of another
//       project has it, the call gets an id of its own: call ids are unique in the store.
//   D2. The acknowledgement is kept in the deliverable and published after that commit: one that is lost is given again
//       when the action is repeated.
//   D3. The UI worker has no extensions, so an agent that lists one that must not be skipped runs nothing here (E_EXT_LOAD):
//       the profile of the turn keeps those of the agent.
//   D4. A tool may have lost `ui_allowed` since the action was admitted: what counts is its definition now.

import type { Ids, Kernel } from "@tessera/kernel";
import { type ErrorCode, errorOf, isJsonObject, type TesseraError, type ToolResultContent } from "@tessera/protocol";
import { callOf, drivenProfile, type TurnDriver } from "../loop/turn-driver.ts";
import { profileIn } from "../loop/turn-session.ts";
import { UI_WORKER_TARGET } from "../profile.ts";
import { ackMessage, isUiAllowed, keptAck, requestedAction, type UiAck } from "./ui-action.ts";

/** Marks the card of a call that was refused before anything ran. */
const REFUSED_KEY = "ui_refused";

export function uiDriver({ kernel, ids }: { readonly kernel: Kernel; readonly ids: Ids }): TurnDriver {
  return {
    async profileOf(turn) {
      const profile = await profileIn({ kernel }, turn);
      return { ...drivenProfile(profile?.name ?? UI_WORKER_TARGET), extensions: profile?.extensions ?? [] }; // D3
    },
    mayCall: isUiAllowed, // D4
    decide({ runtime_config }) {
      const action = requestedAction(runtime_config);
      if (action === null) throw errorOf("bad_request", "a turn of this agent is a UI action");
      return callOf({ id: action.action_id, name: action.tool_name, arguments: action.args });
    },
    callMetadata: (refusal) => (refusal === undefined ? {} : { [REFUSED_KEY]: refusalCode(refusal) }),
    async checkTakenCallId({ project_id, runtime_config }) {
      const id = requestedAction(runtime_config)?.action_id ?? "";
      const isOurs = (await kernel.reads.call(project_id, id)) !== null;
      if (isOurs) throw errorOf("dispatch_failed", "another call has this action id"); // D1
    },
    endOf({ results }, { cards }) {
      const content = results[0]?.content;
      if (content === undefined) return null;
      const refused = cards.findLast((card) => card.type === "tool.call")?.metadata[REFUSED_KEY];
      const result_card = cards.findLast((card) => card.type === "tool.result");
      const { status, result, error } = content;
      const isRefused = typeof refused === "string";
      const failure = error === null ? null : { code: isRefused ? refused : error.code, message: error.message };
      const said = failure === null ? {} : { error_code: failure.code as ErrorCode, error: failure.message };
      const ack: UiAck = isRefused
        ? { ...said, status: "rejected" }
        : { ...said, status: "done", result_status: status, tool_result_card_id: result_card?.card_id ?? "" };
      return { status, content: deliverable({ status, result, error }, ack), error: failure };
    },
    failureContent({ code, message }: TesseraError) {
      const ack: UiAck = { status: "rejected", error_code: code, error: message };
      return deliverable({ status: "failed", result: null, error: null }, ack);
    },
    endMessages(turn, { data }) {
      const action = requestedAction(turn.runtime_config);
      const ack = isJsonObject(data) ? keptAck(data) : null;
      return action === null || ack === null ? [] : [ackMessage({ ...turn, ...action }, ack, ids)];
    },
  };
}

/** D2 */
function deliverable(result: Pick<ToolResultContent, "status" | "result" | "error">, ack: UiAck) {
  return { data: { ...result, ui_ack: { ...ack } } } as never;
}

/** What was allowed when the action came, and is not any more. */
function refusalCode({ error }: ToolResultContent): ErrorCode {
  if (error?.code === "tool_not_in_catalog") return "ui_not_allowed";
  return error?.code === "bad_request" ? "invalid_args" : "dispatch_failed";
}
