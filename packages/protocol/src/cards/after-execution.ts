// after_execution: what the agent does when a call's result is in. `suspend` goes on with the next step, `terminate`
// ends the turn.
//
//   A1. One rule everywhere, on write and on read: a valid `__cg_control` in the result, else the explicit value, else
//       the tool's definition, else the command, else `suspend`.
//   A2. `__cg_control` counts only at the top level of the result. Deeper it is data.
//   A3. Third parties do not steer agents: their bodies lose the key before they become a result.

import { isJsonObject } from "../json/json-value.ts";

export const AFTER_EXECUTIONS = ["suspend", "terminate"] as const;
export type AfterExecution = (typeof AFTER_EXECUTIONS)[number];
export const AFTER_EXECUTION_DEFAULT: AfterExecution = "suspend";

/** The key by which a tool's own code overrides its definition. */
export const CG_CONTROL_KEY = "__cg_control";

export function isAfterExecution(value: unknown): value is AfterExecution {
  return value === "suspend" || value === "terminate";
}

export type CgControl =
  | { readonly kind: "absent" }
  | { readonly kind: "valid"; readonly after_execution: AfterExecution }
  | { readonly kind: "invalid" };

/** Reads the override of a result. A control object that sets nothing is the same as none. */
export function readCgControl(result: unknown): CgControl {
  if (!isJsonObject(result) || !Object.hasOwn(result, CG_CONTROL_KEY)) return { kind: "absent" };
  const control: unknown = result[CG_CONTROL_KEY];
  if (!isJsonObject(control)) return { kind: "invalid" };
  if (!Object.hasOwn(control, "after_execution")) return { kind: "absent" };
  const value: unknown = control.after_execution;
  return isAfterExecution(value) ? { kind: "valid", after_execution: value } : { kind: "invalid" };
}

export interface AfterExecutionSources {
  readonly result?: unknown;
  readonly explicit?: unknown;
  readonly definition?: unknown;
  readonly command?: unknown;
}

/** The value that counts (A1). Values that are not valid are passed over. */
export function effectiveAfterExecution(sources: AfterExecutionSources): AfterExecution {
  const control = readCgControl(sources.result);
  if (control.kind === "valid") return control.after_execution;
  const candidates = [sources.explicit, sources.definition, sources.command];
  return candidates.find(isAfterExecution) ?? AFTER_EXECUTION_DEFAULT;
}

/** A body from a third party, without the control key (A3). Other values are returned as they are. */
export function stripCgControl<T>(body: T): T {
  if (!isJsonObject(body) || !Object.hasOwn(body, CG_CONTROL_KEY)) return body;
  const { [CG_CONTROL_KEY]: _, ...rest } = body;
  return Object.assign(Object.create(Object.getPrototypeOf(body)), rest) as T;
}
