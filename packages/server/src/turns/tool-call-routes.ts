// A tool call asked for by a person or a program: committed as a turn of its own, awaited for a while.
//
//   C1. The call is committed before anything is waited for: a client that is cut off finds it by its turn, or by asking again
//       with the same Idempotency-Key.
//   C2. 200 says how it ended, also when the tool failed; 202 says that it has not ended yet, and where to look.
//   C3. The same Idempotency-Key for another tool, other arguments or another channel is a conflict.

import { hasTurnEnded, type Row } from "@tessera/kernel";
import { BadRequest, CHANNEL_DEFAULT, errorOf, isJsonObject, type JsonObject, NotFound } from "@tessera/protocol";
import Type from "typebox";
import { inboundTrace, TRACE_HEADERS } from "../http/inbound-trace.ts";
import { bodyReader, ENVELOPE_DEPTH_MAX } from "../http/request-body.ts";
import { Anything, closed, Facts, Id, named, orNull, Text } from "../routing/api-schemas.ts";
import type { ManagementDeps } from "../routing/management-deps.ts";
import { idQuery } from "../routing/query-schemas.ts";
import { given } from "../routing/query-values.ts";
import { existingProject } from "../routing/refusals.ts";
import { type ApiAnswer, type ApiRequest, type RouteSpec, WRITERS } from "../routing/route-spec.ts";
import { wholeTurn } from "./turn-document.ts";
import type { TurnWaits } from "./turn-waits.ts";

export const WAIT_SECONDS_MAX = 30;
const KEY_CHARS_MAX = 256;

const CallWanted = Type.Object(
  {
    arguments: Type.Optional(Facts),
    channel_id: Type.Optional(Id),
    agent_id: Type.Optional(idQuery("Whose workspace and name the call has.")),
    wait_seconds: Type.Optional(Type.Number({ minimum: 0, maximum: WAIT_SECONDS_MAX, default: WAIT_SECONDS_MAX })),
  },
  closed,
);
const ToolCallEnded = named("ToolCallEnded", "A call of a tool that has ended.", {
  agent_turn_id: Id,
  agent_id: Id,
  status: Text,
  result: Anything,
  error: orNull(Facts),
});
const ToolCallWaiting = named("ToolCallWaiting", "A call of a tool that has not ended; its turn goes on.", {
  agent_turn_id: Id,
  agent_id: Id,
  status: Text,
  why: Text,
});
const readCall = bodyReader(CallWanted);

interface CallOrder {
  readonly tool_name: string;
  readonly arguments: unknown;
  readonly channel_id?: string;
}

export function toolCallRoutes({ kernel, tools, ports }: ManagementDeps, waits: TurnWaits): RouteSpec[] {
  async function call(request: ApiRequest): Promise<ApiAnswer> {
    const wanted = await readCall(request.body ?? {});
    const project_id = await existingProject(kernel, request);
    const tool_name = request.param("tool");
    const isOurs = tools.isReservedName(tool_name);
    if (isOurs || (await kernel.reads.tool(project_id, tool_name)) === null) throw unknownTool(tool_name);
    if (ports.toolCalls === undefined) throw errorOf("not_implemented", "this process takes no tool calls");
    const { channel_id, agent_id, wait_seconds = WAIT_SECONDS_MAX } = wanted;
    const order = { project_id, tool_name, arguments: wanted.arguments ?? {}, ...given({ channel_id }) };
    const { toolCalls } = ports;
    const idempotency_key = idempotencyKeyOf(request);
    const trace = inboundTrace(request);
    const turn = await waits.forEnd(request, wait_seconds, async () => {
      const asked = await toolCalls.request({ ...order, ...given({ agent_id, idempotency_key }), ...trace });
      if (!asked.isNew) await requireSame(project_id, asked.agent_turn_id, order);
      return asked.agent_turn_id; // C1
    });
    return await answerOf(turn);
  }

  /** C3 */
  async function requireSame(projectId: string, turnId: string, order: CallOrder): Promise<void> {
    const turn = await kernel.reads.turn(projectId, turnId);
    const config = isJsonObject(turn?.runtime_config) ? turn.runtime_config.tool_call : null;
    const isSameCall = saidBy(config) === saidBy({ name: order.tool_name, arguments: order.arguments });
    if (isSameCall && turn?.channel_id === (order.channel_id ?? CHANNEL_DEFAULT)) return;
    throw errorOf("conflict", "this Idempotency-Key was used for another request", {
      details: { field: "Idempotency-Key", agent_turn_id: turnId },
    });
  }

  /** C2 */
  async function answerOf(turn: Row): Promise<ApiAnswer> {
    const { agent_id } = turn;
    const agent_turn_id = String(turn.agent_turn_id);
    if (!hasTurnEnded(turn)) {
      const now = (await wholeTurn(kernel, String(turn.project_id), agent_turn_id)) as { readonly why?: string } | null;
      const why = now?.why ?? "it ended just now; look at the turn";
      return { status: 202, body: { agent_turn_id, agent_id, status: "waiting", why }, made: { turn: agent_turn_id } };
    }
    const said = await deliverableOf(turn);
    const { result = null, error = errorOfTurn(turn) } = said;
    const body = { agent_turn_id, agent_id, status: turn.status, result, error };
    return { status: 200, body, made: { turn: agent_turn_id } };
  }

  async function deliverableOf(turn: Row): Promise<JsonObject> {
    if (turn.deliverable_card_id === null) return {};
    const [card] = await kernel.reads.cards(String(turn.project_id), [String(turn.deliverable_card_id)]);
    const data = card?.content.data;
    return isJsonObject(data) ? (data as JsonObject) : {};
  }

  return [
    {
      id: "callTool",
      tag: "tools",
      summary: "Call a tool with arguments and wait for its result, up to 30 seconds.",
      method: "POST",
      path: "/projects/:project/tools/:tool::call",
      roles: WRITERS,
      handle: call,
      body: "json",
      bodySchema: CallWanted,
      jsonDepthMax: ENVELOPE_DEPTH_MAX,
      headers: { "Idempotency-Key": "The same key with the same request is the same call.", ...TRACE_HEADERS },
      answers: { 200: ToolCallEnded, 202: ToolCallWaiting },
    },
  ];
}

export function idempotencyKeyOf(request: ApiRequest): string | undefined {
  const key = request.header("idempotency-key") ?? undefined;
  if (key === undefined || key.length <= KEY_CHARS_MAX) return key;
  throw new BadRequest(`Idempotency-Key has more than ${KEY_CHARS_MAX} characters`, {
    details: { field: "Idempotency-Key" },
  });
}

/** A value as text, whatever the order of its keys: the store keeps another one. */
export function saidBy(value: unknown): string | undefined {
  return JSON.stringify(value, (_key, part: unknown) =>
    isJsonObject(part) ? Object.fromEntries(Object.entries(part).toSorted(([a], [b]) => (a < b ? -1 : 1))) : part,
  );
}

/** Of a turn that ended without a result of its tool, e.g. because it was stopped. */
function errorOfTurn({ error_code, error_message }: Row): JsonObject | null {
  if (typeof error_code !== "string") return null;
  return { code: error_code, message: typeof error_message === "string" ? error_message : error_code };
}

function unknownTool(toolName: string): NotFound {
  return new NotFound(`there is no tool ${toolName} in this project`, { details: { field: "tool_name" } });
}
