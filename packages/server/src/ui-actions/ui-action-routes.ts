// UI actions over HTTP: what `cmd.sys.ui.action` asks for on the bus, with the acknowledgement as the answer
// (docs/protocol/turns.md#ui-actions). What a request does (send-ui-action.ts) is loaded with the first one.

import Type from "typebox";
import { TRACE_HEADERS } from "../http/inbound-trace.ts";
import { ENVELOPE_DEPTH_MAX } from "../http/request-body.ts";
import { closed, Facts, Id, named, oneOf, Text } from "../routing/api-schemas.ts";
import type { ManagementDeps } from "../routing/management-deps.ts";
import { idQuery } from "../routing/query-schemas.ts";
import { type ApiAnswer, type ApiRequest, type RouteSpec, WRITERS } from "../routing/route-spec.ts";
import { WAIT_SECONDS_MAX } from "../turns/tool-call-routes.ts";
import type { TurnWaits } from "../turns/turn-waits.ts";

export const ActionWanted = Type.Object(
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

export function uiActionRoutes(world: ManagementDeps, waits: TurnWaits): RouteSpec[] {
  let sending: Promise<(request: ApiRequest) => Promise<ApiAnswer>> | null = null;
  async function send(request: ApiRequest): Promise<ApiAnswer> {
    sending ??= import("./send-ui-action.ts").then(({ sendUiAction }) => sendUiAction(world, waits));
    return await (await sending)(request);
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
