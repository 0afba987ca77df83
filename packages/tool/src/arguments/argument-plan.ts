// A definition's options, read once: which arguments come from where, and the checks for both ends of a call.
//
//   L1. What a definition provides itself needs no place in its `parameters`: CommonGround tools often hide an argument by
//       not declaring it. Such an argument is allowed even where `additionalProperties` is false.
//   L2. At the agent's end the value of an environment argument is not known. There it may be anything.
//   L3. A check is compiled when it is first asked for. A process knows the tools of all projects that it works for, and
//       compiling them all at once would hold up everything else; the first call of one is held up by its own.

import { isJsonObject, type JsonObject, type JsonValue } from "@tessera/protocol";
import type { ToolDefinition } from "../definition.ts";
import { type ArgumentCheck, compileParameters } from "./argument-check.ts";
import { topLevelDefaults } from "./check-parameters.ts";

type Values = readonly (readonly [name: string, value: JsonValue])[];

export interface ArgumentPlan {
  /** Of the options, then of the schema; an argument appears once. */
  readonly defaults: Values;
  readonly fixed: Values;
  readonly envs: readonly (readonly [name: string, variable: string])[];
  /** Arguments that the model does not know of: fixed and envs. */
  readonly hidden: ReadonlySet<string>;
  readonly agentCheck: ArgumentCheck;
  readonly executorCheck: ArgumentCheck;
}

/** The parts of a definition that decide about arguments. */
export type ArgumentSource = Pick<ToolDefinition, "parameters" | "options">;

const plans = new WeakMap<ArgumentSource, ArgumentPlan>();

export function argumentPlan(definition: ArgumentSource): ArgumentPlan {
  const known = plans.get(definition);
  if (known !== undefined) return known;
  const plan = newPlan(definition);
  plans.set(definition, plan);
  return plan;
}

/** Both checks at once, where a definition is judged (L3). */
export function compilePlan(definition: ArgumentSource): readonly ArgumentCheck[] {
  const { agentCheck, executorCheck } = argumentPlan(definition);
  return [agentCheck, executorCheck];
}

function newPlan({ parameters, options }: ArgumentSource): ArgumentPlan {
  const ownDefaults = Object.entries(options.args?.defaults ?? {});
  const fixed = Object.entries(options.args?.fixed ?? {});
  const envs = Object.entries(options.envs ?? {});
  const hidden = new Set([...fixed, ...envs].map(([name]) => name));
  const taken = new Set([...hidden, ...ownDefaults.map(([name]) => name)]);
  const provided = [...taken];
  const unknown = new Set(envs.map(([name]) => name));
  let agentCheck: ArgumentCheck | null = null;
  let executorCheck: ArgumentCheck | null = null;
  return {
    defaults: [...ownDefaults, ...topLevelDefaults(parameters).filter(([name]) => !taken.has(name))],
    fixed,
    envs,
    hidden,
    get agentCheck() {
      agentCheck ??= compileParameters(accepting(parameters, provided, unknown));
      return agentCheck;
    },
    get executorCheck() {
      executorCheck ??= compileParameters(accepting(parameters, provided, new Set()));
      return executorCheck;
    },
  };
}

/** The schema with a place for every provided argument (L1), in which those of `unknown` may hold anything (L2). */
function accepting(schema: JsonObject, provided: readonly string[], unknown: ReadonlySet<string>): JsonObject {
  const declared = isJsonObject(schema.properties) ? schema.properties : {};
  const opened = provided.filter((name) => unknown.has(name) || !Object.hasOwn(declared, name));
  if (opened.length === 0) return schema;
  const properties: JsonObject = Object.assign(Object.create(null), declared);
  for (const name of opened) properties[name] = {};
  return { type: "object", ...schema, properties };
}
