// A tool's definition: what is registered, pinned by a call and shown to a model. One shape, wherever the tool came from:
// a CommonGround upload, a Goondan `kind: Tool` resource or `defineTool`.
//
//   D1. Field for field what `resource.tools` stores, so that its digest names exactly what a call was made with.
//   D2. Everything that is Tessera's or an extension lives under `options`; a key that is not known there is kept, not obeyed.

import type { AfterExecution } from "./cards/after-execution.ts";
import type { JsonObject, JsonValue } from "./json/json-value.ts";
import type { ToolEffect, ToolPlacement } from "./status.ts";

/** A tool as it is stored, pinned by a call and shown to a model. Its fields are those of the wire. */
export interface ToolDefinition {
  readonly tool_name: string;
  /** What the model reads about it. */
  readonly description: string;
  /** JSON Schema 2020-12 with `type: object`; `{}` accepts any object. */
  readonly parameters: JsonObject;
  /** A template: `cg.v1r4.{project_id}.{channel_id}.cmd.tool.<target>.<action>`. */
  readonly target_subject: string;
  readonly after_execution: AfterExecution;
  /** Everything else about it: effect, timeouts, retries, where it runs. */
  readonly options: ToolOptions;
}

/** What the definition of a tool says about its calls, as it is stored. */
export interface ToolOptions {
  /** Arguments that the model need not give, and those that it cannot. */
  readonly args?: {
    /** Given to the model as `default`, and used when it leaves the argument out. */
    readonly defaults?: JsonObject;
    /** Always used, never shown. */
    readonly fixed?: JsonObject;
  };
  /** Argument → environment variable of the executor. The value never leaves the executor. */
  readonly envs?: Readonly<Record<string, string>>;
  /** What a crash in the middle of a call means; default `once`. */
  readonly effect?: ToolEffect;
  /** How often a failed run is tried at all, and the pause before the second try, in milliseconds. */
  readonly retry?: { readonly max_attempts?: number; readonly backoff?: number };
  /** How long one run may take. */
  readonly timeoutMs?: number;
  /** How long a call may wait for an executor, each time it becomes free. Absent: its timeout and two leases bound both. */
  readonly queueTimeoutMs?: number;
  /** CommonGround's words for the timeout; the larger one counts when `timeoutMs` is absent. */
  readonly timeout_seconds?: number;
  readonly suspend_timeout_seconds?: number;
  /** How many characters of an error's message the model sees. */
  readonly errorMessageLimit?: number;
  /** Whom its code may reach through ctx.runtime: a ToolDelegationPolicy. Absent: no limit of the tool's. */
  readonly delegation_policy?: JsonObject;
  /** Where it runs. */
  readonly placement?: ToolPlacement;
  /** The tool can say what became of a run that was cut off. */
  readonly reconcile?: boolean;
  readonly [key: string]: JsonValue | undefined;
}
