// The argument gate. At the agent's end it makes, from what a model sent, the arguments that the call's card keeps; at
// the executor's end it makes, from the card, what the handler is given.
//
//   G1. Fixed beats the model, the environment beats both; a default counts only for an argument that is absent. `null`
//       is a value.
//   G2. The agent's end knows names of environment variables, never values: the card and its metadata hold names.
//   G3. Nothing that came in is changed or shared.
//   G4. Arguments that do not fit are refused with `bad_request` and `detail.code` E_TOOL_INVALID_ARGS. Nothing else is
//       thrown for any JSON value, however strange.

import {
  ARGUMENTS_BYTES_MAX,
  type BadRequest,
  gateJson,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  TesseraError,
} from "@tessera/protocol";
import { renderTemplates, type TemplateVars } from "../catalog/template.ts";
import type { ToolDefinition } from "../definition.ts";
import { invalidArguments, requireFit, suggestionOf } from "./argument-check.ts";
import { type ArgumentPlan, argumentPlan } from "./argument-plan.ts";

export interface GatedArguments {
  readonly arguments: JsonObject;
  /** Keys of a `tool.call` card's metadata (docs/protocol/cards.md#metadata). */
  readonly metadata: JsonObject;
}

/** The agent's end. Throws the refusal (G4). */
export function gateArguments(definition: ToolDefinition, given: unknown, vars: TemplateVars): GatedArguments {
  const plan = argumentPlan(definition);
  const args = copyArguments(definition, plan, given);
  const metadata = provide(args, plan, vars);
  if (Object.keys(metadata).length > 0) requireSize(definition, plan, args);
  checkForAgent(definition, plan, args);
  return { arguments: args, metadata };
}

/** The executor's end: the handler's input, as plain objects. `envValues` by argument. Throws the refusal (G4). */
export function completeArguments(
  definition: ToolDefinition,
  cardArguments: unknown,
  envValues: Readonly<Record<string, string>>,
): JsonObject {
  const plan = argumentPlan(definition);
  const args = copyArguments(definition, plan, cardArguments);
  for (const [name] of plan.envs) {
    const value = Object.hasOwn(envValues, name) ? envValues[name] : undefined;
    if (value === undefined) delete args[name];
    else args[name] = value; // G1
  }
  requireFit(plan.executorCheck, args, definition.tool_name, plan);
  // Handlers were written for ordinary objects, which is what those in a child process get too. The JSON gate refused
  // `__proto__`, so no key of these can be more than a key.
  return plainCopy(args);
}

/** A copy of arguments that passed the gate, made of ordinary objects. */
export function plainCopy(args: JsonObject): JsonObject {
  return ordinary(args) as JsonObject;
}

/** As deep as the gate lets a value be. */
function ordinary(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return value.map(ordinary);
  if (!isJsonObject(value)) return value;
  const object: JsonObject = {};
  for (const name of Object.keys(value)) object[name] = ordinary(value[name] as JsonValue);
  return object;
}

function copyArguments(definition: ToolDefinition, plan: ArgumentPlan, given: unknown): JsonObject {
  if (!isJsonObject(given)) throw refuse(definition, plan, "the arguments must be one JSON object");
  try {
    return gateJson(given, { bytesMax: ARGUMENTS_BYTES_MAX }) as JsonObject; // G3
  } catch (error) {
    throw TesseraError.is(error) ? refuse(definition, plan, error.message) : error;
  }
}

/** Adds and removes what is not the model's to decide, and answers which arguments that were. */
function provide(args: JsonObject, plan: ArgumentPlan, vars: TemplateVars): JsonObject {
  const metadata: JsonObject = {};
  const defaults = plan.defaults.filter(([name, value]) => !(name in args) && set(args, name, value, vars));
  const fixed = plan.fixed.filter(([name, value]) => {
    delete args[name]; // also where the template comes to nothing: the model does not decide about it (G1)
    return set(args, name, value, vars);
  });
  for (const [name] of plan.envs) delete args[name]; // G2
  if (defaults.length > 0) metadata.tool_args_defaults_applied = defaults.map(([name]) => name);
  if (fixed.length > 0) metadata.tool_args_fixed_applied = fixed.map(([name]) => name);
  if (plan.envs.length > 0) metadata.tool_args_envs = Object.fromEntries(plan.envs);
  return metadata;
}

function set(args: JsonObject, name: string, value: JsonValue, vars: TemplateVars): boolean {
  const rendered = renderTemplates(value, vars);
  if (rendered === undefined) return false;
  args[name] = rendered;
  return true;
}

function requireSize(definition: ToolDefinition, plan: ArgumentPlan, args: JsonObject): void {
  if (Buffer.byteLength(JSON.stringify(args)) <= ARGUMENTS_BYTES_MAX) return;
  throw refuse(definition, plan, `the arguments are larger than ${ARGUMENTS_BYTES_MAX} bytes`);
}

/** Environment arguments stand in as present, and their schema is open there, so that nothing that asks for them fails. */
function checkForAgent(definition: ToolDefinition, plan: ArgumentPlan, args: JsonObject): void {
  for (const [name] of plan.envs) args[name] = "";
  requireFit(plan.agentCheck, args, definition.tool_name, plan);
  for (const [name] of plan.envs) delete args[name];
}

function refuse(definition: ToolDefinition, plan: ArgumentPlan, issue: string): BadRequest {
  return invalidArguments(definition.tool_name, [issue], suggestionOf(plan.agentCheck.schema, plan));
}
