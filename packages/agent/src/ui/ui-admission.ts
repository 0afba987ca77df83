// What becomes of a UI action: a turn of its own, or a refusal that changes nothing.
//
//   M1. Only an agent of the UI worker, and only a tool that says so (`options.ui_allowed`). Nothing is allowed by default.
//   M2. The same action (tool and message id, else action id) is one turn, however often it comes: the kernel keeps its
//       correlation. A refusal and `busy` are kept nowhere, so a later try is judged anew.
//   M3. An action that comes again is answered from the record: with its end, or that it is being worked on.
//   M4. A turn that the kernel ended itself (stopped, crashed too often) is acknowledged as well.

import { createHash } from "node:crypto";
import type { Kernel, Row } from "@tessera/kernel";
import { isJsonObject, type JsonObject, type ResultStatus } from "@tessera/protocol";
import { type ProjectTools, planCalls } from "@tessera/tool/catalog";
import { UI_WORKER_TARGET } from "../profile.ts";
import {
  isUiAllowed,
  keptAck,
  requestedAction,
  type UiAck,
  type UiAction,
  type UiAddress,
  UiRefusal,
} from "./ui-action.ts";

/** What admission needs; admitting needs no worker. */
export interface AdmissionPorts {
  readonly kernel: Kernel;
  readonly tools: ProjectTools;
}

export interface Admitted {
  /** The first acknowledgement, or the last one of an action that has ended already. */
  readonly ack: UiAck;
  /** The turn of the action, which may have come before; null where there is none. */
  readonly agent_turn_id: string | null;
  readonly isNew: boolean;
}

export async function admitUiAction(ports: AdmissionPorts, action: UiAction): Promise<Admitted> {
  const { kernel } = ports;
  const { project_id, agent_id, agent_turn_id, channel_id, trace_id } = action;
  const correlation_id = correlationOf(action);
  const known = await kernel.reads.turn(project_id, agent_turn_id);
  if (known !== null && known.correlation_id === correlation_id) return await again(kernel, known); // M3
  try {
    await check(ports, action);
  } catch (error) {
    if (!(error instanceof UiRefusal)) throw error;
    return refused({ status: "rejected", error_code: error.code, error: error.message });
  }
  const { action_id, tool_name, args, message_id, metadata } = action;
  const ui_action = {
    action_id,
    tool_name,
    args,
    ...(message_id === undefined ? {} : { message_id }),
    ...(metadata === undefined ? {} : { metadata }),
  };
  const outcome = await kernel.enqueueTurn({
    project_id,
    agent_id,
    agent_turn_id,
    correlation_id,
    message_type: "ui_action",
    depth_policy: "root",
    channel_id,
    trace_id,
    source_agent_id: "sys.ui",
    runtime_config: { ui_action } as never,
  });
  if (outcome.outcome !== "rejected") {
    const turn = outcome.outcome === "accepted" ? null : await kernel.reads.turn(project_id, outcome.agent_turn_id);
    if (turn !== null) return await again(kernel, turn);
    return { ack: { status: "accepted" }, agent_turn_id: outcome.agent_turn_id, isNew: true };
  }
  switch (outcome.code) {
    case "agent_busy":
      return refused({ status: "busy", error_code: "agent_busy", error: "the agent is at work; try again later" });
    case "not_found":
      return refused({ status: "rejected", error_code: "agent_not_found", error: `there is no agent ${agent_id}` });
    case "conflict":
      return refused({
        status: "rejected",
        error_code: "stale_turn",
        error: "the turn or message id belongs to another action",
      });
    default:
      return refused({
        status: "rejected",
        error_code: "l0_error",
        error: `the action was not taken: ${outcome.code}`,
      });
  }
}

function refused(ack: UiAck): Admitted {
  return { ack, agent_turn_id: null, isNew: false };
}

async function again(kernel: Kernel, turn: Row): Promise<Admitted> {
  return { ack: await answerAgain(kernel, turn), agent_turn_id: String(turn.agent_turn_id), isNew: false };
}

/** M1, and the arguments: what the gate refuses needs no turn. */
async function check({ kernel, tools }: AdmissionPorts, action: UiAction): Promise<void> {
  const { project_id, agent_id, tool_name } = action;
  const agent = await kernel.reads.agent(project_id, agent_id);
  if (agent === null || agent.status !== "active")
    throw new UiRefusal("agent_not_found", `there is no agent ${agent_id}`);
  if (agent.worker_target !== UI_WORKER_TARGET) {
    throw new UiRefusal("invalid_worker_target", `agent ${agent_id} belongs to ${agent.worker_target}`);
  }
  const catalog = await tools.catalogOf(project_id);
  const tool = catalog.get(tool_name);
  if (tool === undefined) throw new UiRefusal("tool_definition_missing", `there is no tool ${tool_name}`);
  if (!isUiAllowed(tool)) {
    throw new UiRefusal("ui_not_allowed", `${tool_name} may not be called from a user interface`);
  }
  const [planned] = planCalls([{ id: action.action_id, name: tool_name, arguments: action.args }], {
    catalog,
    vars: { ...action, step_id: action.action_id },
    mintCallId: () => action.action_id,
    isHosted: () => true,
  });
  if (planned?.refusal !== undefined) {
    throw new UiRefusal("invalid_args", planned.refusal.error?.message ?? "the arguments do not fit");
  }
}

/** M3 */
async function answerAgain(kernel: Kernel, turn: Row): Promise<UiAck> {
  if (!turn.ended_at) {
    return { status: "accepted", error_code: "idempotency_inflight", error: "the same action is being worked on" };
  }
  return await lastAckOf(kernel, turn);
}

/** The last acknowledgement of a turn that has ended. */
export async function lastAckOf(kernel: Kernel, turn: Row): Promise<UiAck> {
  return (await ackInDeliverable(kernel, turn)) ?? ackOfKernel(turn);
}

/** M4. Null: the turn is no action, or its own end published the acknowledgement. */
export async function ackOfEndedTurn(
  kernel: Kernel,
  { project_id, agent_turn_id }: { readonly project_id: string; readonly agent_turn_id: string },
): Promise<{ readonly to: UiAddress; readonly ack: UiAck } | null> {
  const turn = await kernel.reads.turn(project_id, agent_turn_id);
  const action = requestedAction(turn?.runtime_config);
  if (turn === null || !turn.ended_at || action === null) return null;
  if ((await ackInDeliverable(kernel, turn)) !== null) return null;
  const where = {
    channel_id: String(turn.channel_id),
    agent_id: String(turn.agent_id),
    trace_id: String(turn.trace_id),
  };
  return { to: { project_id, ...where, ...action }, ack: ackOfKernel(turn) };
}

async function ackInDeliverable(kernel: Kernel, turn: Row): Promise<UiAck | null> {
  const [card] = await kernel.reads.cards(String(turn.project_id), [String(turn.deliverable_card_id)]);
  const data = isJsonObject(card?.content) ? card.content.data : null;
  return isJsonObject(data) ? keptAck(data) : null;
}

function ackOfKernel(turn: Row): UiAck {
  return {
    status: "rejected",
    error_code: "missing_tool_result_card",
    error: `the action ended ${turn.status} without a result: ${turn.error_code ?? "no reason is known"}`,
    result_status: turn.status as ResultStatus,
  };
}

/** M2 */
function correlationOf({ tool_name, message_id, action_id }: UiAction): string {
  const key: JsonObject = message_id === undefined ? { action_id } : { message_id };
  const hash = createHash("sha256").update(JSON.stringify([tool_name, key]));
  return `ui_${hash.digest("hex").slice(0, 40)}`;
}
