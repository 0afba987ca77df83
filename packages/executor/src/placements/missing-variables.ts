// What is said when an isolated tool reads a variable of the environment that it does not see: which line of its resource
// hands it over (write-a-tool.md, "Secrets").
//
//   M1. Said to the operator's log once for a tool's resource and variable, as progress once for a call, and with the error
//       of a call that failed. A tool that finds its way without the variable is not disturbed.
//   M2. A tool may read whatever it likes: after VARIABLES_MAX names of one call nothing more is said.

import { type ToolDefinition, toolPolicy } from "@tessera/tool";
import { isEnvAllowed, isEnvName } from "@tessera/tool/catalog";

const VARIABLES_MAX = 16;
/** Resources and variables that were reported; a host that has seen more begins anew. */
const TOLD_MAX = 1_000;

export interface MissingVariables {
  /** Takes note of one; what to say now, or null. */
  read(name: string): { readonly text: string; readonly isNew: boolean } | null;
  /** For the error of the call; null when none was read. */
  suggestion(): string | null;
}

/** `told` remembers what the host has logged. */
export function createMissingVariables(definition: ToolDefinition, told: Set<string>): MissingVariables {
  const names = new Set<string>();
  const { resource } = toolPolicy(definition);
  return {
    read(name) {
      if (names.has(name) || names.size >= VARIABLES_MAX || !isEnvName(name)) return null; // M2
      names.add(name);
      const key = `${resource} ${name}`;
      const isNew = !told.has(key);
      if (told.size >= TOLD_MAX) told.clear();
      told.add(key);
      return {
        text: `read the environment variable ${name}, which isolated tools do not see; ${grantOf(definition, name)}`,
        isNew,
      };
    },
    suggestion() {
      const [first, ...others] = names;
      if (first === undefined) return null;
      const more = others.length === 0 ? "" : ` (also read: ${others.join(", ")})`;
      return `The tool read the environment variable ${first}, which isolated tools do not see${more}. The operator: ${grantOf(definition, first)}.`;
    },
  };
}

function grantOf(definition: ToolDefinition, name: string): string {
  const { envs } = definition.options;
  const argument = Object.entries(envs ?? {}).find(([, variable]) => variable === name)?.[0];
  if (argument !== undefined) return `its value is handed over as the argument ${argument}`;
  if (!isEnvAllowed(name)) return "no tool may be given it";
  const { resource } = toolPolicy(definition);
  return `to hand it over as an argument, write \`envs: { <argument>: ${name} }\` in the spec of Tool/${resource}`;
}
