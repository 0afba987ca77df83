// Cards: the immutable records of which everything else is a projection.
//
//   C1. A card never changes. Saving the same id with the same content is accepted, with other content it is a conflict;
//       a correction is a new card.
//   C2. The type decides role and content shape; both are checked when the card is made.
//   C3. Cards belong to a project. A channel is a view, not a partition.

import { BadRequest } from "../errors/errors.ts";
import { isActorId, isId } from "../ids.ts";
import { gateJson } from "../json/json-gate.ts";
import { isJsonObject, type JsonObject } from "../json/json-value.ts";
import { CARD_CONTENT_BYTES_MAX, CARD_METADATA_BYTES_MAX, ENVELOPE_DEPTH_EXTRA, JSON_DEPTH_MAX } from "../limits.ts";
import { type CardContent, type ContentKind, validateContent } from "./card-content.ts";

export type CardRole = "system" | "user" | "assistant" | "tool";

export interface CardTypeSpec {
  readonly role: CardRole;
  readonly content: readonly ContentKind[];
}

export const CARD_TYPES = {
  "task.instruction": { role: "user", content: ["text"] },
  "task.result_fields": { role: "user", content: ["fields_schema"] },
  "task.deliverable": { role: "assistant", content: ["text", "json"] },
  "agent.thought": { role: "assistant", content: ["text"] }, // the text may be empty; `tool_calls` names the calls
  "agent.answer": { role: "user", content: ["json"] }, // of a turn that was asked for and not waited for
  "agent.reset": { role: "system", content: ["json"] }, // a conversation begins anew behind it
  "agent.calls": { role: "assistant", content: ["json"] }, // the calls of a message that are made one after the other
  "agent.error": { role: "system", content: ["json"] },
  "tool.call": { role: "assistant", content: ["tool_call"] },
  "tool.result": { role: "tool", content: ["tool_result"] },
  "sys.profile": { role: "system", content: ["json"] },
  "sys.rendered_prompt": { role: "system", content: ["text"] },
  "sys.tools": { role: "system", content: ["json"] },
  "sys.must_end_with_required": { role: "system", content: ["text"] },
  "sys.judge_feedback": { role: "system", content: ["text"] },
  "sys.message_event": { role: "system", content: ["json"] }, // what an extension does to the messages before it
  "meta.parent_pointer": { role: "system", content: ["json"] },
} as const satisfies Record<string, CardTypeSpec>;
export type CardType = keyof typeof CARD_TYPES;

/** Metadata keys with a meaning. Others are allowed and carried along. */
export const CARD_METADATA_KEYS = [
  "agent_turn_id",
  "step_id",
  "tool_call_id",
  "trace_id",
  "parent_step_id",
  "role",
  "function_name",
  "context_box_id",
  "dispatch_requested_at",
  "tool_args_defaults_applied",
  "tool_args_fixed_applied",
  "tool_args_envs",
  "partial",
  "terminal_reason",
  "stop_reason",
  "terminated_by_tool",
  "resume_turn_epoch",
  "reasoning_content",
  "uploaded_files",
  "profile_id",
  "calls_card_id",
  "call_index",
] as const;

/** A call as an `agent.thought` names it. Arguments live only in the `tool.call` card. */
export interface ToolCallRef {
  readonly id: string;
  readonly name: string;
}

export interface Card {
  readonly card_id: string;
  readonly project_id: string;
  readonly type: CardType;
  readonly content: CardContent;
  /** ISO 8601. The kernel sets it; a caller's value is not believed. */
  readonly created_at: string;
  readonly author_id: string;
  readonly metadata: JsonObject;
  readonly tool_calls?: readonly ToolCallRef[] | null;
  readonly tool_call_id?: string | null;
  readonly ttl_seconds?: number | null;
}

export const CARD_FIELDS = [
  "card_id",
  "project_id",
  "type",
  "content",
  "created_at",
  "author_id",
  "metadata",
  "tool_calls",
  "tool_call_id",
  "ttl_seconds",
] as const;

export function isCardType(value: unknown): value is CardType {
  return typeof value === "string" && Object.hasOwn(CARD_TYPES, value);
}

/** Checks a whole card and returns a clean copy. Refuses with `invalid_card`, or with the JSON gate's own code. */
export function validateCard(value: unknown): Card {
  const card: unknown = gateJson(value, {
    bytesMax: CARD_CONTENT_BYTES_MAX + 2 * CARD_METADATA_BYTES_MAX,
    depthMax: JSON_DEPTH_MAX + ENVELOPE_DEPTH_EXTRA,
  });
  const clean = card;
  if (!isJsonObject(clean)) throw invalid("", "must be an object");
  const unknown = Object.keys(clean).find((key) => !(CARD_FIELDS as readonly string[]).includes(key));
  if (unknown !== undefined) throw invalid(`/${unknown}`, "is not a field of a card");
  for (const field of ["card_id", "project_id"])
    if (!isId(clean[field])) throw invalid(`/${field}`, "is not a legal id");
  if (!isActorId(clean.author_id)) throw invalid("/author_id", "is not a legal actor id");
  if (typeof clean.created_at !== "string" || !ISO_TIME.test(clean.created_at)) {
    throw invalid("/created_at", "must be an ISO 8601 time");
  }
  const type = clean.type;
  if (!isCardType(type)) throw invalid("/type", "is not a known card type");
  clean.metadata = validateMetadata(clean.metadata ?? {});
  validateCallFields(type, clean);
  const ttl = clean.ttl_seconds ?? null;
  if (ttl !== null && !(typeof ttl === "number" && Number.isInteger(ttl) && ttl > 0)) {
    throw invalid("/ttl_seconds", "must be a whole number above 0");
  }
  validateCardContent(type, clean.content);
  return card as Card;
}

/** Checks the content of a card of a type: size, JSON, shape. Returns a clean copy. */
export function validateCardContent(type: CardType, content: unknown): CardContent {
  const clean = gateJson(content, {
    bytesMax: CARD_CONTENT_BYTES_MAX,
    depthMax: JSON_DEPTH_MAX + ENVELOPE_DEPTH_EXTRA,
  });
  return validateContent(clean, CARD_TYPES[type].content);
}

const ISO_TIME = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(?:Z|[+-]\d{2}(?::?\d{2})?)$/;

function validateMetadata(metadata: unknown): JsonObject {
  if (!isJsonObject(metadata)) throw invalid("/metadata", "must be an object");
  return gateJson(metadata, { bytesMax: CARD_METADATA_BYTES_MAX });
}

/** Calls and results are tied to their call; thoughts name theirs; nothing else does either. */
function validateCallFields(type: CardType, card: JsonObject): void {
  const id = card.tool_call_id ?? null;
  if ((type === "tool.call" || type === "tool.result") && !isId(id)) {
    throw invalid("/tool_call_id", `is required for ${type}`);
  }
  if (id !== null && !isId(id)) throw invalid("/tool_call_id", "is not a legal id");
  const calls = card.tool_calls ?? null;
  if (calls === null) return;
  if (type !== "agent.thought" || !Array.isArray(calls))
    throw invalid("/tool_calls", "belongs to an agent.thought, as a list");
  for (const [index, call] of calls.entries()) {
    const isRef =
      isJsonObject(call) && isId(call.id) && typeof call.name === "string" && Object.keys(call).length === 2;
    if (!isRef) throw invalid(`/tool_calls/${index}`, "must be {id, name}");
  }
}

function invalid(pointer: string, why: string): BadRequest {
  const place = pointer === "" ? "the card" : `card field ${pointer.slice(0, 200)}`;
  return new BadRequest(`${place} ${why}`, { code: "invalid_card", details: { pointer: pointer.slice(0, 200) } });
}
