// Where the values of `options.envs` come from. They are read here, in the executor, and nowhere else.
//
//   V1. The service's own configuration first; then the environment.
//   V2. A name that is always refused, or not on the operator's list, is refused here too: the definition was pinned
//       elsewhere, maybe before the list was made.
//   V3. A value that is missing or empty leaves the argument out, with a warning that names the variable, never a value.

import type { ToolDefinition } from "@tessera/tool";
import { isEnvAllowed } from "@tessera/tool/catalog";

export interface ToolEnvironment {
  /** Variable → value, from the service's configuration. */
  readonly service?: Readonly<Record<string, string>>;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Variables a tool may ask for; without a list every one that is not always refused. */
  readonly allowList?: readonly string[] | undefined;
}

export interface EnvValues {
  /** Argument → value. */
  readonly values: Readonly<Record<string, string>>;
  readonly warnings: readonly string[];
}

const NOTHING_ASKED: EnvValues = { values: Object.freeze(Object.create(null)), warnings: Object.freeze([]) };

export function resolveEnvs(definition: ToolDefinition, environment: ToolEnvironment): EnvValues {
  if (definition.options.envs === undefined) return NOTHING_ASKED;
  const values: Record<string, string> = Object.create(null);
  const warnings: string[] = [];
  for (const [argument, variable] of Object.entries(definition.options.envs)) {
    if (!isEnvAllowed(variable, environment.allowList)) {
      warnings.push(`${definition.tool_name}: the variable for ${argument} may not be read by a tool`); // V2
      continue;
    }
    const value = own(environment.service, variable) || own(environment.env, variable); // V1
    if (value === undefined || value === "") {
      warnings.push(`${definition.tool_name}: ${variable} is not set; the argument ${argument} is left out`); // V3
      continue;
    }
    values[argument] = value;
  }
  return { values, warnings };
}

function own(record: Readonly<Record<string, string | undefined>> | undefined, name: string): string | undefined {
  return record !== undefined && Object.hasOwn(record, name) ? record[name] : undefined;
}
