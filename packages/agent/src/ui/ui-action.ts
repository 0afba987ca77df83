// A UI action as it comes from the bus, and the acknowledgements that go back (docs/protocol/turns.md#ui-actions).
//
//   A1. Agent and turn are named by headers only; a payload that names them is refused.
//   A2. Whatever can be answered is answered: a refusal carries what could be read of the action.
//   A3. The first acknowledgement is `accepted` or `busy`, the last one `done` or `rejected`; they may cross on the way. How
//       the tool ended is a field of its own: a tool that failed is `done`.

import type { BusMessage, Delivery, Ids } from "@tessera/kernel";
import {
  buildNatsIngressContext,
  decodeJsonMessage,
  type ErrorCode,
  formatSubject,
  getHeader,
  HEADERS,
  isId,
  isJsonObject,
  isToolName,
  type JsonObject,
  parseSubject,
  type ResultStatus,
  TesseraError,
  traceparentOf,
} from "@tessera/protocol";
import type { RegisteredTool } from "@tessera/tool";

export interface UiAction {
  readonly project_id: string;
  readonly channel_id: string;
  readonly agent_id: string;
  readonly agent_turn_id: string;
  readonly trace_id: string;
  /** Becomes the id of the tool call. */
  readonly action_id: string;
  readonly tool_name: string;
  readonly args: JsonObject;
  readonly message_id?: string;
  readonly metadata?: JsonObject;
}

/** Who is answered. */
export type UiAddress = Pick<UiAction, "project_id" | "channel_id" | "agent_id" | "action_id" | "message_id"> & {
  readonly trace_id?: string;
};

export interface UiAck {
  readonly status: "accepted" | "busy" | "rejected" | "done";
  readonly tool_result_card_id?: string;
  /** How the tool ended, where it ran. */
  readonly result_status?: ResultStatus;
  readonly error_code?: ErrorCode;
  readonly error?: string;
}

export class UiRefusal extends Error {
  readonly code: ErrorCode;
  constructor(code: ErrorCode, message: string) {
    super(message);
    this.code = code;
  }
}

/** What the turn of an action keeps of it. */
export type RequestedAction = Pick<UiAction, "action_id" | "tool_name" | "args" | "message_id">;

/** Null: the turn is no action. */
export function requestedAction(runtimeConfig: unknown): RequestedAction | null {
  const action = isJsonObject(runtimeConfig) ? runtimeConfig.ui_action : null;
  if (!isJsonObject(action)) return null;
  const { action_id, tool_name, args, message_id } = action;
  if (typeof action_id !== "string" || typeof tool_name !== "string" || !isJsonObject(args)) return null;
  return { action_id, tool_name, args, ...(typeof message_id === "string" ? { message_id } : {}) };
}

/** The last acknowledgement, kept with the result of the turn; null: there is none. */
export function keptAck(data: JsonObject): UiAck | null {
  return isJsonObject(data.ui_ack) ? (data.ui_ack as unknown as UiAck) : null;
}

export function isUiAllowed({ definition }: RegisteredTool): boolean {
  return definition.options.ui_allowed === true;
}

/** Null: the subject is not ours, so there is no address for an answer. */
export function readUiAction(
  delivery: Delivery,
  ids: Ids,
): { readonly action: UiAction } | { readonly refusal: UiRefusal; readonly address: UiAddress } | null {
  const subject = parseSubject(delivery.subject);
  if (subject === null) return null;
  const { project_id, channel_id } = subject;
  let payload: JsonObject = {};
  try {
    payload = decodeJsonMessage(delivery.data);
    const { ctx } = buildNatsIngressContext(delivery.headers, payload, subject, { ids }); // A1
    if (ctx.agent_turn_id === "")
      throw new UiRefusal("missing_agent_turn_id", `header ${HEADERS.agent_turn_id} is missing`);
    const { agent_id, agent_turn_id } = ctx;
    const trace_id = ctx.trace_id ?? ids.traceId();
    return { action: { project_id, channel_id, agent_id, agent_turn_id, trace_id, ...readPayload(payload) } };
  } catch (error) {
    if (!(error instanceof UiRefusal) && !TesseraError.is(error)) throw error;
    const refusal = error instanceof UiRefusal ? error : new UiRefusal(codeOf(error, delivery), error.message);
    return { refusal, address: { project_id, channel_id, ...readable(delivery, payload) } }; // A2
  }
}

export function ackMessage(to: UiAddress, ack: UiAck, ids: Ids): BusMessage {
  const { project_id, channel_id, agent_id, action_id, message_id, trace_id } = to;
  const payload = { action_id, agent_id, ...ack, ...(message_id === undefined ? {} : { message_id }) };
  return {
    subject: formatSubject({
      project_id,
      channel_id,
      category: "evt",
      component: "sys",
      target: "ui",
      suffix: "action_ack",
    }),
    headers: {
      [HEADERS.project_id]: project_id,
      [HEADERS.channel_id]: channel_id,
      ...(agent_id === "" ? {} : { [HEADERS.agent_id]: agent_id }),
      ...(trace_id === undefined ? {} : { [HEADERS.traceparent]: traceparentOf(trace_id, ids.spanId()) }),
      [HEADERS.version]: "v1r4",
      [HEADERS.msg_type]: "UiActionAckPayload",
      [HEADERS.sender]: "tessera",
    },
    data: new TextEncoder().encode(JSON.stringify(payload)),
  };
}

function readPayload({ action_id, tool_name, args, message_id, metadata }: JsonObject) {
  const missing = Object.entries({ action_id, tool_name, args }).flatMap(([field, value]) =>
    value === undefined || value === null || value === "" ? [field] : [],
  );
  if (missing.length > 0) throw new UiRefusal("missing_required_fields", `missing: ${missing.join(", ")}`);
  if (!isId(action_id)) throw new UiRefusal("missing_required_fields", "action_id must be an id");
  if (!isToolName(tool_name)) throw new UiRefusal("missing_required_fields", "tool_name must be the name of a tool");
  if (!isJsonObject(args)) throw new UiRefusal("invalid_args", "args must be an object");
  const hasMessage = message_id !== undefined && message_id !== null;
  if (hasMessage && !isId(message_id)) throw new UiRefusal("missing_required_fields", "message_id must be an id");
  const hasMetadata = metadata !== undefined && metadata !== null;
  if (hasMetadata && !isJsonObject(metadata)) throw new UiRefusal("invalid_metadata", "metadata must be an object");
  return {
    action_id,
    tool_name,
    args,
    ...(hasMessage ? { message_id: message_id as string } : {}),
    ...(hasMetadata ? { metadata: metadata as JsonObject } : {}),
  };
}

/** A missing agent is a missing field; everything else keeps the code that says what was wrong. */
function codeOf(error: TesseraError, { headers }: Delivery): ErrorCode {
  return error.code === "protocol_violation" && isWithoutAgent(headers) ? "missing_required_fields" : error.code;
}

function isWithoutAgent(headers: Delivery["headers"]): boolean {
  try {
    return getHeader(headers, HEADERS.agent_id) === null;
  } catch {
    return false; // two of them: a violation
  }
}

function readable({ headers }: Delivery, { action_id, message_id }: JsonObject) {
  let agent_id = "";
  try {
    agent_id = getHeader(headers, HEADERS.agent_id) ?? "";
  } catch {
    // two different ones: neither is believed
  }
  return {
    agent_id: isId(agent_id) ? agent_id : "",
    action_id: isId(action_id) ? action_id : "",
    ...(isId(message_id) ? { message_id } : {}),
  };
}
