// A UI action that does not come from the bus: a program asks for it and gets its outcome.
//
//   R1. What the bus refuses is refused here, by the same admission and with the same codes.
//   R2. An idempotency key names the action and its turn: the same key is the same action, also after its answer was lost.

import { createHash } from "node:crypto";
import type { Ids, Kernel, Row } from "@tessera/kernel";
import { errorOf, isToolName, type JsonObject } from "@tessera/protocol";
import { createProjectTools } from "@tessera/tool/catalog";
import type { UiAck, UiAction } from "./ui-action.ts";
import { admitUiAction, lastAckOf } from "./ui-admission.ts";

export type UiActionRequest = Pick<UiAction, "project_id" | "channel_id" | "agent_id" | "tool_name" | "message_id"> & {
  readonly args: Readonly<Record<string, unknown>>;
  readonly metadata?: Readonly<Record<string, unknown>>;
  readonly action_id?: string;
  readonly trace_id?: string;
  readonly idempotency_key?: string;
};

export interface UiActions {
  request(order: UiActionRequest): Promise<{ readonly agent_turn_id: string; readonly isNew: boolean }>;
  ackOf(turn: Row): Promise<UiAck>;
}

export function createUiActions(options: {
  readonly kernel: Kernel;
  readonly ids: Ids;
  readonly onWarning?: (warning: string) => void;
}): UiActions {
  const { kernel, ids } = options;
  const tools = createProjectTools(kernel.reads, options.onWarning ?? (() => undefined));
  return {
    async request({ idempotency_key: key, action_id, trace_id = ids.traceId(), ...order }) {
      if (!isToolName(order.tool_name)) throw errorOf("invalid_name", "tool_name must be the name of a tool");
      const named = key === undefined ? null : nameOf(order.project_id, key); // R2
      const action: UiAction = {
        ...(order as UiAction),
        args: order.args as JsonObject,
        trace_id,
        action_id: action_id ?? (named === null ? ids.mint("act") : `act_${named}`),
        agent_turn_id: named === null ? ids.mint("turn") : `turn_ui_${named}`,
      };
      const { ack, agent_turn_id, isNew } = await admitUiAction({ kernel, tools }, action);
      if (agent_turn_id !== null) return { agent_turn_id, isNew };
      const isOther = ack.error_code === "stale_turn" && key !== undefined;
      if (isOther) throw errorOf("conflict", "this Idempotency-Key was used for another request");
      throw errorOf(ack.error_code ?? "l0_error", ack.error ?? "the action was refused"); // R1
    },
    ackOf: (turn) => lastAckOf(kernel, turn),
  };
}

function nameOf(projectId: string, key: string): string {
  return createHash("sha256")
    .update(JSON.stringify([projectId, key]))
    .digest("hex")
    .slice(0, 32);
}
