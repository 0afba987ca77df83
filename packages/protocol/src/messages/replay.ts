// Replay: from a stored inbox row back to the context and payload of the message that made it.
//
//   P1. The row's columns win over its headers: columns are what transactions compare, headers are what was sent.
//   P2. A row without a valid traceparent or depth cannot be replayed; nothing is invented for stored data.

import { BadRequest, ProtocolViolation } from "../errors/errors.ts";
import { emptyJsonObject, isJsonObject, type JsonObject } from "../json/json-value.ts";
import type { InboxMessageType } from "../status.ts";
import { CGContext } from "./context.ts";
import { refuseControlFields } from "./control-fields.ts";
import { getIntegerHeader, HEADERS, normalizeHeaders, requireHeader } from "./headers.ts";
import { isTraceparent } from "./trace-context.ts";

export interface InboxRow {
  readonly inbox_id: string;
  readonly project_id: string;
  readonly agent_id: string;
  readonly channel_id: string | null;
  readonly message_type: InboxMessageType;
  readonly correlation_id: string | null;
  readonly agent_turn_id: string | null;
  readonly turn_epoch: number;
  readonly context_headers: unknown;
  readonly payload: unknown;
}

export function replayInboxRow(row: InboxRow): { readonly ctx: CGContext; readonly payload: JsonObject } {
  if (!isJsonObject(row.context_headers)) {
    throw new ProtocolViolation("context_headers of the inbox row is not an object", {
      details: { inbox_id: row.inbox_id, field: "context_headers" },
    });
  }
  const headers = normalizeHeaders(row.context_headers);
  if (!isTraceparent(requireHeader(headers, HEADERS.traceparent))) {
    throw new ProtocolViolation("the stored traceparent is not valid", { details: { header: HEADERS.traceparent } });
  }
  requireHeader(headers, HEADERS.recursion_depth);
  const payload = storedPayload(row);
  refuseControlFields(payload, "inbox replay");
  const ctx = new CGContext({
    project_id: row.project_id,
    agent_id: row.agent_id,
    channel_id: row.channel_id ?? headers[HEADERS.channel_id],
    agent_turn_id: turnOf(row, headers),
    turn_epoch: row.turn_epoch,
    step_id: headers[HEADERS.step_id],
    tool_call_id: headers[HEADERS.tool_call_id],
    parent_agent_id: headers[HEADERS.parent_agent_id],
    parent_agent_turn_id: headers[HEADERS.parent_agent_turn_id],
    parent_step_id: headers[HEADERS.parent_step_id],
    recursion_depth: getIntegerHeader(headers, HEADERS.recursion_depth),
    headers,
  });
  return { ctx, payload };
}

/** A turn row that is still queued has no turn column; it is named by its correlation, else by itself. */
function turnOf(row: InboxRow, headers: Readonly<Record<string, string>>): string | null {
  const own = row.agent_turn_id?.trim() || headers[HEADERS.agent_turn_id];
  if (own || row.message_type !== "turn") return own ?? null;
  return row.correlation_id?.trim() || row.inbox_id;
}

function storedPayload(row: InboxRow): JsonObject {
  if (row.payload === null || row.payload === undefined) return emptyJsonObject();
  if (isJsonObject(row.payload)) return row.payload;
  throw new BadRequest("payload of the inbox row is not an object", {
    code: "invalid_payload_type",
    details: { inbox_id: row.inbox_id },
  });
}
