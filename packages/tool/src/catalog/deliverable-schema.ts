// The schema of what a turn is to deliver: what the model reads, and the check of what came.
//
//   D1. Given in the forms of a tool's parameters, and stored as they are: plain JSON Schema 2020-12 for an object.
//   D2. A Standard Schema's own check decides and may transform; a JSON Schema's is the argument gate's.

import type { StandardSchemaV1 } from "@standard-schema/spec";
import { errorOf, isJsonObject, type JsonObject } from "@tessera/protocol";
import { compileParameters } from "../arguments/argument-check.ts";
import type { InferToolArguments, ToolParameters } from "../infer-input.ts";
import { jsonSchemaOf, problemsOf } from "../tool-parameters.ts";

/** What a deliverable is that fits a schema: what the schema's own check returns, or what a JSON Schema says. */
export type InferDeliverable<S> = S extends StandardSchemaV1 ? StandardSchemaV1.InferOutput<S> : InferToolArguments<S>;

export interface DeliverableSchema<S extends ToolParameters> {
  /** For the model (D1). */
  readonly schema: JsonObject;
  /** What was delivered, as the schema makes it; refuses what does not fit with `deliverable_invalid`. */
  read(delivered: unknown, turnId: string): Promise<InferDeliverable<S>>;
}

export function deliverableSchema<S extends ToolParameters>(given: S): DeliverableSchema<S> {
  const schema = jsonSchemaOf(given, { says: "the schema of the deliverable", pointer: "/deliverable", details: {} });
  const check = compileParameters(schema);
  return {
    schema,
    async read(delivered, turnId) {
      const value = objectOf(delivered);
      if (value === null) throw invalid(turnId, ["/: must be an object, as submit_result hands it over"]);
      const own = await problemsOf(given, value); // D2
      if (own === null) {
        const issues = check.issues(value);
        if (issues.length > 0) throw invalid(turnId, issues);
        return value as InferDeliverable<S>;
      }
      if ("problems" in own) throw invalid(turnId, own.problems);
      return own.value as InferDeliverable<S>;
    },
  };
}

/** What submit_result hands over is a list of fields. */
function objectOf(delivered: unknown): JsonObject | null {
  if (!isJsonObject(delivered)) return null;
  const { fields, ...others } = delivered;
  if (!Array.isArray(fields) || Object.keys(others).length > 0) return null;
  const entries = fields.flatMap((field) =>
    isJsonObject(field) && typeof field.name === "string" ? [[field.name, field.value ?? null] as const] : [],
  );
  return Object.fromEntries(entries);
}

function invalid(agent_turn_id: string, problems: readonly string[]) {
  const message = `what the turn ${agent_turn_id} delivered does not fit the schema: ${problems.join("; ")}`;
  return errorOf("deliverable_invalid", message, { details: { agent_turn_id, problems } });
}
