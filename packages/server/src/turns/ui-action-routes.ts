// UI actions over HTTP: what `cmd.sys.ui.action` asks for on the bus, with the acknowledgement as the answer
// (docs/protocol/turns.md#ui-actions).
//
//   U1. The answer is the acknowledgement: 202 while the action is worked on, 200 with the last one. What is refused before
//       it has a turn is a problem with the code of the acknowledgement (`busy` is `agent_busy`), and is kept nowhere.
//   U2. The same tool and `message_id` (else `action_id`) is the same action, from here or from the bus. Without either, the
//       Idempotency-Key is the name of the action. The same one with other arguments is a conflict.

import { hasTurnEnded, type Row } from "@tessera/kernel";
import { BadRequest, CHANNEL_DEFAULT, errorOf, isJsonObject } from "@tessera/protocol";
import Type from "typebox";
import { inboundTrace, TRACE_HEADERS } from "../http/inbound-trace.ts";
import { bodyReader, ENVELOPE_DEPTH_MAX } from "../http/request-body.ts";
import { closed, Facts, Id, idQuery, named, oneOf, Text } from "../routing/api-schemas.ts";
import { existingProject } from "../routing/existing-project.ts";
import type { ManagementWorld } from "../routing/management-world.ts";
import { given } from "../routing/query-values.ts";
import { type ApiAnswer, type ApiRequest, type RouteSpec, WRITERS } from "../routing/route-spec.ts";
import { idempotencyKeyOf, saidBy, WAIT_SECONDS_MAX } from "./tool-call-routes.ts";
import type { TurnWaits } from "./turn-waits.ts";

const ActionWanted = Type.Object(
  {
    agent_id: idQuery("An agent whose worker target is `ui_worker`."),
    tool_name: Type.String({ minLength: 1, maxLength: 64, description: "A tool with `options.ui_allowed: true`." }),
    args: Facts,
    action_id: Type.Optional(idQuery("Becomes the id of the tool call; made here if absent.")),
    message_id: Type.Optional(idQuery("What the action is known by, with the tool's name; else its action_id.")),
    metadata: Type.Optional(Facts),
    channel_id: Type.Optional(Id),
    wait_seconds: Type.Optional(Type.Number({ minimum: 0, maximum: WAIT_SECONDS_MAX, default: WAIT_SECONDS_MAX })),
  },
  closed,
);
const about = { agent_turn_id: Id, agent_id: Id, action_id: Id, message_id: Type.Optional(Id) };
const UiActionAck = named("UiActionAck", "The last acknowledgement of a UI action: it ran, or no tool ran.", {
  ...about,
  status: oneOf(["done", "rejected"]),
  result_status: Type.Optional(Text),
  tool_result_card_id: Type.Optional(Id),
  error_code: Type.Optional(Text),
  error: Type.Optional(Text),
});
const UiActionAccepted = named("UiActionAccepted", "A UI action that is stored and has not ended.", {
  ...about,
  status: oneOf(["accepted"]),
});
const readAction = bodyReader(ActionWanted);

export function uiActionRoutes({ kernel, ports }: ManagementWorld, waits: TurnWaits): RouteSpec[] {
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
    const turn = await waits.forEnd({
      project_id,
      holder: request,
      waitMs: wait_seconds * 1_000,
      stopped: request.stopped(),
      async commit() {
        const { agent_turn_id, isNew } = await uiActions.request(order);
        if (!isNew) await requireSame(project_id, agent_turn_id, order);
        return agent_turn_id;
      },
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

  return [
    {
      id: "sendUiAction",
      tag: "tools",
      summary: "Call a tool from a user interface, as an agent of the UI worker, and get its acknowledgement.",
      method: "POST",
      path: "/projects/:project/ui-actions",
      roles: WRITERS,
      handle: send,
      body: "json",
      bodySchema: ActionWanted,
      jsonDepthMax: ENVELOPE_DEPTH_MAX,
      headers: { "Idempotency-Key": "The same key with the same request is the same action.", ...TRACE_HEADERS },
      answers: { 200: UiActionAck, 202: UiActionAccepted },
    },
  ];
}

function actionOf(turn: Row | null): Readonly<Record<string, unknown>> | null {
  const config = turn?.runtime_config;
  const action = isJsonObject(config) ? config.ui_action : null;
  return isJsonObject(action) ? action : null;
}
