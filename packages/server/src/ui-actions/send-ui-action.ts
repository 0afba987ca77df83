// One request for a UI action.
//
//   U1. The answer is the acknowledgement: 202 while the action is worked on, 200 with the last one. What is refused before
//       it has a turn is a problem with the code of the acknowledgement (`busy` is `agent_busy`), and is kept nowhere.
//   U2. The same tool and `message_id` (else `action_id`) is the same action, from here or from the bus. Without either, the
//       Idempotency-Key is the name of the action. The same one with other arguments is a conflict.

import { hasTurnEnded, type Row } from "@tessera/kernel";
import { BadRequest, CHANNEL_DEFAULT, errorOf, isJsonObject } from "@tessera/protocol";
import { inboundTrace } from "../http/inbound-trace.ts";
import { bodyReader } from "../http/request-body.ts";
import type { ManagementDeps } from "../routing/management-deps.ts";
import { given } from "../routing/query-values.ts";
import { existingProject } from "../routing/refusals.ts";
import type { ApiAnswer, ApiRequest } from "../routing/route-spec.ts";
import { idempotencyKeyOf, saidBy, WAIT_SECONDS_MAX } from "../turns/tool-call-routes.ts";
import type { TurnWaits } from "../turns/turn-waits.ts";
import { ActionWanted } from "./ui-action-routes.ts";

const readAction = bodyReader(ActionWanted);

export function sendUiAction(
  { kernel, ports }: ManagementDeps,
  waits: TurnWaits,
): (request: ApiRequest) => Promise<ApiAnswer> {
  async function send(request: ApiRequest): Promise<ApiAnswer> {
    const { wait_seconds = WAIT_SECONDS_MAX, channel_id = CHANNEL_DEFAULT, ...wanted } = await readAction(request.body);
    const project_id = await existingProject(kernel, request);
    if (ports.uiActions === undefined) throw errorOf("not_implemented", "this process takes no UI actions");
    const { uiActions } = ports;
    const idempotency_key = idempotencyKeyOf(request);
    if (idempotency_key === "") {
      throw new BadRequest("Idempotency-Key is empty", { details: { field: "Idempotency-Key" } });
    }
    const order = { project_id, channel_id, ...wanted, ...given({ idempotency_key }), ...inboundTrace(request) };
    const turn = await waits.forEnd(request, wait_seconds, async () => {
      const { agent_turn_id, isNew } = await uiActions.request(order);
      if (!isNew) await requireSame(project_id, agent_turn_id, order);
      return agent_turn_id;
    });
    return await answerOf(turn);
  }

  /** U2 */
  async function requireSame(
    projectId: string,
    turnId: string,
    order: { readonly agent_id: string; readonly channel_id: string; readonly args: unknown },
  ): Promise<void> {
    const turn = await kernel.reads.turn(projectId, turnId);
    const isSame = saidBy(actionOf(turn)?.args) === saidBy(order.args) && turn?.agent_id === order.agent_id;
    if (isSame && turn.channel_id === order.channel_id) return;
    throw errorOf(
      "conflict",
      "this action was asked for with other arguments, of another agent or on another channel",
      {
        details: { agent_turn_id: turnId },
      },
    );
  }

  /** U1 */
  async function answerOf(turn: Row): Promise<ApiAnswer> {
    const agent_turn_id = String(turn.agent_turn_id);
    const { action_id, message_id } = actionOf(turn) ?? {};
    const about = { agent_turn_id, agent_id: turn.agent_id, action_id, ...given({ message_id }) };
    const made = { turn: agent_turn_id };
    if (!hasTurnEnded(turn)) return { status: 202, body: { ...about, status: "accepted" }, made };
    const ack = await ports.uiActions?.ackOf(turn);
    return { status: 200, body: { ...about, ...ack }, made };
  }

  return send;
}

function actionOf(turn: Row | null): Readonly<Record<string, unknown>> | null {
  const config = turn?.runtime_config;
  const action = isJsonObject(config) ? config.ui_action : null;
  return isJsonObject(action) ? action : null;
}
