// What the kernel checks about a request before the store sees it: ids, subjects, cards, values (docs/design.md#one-json-gate).
//
//   G1. A bad request is an answer (`rejected` + code), like every other refusal of the kernel, and changes no row.
//   G2. Ids end up in subjects, headers and paths; nothing else than an id may get there.

import {
  ARGUMENTS_BYTES_MAX,
  CARD_METADATA_BYTES_MAX,
  cutMessage,
  ENVELOPE_DEPTH_EXTRA,
  gateJson,
  isCardType,
  JSON_DEPTH_MAX,
  type JsonObject,
  parseId,
  parseSubject,
  type ReadonlyJsonObject,
  STACK_CHARS_MAX,
  TesseraError,
  validateCardContent,
} from "@tessera/protocol";
import type { CardDraft, Rejected } from "./outcomes.ts";

/** Runs `build`, which may throw a TesseraError about the request, and turns that into an answer (G1). */
export async function answering<Outcome>(build: () => Promise<Outcome>): Promise<Outcome | Rejected> {
  try {
    return await build();
  } catch (error) {
    if (TesseraError.is(error) && REFUSALS.has(error.code)) return { outcome: "rejected", code: error.code };
    throw error;
  }
}

const REFUSALS: ReadonlySet<string> = new Set([
  "bad_request",
  "invalid_id",
  "invalid_card",
  "invalid_target_subject",
  "schema_invalid",
  "too_deep",
  "forbidden_key",
  "payload_too_large",
]);

/** G2. Undefined and null ids are optional ones that were not given. */
export function checkIds(ids: Readonly<Record<string, string | null | undefined>>): void {
  for (const field in ids) {
    const id = ids[field];
    if (id !== undefined && id !== null) parseId(id, field);
  }
}

const CARD_KEYS: ReadonlySet<string> = new Set([
  "card_id",
  "project_id",
  "type",
  "content",
  "author_id",
  "step_id",
  "tool_calls",
  "metadata",
  "ttl_seconds",
  "trace_id",
  // Not believed: the store's own time counts.
  "created_at",
]);

export function gateCard(card: CardDraft): CardDraft {
  const unknown = Object.keys(card).find((key) => !CARD_KEYS.has(key));
  if (unknown !== undefined) {
    throw new TesseraError("invalid_card", `a card has no field ${JSON.stringify(unknown.slice(0, 64))}`, {
      details: { field: unknown.slice(0, 64) },
    });
  }
  checkIds({ card_id: card.card_id, step_id: card.step_id });
  if (!isCardType(card.type)) {
    throw new TesseraError("invalid_card", `there is no card type ${JSON.stringify(card.type)}`, {
      details: { field: "type" },
    });
  }
  const metadata = card.metadata === undefined ? {} : { metadata: gateMetadata(card.metadata) };
  return {
    ...card,
    ...metadata,
    content: validateCardContent(card.type, card.content) as ReadonlyJsonObject,
  };
}

function gateMetadata(metadata: ReadonlyJsonObject): ReadonlyJsonObject {
  return gateJson(metadata, { bytesMax: CARD_METADATA_BYTES_MAX }) as ReadonlyJsonObject;
}

export function storableArguments(value: unknown): JsonObject {
  return gateJson(value, { bytesMax: ARGUMENTS_BYTES_MAX }) as JsonObject;
}

/** A stack as the store can hold it; nothing where there is none. It is for people to read, so it refuses no report. */
export function storableStack(stack: unknown): { readonly stack?: string } {
  if (typeof stack !== "string" || stack === "") return {};
  const text = stack
    .slice(0, STACK_CHARS_MAX + 1)
    .toWellFormed()
    .replaceAll("\0", "\ufffd");
  return { stack: cutMessage(text, STACK_CHARS_MAX) };
}

/** A part of a tool's definition. Its author's limits are tighter; these keep the store whole whatever the author wrote. */
export function gateDefinition(part: ReadonlyJsonObject): ReadonlyJsonObject {
  return gateJson(part, {
    bytesMax: ARGUMENTS_BYTES_MAX,
    depthMax: JSON_DEPTH_MAX + ENVELOPE_DEPTH_EXTRA,
  }) as ReadonlyJsonObject;
}

/** A turn's own settings: bounded like arguments, which they may hold. */
export function gateRuntimeConfig(config: ReadonlyJsonObject | undefined): ReadonlyJsonObject | undefined {
  return config && (gateJson(config, { bytesMax: 2 * ARGUMENTS_BYTES_MAX }) as ReadonlyJsonObject);
}

/** A command goes to a tool or a system service of the call's own project (docs/protocol/commands.md#issuing-a-command). */
export function checkTarget(subject: string, projectId: string): void {
  const parts = parseSubject(subject);
  const isTarget =
    parts !== null && parts.category === "cmd" && (parts.component === "tool" || parts.component === "sys");
  if (!isTarget || parts.project_id !== projectId) {
    throw new TesseraError(
      "invalid_target_subject",
      `a call of project ${projectId} cannot be sent to ${JSON.stringify(subject)}`,
      {
        details: { field: "target_subject" },
      },
    );
  }
}
