// Ids: what a legal id looks like, and branded types so that a turn id cannot be passed as a call id.
//
//   I1. An id is a subject token, a key, a header value and sometimes a directory name, so it holds `[A-Za-z0-9_-]` only.
//   I2. `__proto__` and the device names of Windows match the pattern and are refused all the same: the first is a trap
//       as a key, the second as a file name.
//   I3. Actors (agents and services) may hold dots: `tool.search`, `sys.pmo`. Only ids without dots reach subjects.

import { BadRequest } from "./errors/errors.ts";
import { ACTOR_ID_CHARS_MAX, ACTOR_ID_PATTERN, ID_PATTERN, INSTANCE_KEY_PATTERN, TOOL_NAME_PATTERN } from "./limits.ts";

declare const kind: unique symbol;
/** A string that was checked to be an id of one kind. Plain strings become one through `parseId` and its kin. */
export type Id<K extends string> = string & { readonly [kind]: K };

export type ProjectId = Id<"project">;
export type ChannelId = Id<"channel">;
export type AgentId = Id<"agent">;
export type TurnId = Id<"turn">;
export type StepId = Id<"step">;
export type CallId = Id<"call">;
export type CardId = Id<"card">;
export type BoxId = Id<"box">;
export type InboxId = Id<"inbox">;
export type BatchId = Id<"batch">;
export type BatchTaskId = Id<"batch_task">;

/** Prefixes of the ids that Tessera mints: `<prefix>_<32 hex>`. */
export const ID_PREFIXES = {
  project: "proj",
  agent: "agent",
  turn: "turn",
  step: "step",
  call: "tc",
  card: "card",
  box: "box",
  inbox: "inbox",
  edge: "edge",
  batch: "batch",
  batch_task: "bt",
  key: "key",
} as const;

export const CHANNEL_DEFAULT = "public";
export const PROJECT_DEFAULT = "default";

const DEVICE_NAME = /^(?:con|prn|aux|nul|com[1-9]|lpt[1-9])$/i;

export function isId(value: unknown): value is string {
  return typeof value === "string" && ID_PATTERN.test(value) && value !== "__proto__" && !DEVICE_NAME.test(value);
}

export function isActorId(value: unknown): value is string {
  return typeof value === "string" && value.length <= ACTOR_ID_CHARS_MAX && ACTOR_ID_PATTERN.test(value);
}

/** A service, not an agent of the roster: its id starts with `tool.` or `sys.`. */
export function isServiceActorId(value: string): boolean {
  return isActorId(value) && /^(?:tool|sys)\./.test(value);
}

export function isInstanceKey(value: unknown): value is string {
  return typeof value === "string" && INSTANCE_KEY_PATTERN.test(value);
}

/** Names a model may call: `search` or `resource__export`. Each part stands alone, so `a__b__c` has no meaning. */
export function isToolName(value: unknown): value is string {
  if (typeof value !== "string" || !TOOL_NAME_PATTERN.test(value) || value === "__proto__") return false;
  const parts = value.split("__");
  return parts.length === 1 || (parts.length === 2 && parts.every((part) => part !== ""));
}

/** Returns `value` as an id, or refuses it with `invalid_id` that names the field. */
export function parseId<T extends Id<string>>(value: unknown, field: string): T {
  if (!isId(value)) {
    throw new BadRequest(`${field} must match ${ID_PATTERN.source}`, { code: "invalid_id", details: { field } });
  }
  return value as T;
}
