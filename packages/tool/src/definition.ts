// What a process knows of a tool besides its definition: how calls of it are made, and where its code is.

import type { ToolDefinition, ToolEffect, ToolOptions, ToolPlacement } from "@tessera/protocol";
import type { JsonObject, JsonValue, ToolHandler, ToolReconcile } from "./api.ts";

export type { ToolDefinition, ToolOptions };

/** A definition read once: every default is filled in. */
export interface ToolPolicy {
  /** `weather` of `weather__forecast`; the target of a name without parts. */
  readonly resource: string;
  /** The subject's target token as written; may hold placeholders. */
  readonly target: string;
  /** Who signs the result: `tool.<resource>` in every placement. */
  readonly author_id: string;
  /** Where it runs. */
  readonly placement: ToolPlacement;
  /** What a crash in the middle of a call means. */
  readonly effect: ToolEffect;
  readonly attempts_max: number;
  readonly backoff_ms: number;
  readonly timeout_ms: number;
  /** Null: waiting for an executor is bounded by the call's deadline alone. */
  readonly queue_timeout_ms: number | null;
  readonly can_reconcile: boolean;
  readonly error_message_limit: number;
}

/** Where a tool's code is: in this process, or in a module that a host loads. */
export type ToolCode =
  | {
      readonly kind: "function";
      /** Does the work. */
      readonly handler: ToolHandler;
      /** Says what became of a run that was cut off. */
      readonly reconcile?: ToolReconcile;
      /** A Standard Schema's own check and transformation, after the JSON Schema's. Throws a ToolError. */
      readonly parse?: (input: JsonObject) => JsonValue | Promise<JsonValue>;
    }
  | { readonly kind: "module"; readonly entry: string; readonly export_name: string };

/** A tool that this process knows: with code when it can run it, without when another process does. */
export interface RegisteredTool {
  /** What is stored of it and shown to a model. */
  readonly definition: ToolDefinition;
  /** What runs; null: another process has it. */
  readonly code: ToolCode | null;
}
