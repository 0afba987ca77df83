// The options of a definition that Tessera itself obeys, checked one by one. What it does not know is kept, not obeyed.
//
//   O1. A number is a number: `10s`, `"30"` and `-5` are refused, not guessed.
//   O2. `retry` is written `{max_attempts, backoff}` or `{maxAttempts, backoffMs}` and stored as the former.
//   O3. An upload brings no code, so it cannot ask to run where the code would have to be.
//   O4. Executors have options of their own, so the mapping is open. A resource may not have one whose name is nearly one
//       of Tessera's: `efect` would leave a tool that may be repeated one that may not. CommonGround's documents may.

import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
  nearName,
  TOOL_EFFECTS,
  TOOL_PLACEMENTS,
  type ToolPlacement,
  toolDelegationMistake,
} from "@tessera/protocol";
import { ATTEMPTS_MAX_MAX, BACKOFF_MS_MAX, ERROR_MESSAGE_LIMIT_MAX, TIMEOUT_MS_MAX } from "../policy.ts";
import { type DocumentReading, given, segment } from "./document-reading.ts";
import { shown } from "./place.ts";

interface Range {
  readonly min: number;
  readonly max: number;
  readonly whole: boolean;
}

const TIMEOUT_MS: Range = { min: 1, max: TIMEOUT_MS_MAX, whole: true };
const TIMEOUT_SECONDS: Range = { min: 0.001, max: TIMEOUT_MS_MAX / 1_000, whole: false };

/** Every word for a timeout that a definition may use, here or in the namespace of an executor. */
const TIMEOUTS: Readonly<Record<string, Range>> = {
  timeoutMs: TIMEOUT_MS,
  queueTimeoutMs: TIMEOUT_MS,
  timeout_ms: TIMEOUT_MS,
  timeout_seconds: TIMEOUT_SECONDS,
  suspend_timeout_seconds: TIMEOUT_SECONDS,
  timeout_s: TIMEOUT_SECONDS,
  timeout: TIMEOUT_SECONDS,
};
const TIMEOUT_NAMESPACES = ["jina", "openapi"];
/** The options that Tessera obeys. */
const OPTION_NAMES: readonly string[] = [
  ...Object.keys(TIMEOUTS),
  ...TIMEOUT_NAMESPACES,
  "effect",
  "errorMessageLimit",
  "reconcile",
  "placement",
  "retry",
  "args",
  "envs",
  "delegation_policy",
  "ui_allowed",
];

/** Checks `options` where they stand and returns them as they are stored. */
export function readOptions(reading: DocumentReading, options: JsonObject, pointer: string): JsonObject {
  checkTimeouts(reading, options, pointer);
  for (const name of TIMEOUT_NAMESPACES) {
    const inner = given(options, name);
    if (isJsonObject(inner)) checkTimeouts(reading, inner, `${pointer}/${name}`);
  }
  checkChoice(reading, options, "effect", pointer, TOOL_EFFECTS);
  checkNumber(reading, options, "errorMessageLimit", pointer, { min: 1, max: ERROR_MESSAGE_LIMIT_MAX, whole: true });
  checkBoolean(reading, options, "reconcile", pointer);
  checkPlacement(reading, options, pointer);
  checkDelegation(reading, given(options, "delegation_policy"), `${pointer}/delegation_policy`);
  const retry = readRetry(reading, given(options, "retry"), `${pointer}/retry`);
  return retry === undefined ? options : { ...options, retry };
}

/** O4 */
export function refuseMisspelt(reading: DocumentReading, options: JsonObject, pointer: string): void {
  for (const key of Object.keys(options)) {
    if (OPTION_NAMES.includes(key)) continue;
    const near = nearName(key, OPTION_NAMES);
    if (near === undefined) continue;
    const message = `${shown(key)} is not an option of Tessera; did you mean \`${near}\`?`;
    reading.mistake("schema_invalid", `${pointer}/${segment(key)}`, message, "key");
  }
}

/** Whom the tool's code may reach through ctx.runtime (decision 36). Closed: a typo would widen it. */
function checkDelegation(reading: DocumentReading, value: JsonValue | undefined, pointer: string): void {
  const mistake = value === undefined ? null : toolDelegationMistake(value);
  if (mistake !== null) reading.mistake("schema_invalid", pointer, `delegation_policy ${mistake}`);
}

/** `{operations, targetTags, targetProfiles}` of a resource, as it is stored. */
export function readDelegation(reading: DocumentReading, value: JsonValue | undefined, pointer: string) {
  if (value === undefined) return undefined;
  const renamed = Object.fromEntries(
    Object.entries(isJsonObject(value) ? value : {}).map(([key, item]) => [STORED_NAMES[key] ?? key, item]),
  );
  checkDelegation(reading, isJsonObject(value) ? renamed : value, pointer);
  return renamed;
}

const STORED_NAMES: Readonly<Record<string, string>> = {
  targetTags: "target_tags",
  targetProfiles: "target_profiles",
};

export function checkTimeouts(reading: DocumentReading, parent: JsonObject, pointer: string): void {
  for (const [key, range] of Object.entries(TIMEOUTS)) checkNumber(reading, parent, key, pointer, range);
}

export function checkNumber(
  reading: DocumentReading,
  parent: JsonObject,
  key: string,
  parentPointer: string,
  { min, max, whole }: Range,
): void {
  const value = given(parent, key);
  if (value === undefined) return;
  if (typeof value === "number" && value >= min && value <= max && (!whole || Number.isInteger(value))) return;
  const expected = `${whole ? "a whole number" : "a number"} from ${min} to ${max}`;
  reading.mistake("schema_invalid", `${parentPointer}/${key}`, `${key} must be ${expected}, found ${shown(value)}`); // O1
}

export function checkChoice(
  reading: DocumentReading,
  parent: JsonObject,
  key: string,
  parentPointer: string,
  choices: readonly string[],
): void {
  const value = given(parent, key);
  if (value === undefined || (typeof value === "string" && choices.includes(value))) return;
  const message = `${key} must be one of ${choices.join(", ")}, found ${shown(value)}`;
  reading.mistake("schema_invalid", `${parentPointer}/${key}`, message);
}

/** The placement that is asked for, if it is one and may be asked for here. */
export function checkPlacement(
  reading: DocumentReading,
  parent: JsonObject,
  parentPointer: string,
): ToolPlacement | undefined {
  checkChoice(reading, parent, "placement", parentPointer, TOOL_PLACEMENTS);
  const placement = TOOL_PLACEMENTS.find((known) => known === parent.placement);
  if (reading.source === "upload" && (placement === "inline" || placement === "isolated")) {
    reading.mistake(
      "schema_invalid",
      `${parentPointer}/placement`,
      `placement ${placement} needs the tool's code in this process, and an upload brings none; use service or edge`, // O3
    );
  }
  return placement;
}

/** O2. */
export function readRetry(
  reading: DocumentReading,
  value: JsonValue | undefined,
  pointer: string,
): JsonObject | undefined {
  if (value === undefined) return undefined;
  if (!isJsonObject(value)) {
    const message = `retry must be a mapping {max_attempts, backoff}, found ${shown(value)}`;
    reading.mistake("schema_invalid", pointer, message);
    return undefined;
  }
  const attempts = { min: 1, max: ATTEMPTS_MAX_MAX, whole: true };
  const backoff = { min: 0, max: BACKOFF_MS_MAX, whole: true };
  for (const key of ["max_attempts", "maxAttempts"]) checkNumber(reading, value, key, pointer, attempts);
  for (const key of ["backoff", "backoffMs"]) checkNumber(reading, value, key, pointer, backoff);
  reading.refuseOthers(value, pointer, RETRY_KEYS);
  const retry: JsonObject = {};
  const max_attempts = given(value, "max_attempts") ?? given(value, "maxAttempts");
  const backoffMs = given(value, "backoff") ?? given(value, "backoffMs");
  if (max_attempts !== undefined) retry.max_attempts = max_attempts;
  if (backoffMs !== undefined) retry.backoff = backoffMs;
  return retry;
}

const RETRY_KEYS = new Set(["max_attempts", "maxAttempts", "backoff", "backoffMs"]);

function checkBoolean(reading: DocumentReading, parent: JsonObject, key: string, parentPointer: string): void {
  const value = given(parent, key);
  if (value === undefined || typeof value === "boolean") return;
  reading.mistake("schema_invalid", `${parentPointer}/${key}`, `${key} must be true or false, found ${shown(value)}`);
}
