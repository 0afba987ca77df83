// defineTool: a tool written as one function, in code. The answer is the same record that an upload or a YAML resource
// becomes, with the function beside it.
//
//   T1. A mistake is found here and says what was found and what was expected; nothing is repaired in silence.
//   T2. The answer is frozen through and through: its digest names what calls were made with.
//   T3. A function cannot move to another process, so the placement is `inline` unless its author says who hosts it.

import {
  AFTER_EXECUTION_DEFAULT,
  type AfterExecution,
  BadRequest,
  DESCRIPTION_BYTES_MAX,
  type DelegatedOperation,
  isToolName,
  TOOL_EFFECTS,
  TOOL_PLACEMENTS,
  type ToolEffect,
  type ToolPlacement,
  targetSubjectFor,
  toolDelegationMistake,
} from "@tessera/protocol";
import type { JsonObject, JsonValue, ToolContext, ToolHandler, ToolReconcile } from "./api.ts";
import { checkArguments, checkChoice, checkFields, checkNumber, plainJson } from "./define-tool-checks.ts";
import type { RegisteredTool, ToolCode, ToolDefinition, ToolOptions } from "./definition.ts";
import type { InferToolInput, ToolArguments, ToolParameters } from "./infer-input.ts";
import { ATTEMPTS_MAX_MAX, BACKOFF_MS_MAX, ERROR_MESSAGE_LIMIT_MAX, TIMEOUT_MS_MAX } from "./policy.ts";
import { isReservedToolName } from "./reserved-names.ts";
import { jsonSchemaOf, parametersOf, parserOf } from "./tool-parameters.ts";

/** What {@link defineTool} takes. Types of `parameters` and `handler` are read off what is written. */
export interface ToolSpec<
  P extends ToolParameters,
  Output extends JsonValue | Promise<JsonValue>,
  Filled extends string = never,
> {
  /** What a model calls: `forecast`, or `weather__forecast` for the export `forecast` of `weather`. */
  readonly name: string;
  /** Tells the model what the tool does and when to use it. */
  readonly description?: string;
  /** The arguments: a schema of zod, valibot, arktype … or a JSON Schema 2020-12. Absent: any object. */
  readonly parameters?: P;
  /** What a crash in the middle means. `read`: it changes nothing, so it is run again. `idempotent`: it may be run again under
   *  the same `ctx.idempotencyKey`. `once` (the default): it is never run again by itself; the call ends `outcome_unknown`. */
  readonly effect?: ToolEffect;
  /** How often a failed run of a tool that may be repeated is tried at all, and the pause before the second try. */
  readonly retry?: { readonly maxAttempts?: number; readonly backoffMs?: number };
  /** How long one run may take; then `ctx.signal` is aborted and the call is failed with `tool_timeout`. */
  readonly timeoutMs?: number;
  /** How long a call may wait for an executor; for the placements `service` and `edge`. */
  readonly queueTimeoutMs?: number;
  /** `terminate`: its success ends the turn that called it. Default `suspend`: the turn goes on with the result. */
  readonly afterExecution?: AfterExecution;
  /** How many characters of an error's message the model sees. */
  readonly errorMessageLimit?: number;
  /** Where it runs. `inline` (the default): in the worker. `service` and `edge`: in a process that claims calls of `target`. */
  readonly placement?: ToolPlacement;
  /** Who hosts it, for `service` and `edge`; the resource's name if absent. */
  readonly target?: string;
  /** Arguments that the model need not give (`defaults`), and those that it cannot (`fixed`). */
  readonly args?: {
    readonly defaults?: { readonly [Name in Filled]?: JsonValue };
    readonly fixed?: { readonly [Name in Filled]?: JsonValue };
  };
  /** Arguments that come from the executor's environment: argument → name of the variable. */
  readonly envs?: { readonly [Name in Filled]?: string };
  /** Whom it may reach through ctx.runtime; absent fields do not limit. */
  readonly delegationPolicy?: {
    readonly operations?: readonly DelegatedOperation[];
    readonly targetTags?: readonly string[];
    readonly targetProfiles?: readonly string[];
  };
  /** Says what became of a run that was cut off, for a tool that is not to be run twice. */
  readonly reconcile?: ToolReconcile;
  /** Does the work. What it returns is the result of the call; throw a {@link ToolError} to fail with words for the model. */
  readonly handler: (ctx: ToolContext, input: InferToolInput<P>) => Output;
}

/** A tool with its code. Give it to `createTessera({ tools })`, name it in `defineAgent({ tools })`, call it with
 *  `tessera.callTool(tool, …)`, or call its `handler` in a test. */
export interface DefinedTool<Input = JsonObject, Output = JsonValue | Promise<JsonValue>, Arguments = Input>
  extends RegisteredTool {
  /** What a model calls. */
  readonly name: string;
  /** The document that is stored and shown to a model, as the wire spells it. */
  readonly definition: ToolDefinition;
  /** The handler as a host runs it. */
  readonly code: Extract<ToolCode, { kind: "function" }>;
  /** The author's function as it is: without the schema's check, which `code.parse` does. */
  readonly handler: (ctx: ToolContext, input: Input) => Output;
  /** For the compiler only: what a caller gives, and what the call's result is. Never there at run time. */
  readonly "~types"?: { readonly arguments: Arguments; readonly result: Awaited<Output> };
}

/**
 * A tool written as one function.
 *
 * ```ts
 * import { defineTool, ToolError } from "@tessera/tool";
 * import { z } from "zod";
 *
 * export const forecast = defineTool({
 *   name: "weather__forecast",
 *   description: "The weather of tomorrow",
 *   effect: "read",
 *   parameters: z.object({ city: z.string(), days: z.number().default(1) }),
 *   handler: async (ctx, { city, days }) => {
 *     const answer = await fetch(`https://weather.example/${city}?days=${days}`, { signal: ctx.signal });
 *     if (!answer.ok) throw new ToolError(`no forecast for ${city}`, { suggestion: "Name a larger city nearby." });
 *     return { city, text: await answer.text() };
 *   },
 * });
 * ```
 *
 * @throws {TesseraError} for a mistake in what is given, with the field, what was expected and what was found
 */
export function defineTool<
  const P extends ToolParameters = Record<never, never>,
  Output extends JsonValue | Promise<JsonValue> = JsonValue | Promise<JsonValue>,
  Filled extends string = never,
>(spec: ToolSpec<P, Output, Filled>): DefinedTool<InferToolInput<P>, Output, ToolArguments<P, Filled>> {
  const { resource, action } = nameParts(spec.name);
  checkFields(spec.name, "", spec, FIELDS);
  checkFields(spec.name, "retry", spec.retry, { maxAttempts: true, backoffMs: true });
  checkFields(spec.name, "args", spec.args, { defaults: true, fixed: true });
  if (typeof spec.handler !== "function") throw mistake(spec.name, "handler", "must be a function");
  const definition: ToolDefinition = {
    tool_name: spec.name,
    description: descriptionOf(spec),
    parameters: spec.parameters === undefined ? {} : jsonSchemaOf(spec.parameters, parametersOf(spec.name)),
    target_subject: targetSubjectFor(targetOf(spec, resource), action),
    after_execution:
      checkChoice(spec.name, "afterExecution", ["suspend", "terminate"], spec.afterExecution) ??
      AFTER_EXECUTION_DEFAULT,
    options: optionsOf(spec),
  };
  const parse = spec.parameters === undefined ? undefined : parserOf(spec.parameters);
  return deepFreeze({
    name: spec.name,
    definition,
    code: {
      kind: "function" as const,
      handler: spec.handler as unknown as ToolHandler, // the gate and `parse` see to it that the input has this type
      ...(spec.reconcile === undefined ? {} : { reconcile: spec.reconcile }),
      ...(parse === undefined ? {} : { parse }),
    },
    handler: spec.handler,
  });
}

const FIELDS: Readonly<Record<keyof ToolSpec<ToolParameters, JsonValue>, true>> = {
  name: true,
  description: true,
  parameters: true,
  effect: true,
  retry: true,
  timeoutMs: true,
  queueTimeoutMs: true,
  delegationPolicy: true,
  afterExecution: true,
  errorMessageLimit: true,
  placement: true,
  target: true,
  args: true,
  envs: true,
  reconcile: true,
  handler: true,
};

type AnySpec = Omit<ToolSpec<ToolParameters, JsonValue | Promise<JsonValue>, string>, "handler">;

function nameParts(name: unknown): { readonly resource: string; readonly action: string } {
  if (!isToolName(name)) {
    throw new BadRequest(
      `a tool cannot be named ${JSON.stringify(name)?.slice(0, 100)}: use up to 64 letters, digits, _ and -, ` +
        "with one __ at most, between a resource and an export",
      { code: "invalid_name", details: { field: "name" } },
    );
  }
  const [resource = name, action = name] = name.split("__");
  if (isReservedToolName(name)) {
    throw new BadRequest(`a tool cannot be named ${name}: the name belongs to Tessera`, {
      code: "reserved_name",
      details: { field: "name", tool_name: name },
    });
  }
  return { resource, action };
}

function descriptionOf(spec: AnySpec): string {
  const description = spec.description ?? "";
  if (typeof description !== "string" || Buffer.byteLength(description) > DESCRIPTION_BYTES_MAX) {
    throw mistake(spec.name, "description", `must be text of at most ${DESCRIPTION_BYTES_MAX} bytes`);
  }
  return description;
}

function targetOf(spec: AnySpec, resource: string): string {
  if (spec.target === undefined) return resource;
  if (spec.placement !== "service" && spec.placement !== "edge") {
    throw mistake(spec.name, "target", `is for the placements service and edge, not ${spec.placement ?? "inline"}`);
  }
  return spec.target;
}

/** What runs in the worker waits for no executor, so its author would rely on nothing. */
function queueTimeoutOf({ name, placement, queueTimeoutMs }: AnySpec): number | undefined {
  const checked = checkNumber(name, "queueTimeoutMs", queueTimeoutMs, 1, TIMEOUT_MS_MAX);
  if (checked === undefined || placement === "service" || placement === "edge") return checked;
  throw mistake(name, "queueTimeoutMs", `is for the placements service and edge, not ${placement ?? "inline"}`);
}

function delegationOf({ name, delegationPolicy }: AnySpec): JsonObject | undefined {
  if (delegationPolicy === undefined) return undefined;
  const { targetTags, targetProfiles, ...others } = delegationPolicy;
  const policy = dropUndefined({ ...others, target_tags: targetTags, target_profiles: targetProfiles });
  const wrong = toolDelegationMistake(policy);
  if (wrong !== null) throw mistake(name, "delegationPolicy", wrong);
  return plainJson(name, "delegationPolicy", policy) as JsonObject;
}

function optionsOf(spec: AnySpec): ToolOptions {
  const { name, retry = {} } = spec;
  const max_attempts = checkNumber(name, "retry.maxAttempts", retry.maxAttempts, 1, ATTEMPTS_MAX_MAX);
  const backoff = checkNumber(name, "retry.backoffMs", retry.backoffMs, 0, BACKOFF_MS_MAX);
  checkArguments(name, { defaults: spec.args?.defaults, fixed: spec.args?.fixed, envs: spec.envs });
  if (spec.reconcile !== undefined && typeof spec.reconcile !== "function") {
    throw mistake(name, "reconcile", "must be a function");
  }
  return dropUndefined({
    args: spec.args && (plainJson(name, "args", spec.args) as NonNullable<ToolOptions["args"]>),
    envs: spec.envs && (plainJson(name, "envs", spec.envs) as Record<string, string>),
    effect: checkChoice(name, "effect", TOOL_EFFECTS, spec.effect),
    retry: spec.retry && dropUndefined({ max_attempts, backoff }),
    timeoutMs: checkNumber(name, "timeoutMs", spec.timeoutMs, 1, TIMEOUT_MS_MAX),
    queueTimeoutMs: queueTimeoutOf(spec),
    errorMessageLimit: checkNumber(name, "errorMessageLimit", spec.errorMessageLimit, 1, ERROR_MESSAGE_LIMIT_MAX),
    delegation_policy: delegationOf(spec),
    placement: checkPlacement(name, spec.placement), // T3
    reconcile: spec.reconcile && true,
  });
}

function mistake(name: string, field: string, expected: string): BadRequest {
  return new BadRequest(`${field} of tool ${name} ${expected}`, { details: { field, tool_name: name } });
}

type Defined<T> = { [K in keyof T]?: Exclude<T[K], undefined> };

function dropUndefined<T extends object>(object: T): Defined<T> {
  return Object.fromEntries(Object.entries(object).filter(([, value]) => value !== undefined)) as Defined<T>;
}

/** Plain objects and lists only (T2): a user's function stays as it is. The depth is bounded by the JSON gate. */
function deepFreeze<T>(value: T): T {
  if (typeof value !== "object" || value === null) return value;
  for (const member of Object.values(value)) deepFreeze(member);
  return Object.freeze(value);
}

/** T3: asking for isolation and getting none would be worse than being refused. */
function checkPlacement(name: string, given: ToolPlacement | undefined): ToolPlacement {
  const placement = checkChoice(name, "placement", TOOL_PLACEMENTS, given) ?? "inline";
  if (placement !== "isolated") return placement;
  const why =
    "cannot be isolated: a function cannot move to another process. Put the handler into a module and declare it as a Tool resource with an entry, or leave the placement out";
  throw mistake(name, "placement", why);
}
