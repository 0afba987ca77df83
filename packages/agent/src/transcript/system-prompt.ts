// The system prompt of a step: the profile's text with its placeholders filled, then what this turn adds
// (docs/protocol/turns.md#what-a-turn-is-made-of).
//
//   S1. One pass over the text: a value that holds a placeholder is not read again, and an unknown placeholder stays.
//   S2. What is the same in every step of a turn comes first, so that providers' caches keep it; the step budget comes last.

import { type FieldSchema, isJsonObject, type JsonObject } from "@tessera/protocol";
import type { AgentProfile } from "../profile.ts";
import type { TranscriptCard } from "./card-message.ts";
import { budgetWarning, SUBMIT_RESULT } from "./step-budget.ts";

export interface PromptFacts {
  /** Of the turn; the profile's name where it has none. */
  readonly display_name?: string | null;
  readonly downstream_profiles_desc?: string;
  readonly downstream_roster?: string;
  readonly downstream_desc?: string;
  readonly required_fields?: readonly FieldSchema[];
  /** Of the fields as one object; it says more than their names. */
  readonly deliverable_schema?: JsonObject | null;
  /** This step included. */
  readonly steps_left?: number;
}

export function renderSystemPrompt(
  profile: Pick<AgentProfile, "name" | "system_prompt" | "allowed_internal_tools">,
  facts: PromptFacts,
): string {
  const values: Readonly<Record<string, string>> = {
    downstream_profiles_desc: facts.downstream_profiles_desc ?? "",
    downstream_roster: facts.downstream_roster ?? "",
    downstream_desc: facts.downstream_desc ?? "",
    display_name: facts.display_name ?? profile.name,
  };
  const text = profile.system_prompt.replace(
    /\{([a-z_]+)\}/g,
    (placeholder, name: string) => (Object.hasOwn(values, name) ? (values[name] ?? "") : placeholder), // S1
  );
  const parts = [
    text.trimEnd(),
    isJsonObject(facts.deliverable_schema)
      ? schemaBlock(facts.deliverable_schema)
      : fieldsBlock(facts.required_fields ?? [], profile.allowed_internal_tools.includes(SUBMIT_RESULT)),
    facts.steps_left === undefined ? "" : (budgetWarning(facts.steps_left) ?? ""), // S2
  ];
  return parts.filter((part) => part !== "").join("\n\n");
}

type Asked = readonly Pick<TranscriptCard, "type" | "content">[];

/** The schema that this turn's deliverable must fit; null where none was asked for. A turn with one ends by submit_result. */
export function deliverableSchema(cards: Asked): JsonObject | null {
  const schema = lastAsked(cards)?.schema;
  return isJsonObject(schema) ? schema : null;
}

/** The fields that this turn must deliver. */
export function requiredFields(cards: Asked): readonly FieldSchema[] {
  const fields = lastAsked(cards)?.fields;
  if (!Array.isArray(fields)) return [];
  return fields.flatMap((field: unknown) =>
    isJsonObject(field) && typeof field.name === "string"
      ? { name: field.name, description: typeof field.description === "string" ? field.description : "" }
      : [],
  );
}

/** The last card counts: what a context inherits comes before what is asked now. */
function lastAsked(cards: Asked) {
  return cards.findLast((card) => card.type === "task.result_fields")?.content;
}

function schemaBlock(schema: JsonObject): string {
  const how = `When your work is done, call ${SUBMIT_RESULT} alone. Its argument \`result\` must fit this JSON Schema:`;
  return `${how}\n${JSON.stringify(schema)}`;
}

function fieldsBlock(fields: readonly FieldSchema[], hasSubmit: boolean): string {
  if (fields.length === 0) return "";
  const how = hasSubmit
    ? `When your work is done, call ${SUBMIT_RESULT} alone, with each of these fields exactly once:`
    : "Your answer must give each of these fields:";
  return [
    how,
    ...fields.map(({ name, description }) => `- ${name}${description === "" ? "" : `: ${description}`}`),
  ].join("\n");
}
