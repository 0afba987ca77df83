// Which arguments of a call go to a provider, and as what.
//
//   G1. An argument that comes from the environment (`options.envs`, or the service's configuration) is never sent, not
//       in a URL, not in a body. A secret reaches a provider in the header that the definition names for it, or not at all.
//   G2. `session_id` is an alias that an agent chose: what is sent is scoped by project and agent, so that two agents with
//       the same alias share nothing.

import { BadRequest, isJsonObject, type JsonObject, type JsonValue, parseTargetSubject } from "@tessera/protocol";
import { sessionKey, type ToolDefinition, type ToolInvocation } from "@tessera/tool";
import type { CredentialSource } from "./credentials.ts";

export const SESSION_ARGUMENT = "session_id";

/** One call of a definition's tool: all that its request is made from. */
export interface DefinitionCall {
  readonly definition: ToolDefinition;
  readonly invocation: ToolInvocation;
  /** After the gate, values from the environment put in. */
  readonly input: JsonObject;
  /** The credentials of its requests (credentials.ts). */
  readonly credential: CredentialSource;
  /** Argument → variable, as `argumentVariables` says. */
  readonly variables: Readonly<Record<string, string>>;
  readonly onWarning: (warning: string) => void;
}

/**
 * The environment variable of each argument: the definition's, overridden by the service's configuration in this order:
 * `openapi.envs`, `tools.openapi.envs`, `tools.openapi.services.X.envs`, `tools.openapi_services.X.envs`,
 * `tools.jina.envs`, `tools.jina.services.X.envs`, where X is the target of the tool's subject.
 */
export function argumentVariables(definition: ToolDefinition, service: JsonObject = {}): Record<string, string> {
  const target = parseTargetSubject(definition.target_subject).target;
  const places = [
    ["openapi"],
    ["tools", "openapi"],
    ["tools", "openapi", "services", target],
    ["tools", "openapi_services", target],
    ["tools", "jina"],
    ["tools", "jina", "services", target],
  ];
  const variables: Record<string, string> = Object.create(null);
  for (const map of [definition.options.envs, ...places.map((place) => lookUp(service, [...place, "envs"]))]) {
    for (const [argument, variable] of Object.entries(isJsonObject(map) ? map : {})) {
      if (typeof variable === "string" && variable !== "") variables[argument] = variable;
    }
  }
  return variables;
}

export interface SplitArguments {
  readonly sendable: JsonObject;
  /** Values that the executor put in: to be masked wherever they come back. */
  readonly secrets: string[];
}

/** Takes out what may not be sent (G1). */
export function splitArguments(input: JsonObject, variables: Readonly<Record<string, string>>): SplitArguments {
  const sendable: JsonObject = Object.create(null);
  const secrets: string[] = [];
  for (const [name, value] of Object.entries(input)) {
    if (!Object.hasOwn(variables, name)) sendable[name] = value;
    else if (typeof value === "string") secrets.push(value);
  }
  return { sendable, secrets };
}

/** The arguments with the session's alias replaced by its real identity (G2). */
export function scopeSession(args: JsonObject, invocation: ToolInvocation): JsonObject {
  const alias = args[SESSION_ARGUMENT];
  if (alias === undefined || alias === null) return args;
  if (typeof alias !== "string") throw new BadRequest(`${SESSION_ARGUMENT} must be a string`);
  return Object.assign(Object.create(null), args, { [SESSION_ARGUMENT]: sessionKey(invocation, alias) });
}

function lookUp(from: JsonObject, path: readonly string[]): JsonValue | undefined {
  let value: JsonValue | undefined = from;
  for (const key of path) value = isJsonObject(value) && Object.hasOwn(value, key) ? value[key] : undefined;
  return value;
}
