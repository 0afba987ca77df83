// Arguments against a tool's parameters: compiled once, applied to every call.
//
//   A1. A schema is checked in full before it is compiled, and compiled once for every object and every text of it.
//   A2. The work of one check is bounded before it starts: what a schema costs for one value times how many values there
//       are. A schema of a thousand alternatives against a hundred thousand items is refused, not tried.
//   A3. The first issue decides. All of them are listed only where schema and arguments together are so small that the
//       list is, too; that is why `allErrors`, which unbounded input forbids, may be used there.
//   A4. Arguments are neither kept nor changed.

import { BadRequest, isJsonObject, type JsonObject, type JsonValue } from "@tessera/protocol";
import { describeIssues, type IssueOptions } from "./argument-issues.ts";
import { type CheckedParameters, copyParameters, readParameters } from "./check-parameters.ts";
import { type Check, compileFullCheck, type SchemaIssue } from "./schema-compiler.ts";

/** Elementary steps of one check: about half a second of RE2, its slowest part. */
const WORK_MAX = 20_000_000;
/** Steps below which every issue is looked for: at most this many can be found. */
const FULL_WORK_MAX = 200_000;
const CHECKS_KEPT_MAX = 512;
const NAMES_LISTED_MAX = 30;

export interface ArgumentCheck {
  /** The schema as it was compiled. Not to be changed. */
  readonly schema: JsonObject;
  /** What is wrong, as sentences; empty when the arguments fit. */
  issues(args: JsonObject, options?: IssueOptions): readonly string[];
}

const byObject = new WeakMap<object, ArgumentCheck>();
const byText = new Map<string, ArgumentCheck>();

/** The check of a tool's parameters. Refuses what `checkParameters` refuses. */
export function compileParameters(parameters: JsonObject): ArgumentCheck {
  const known = byObject.get(parameters);
  if (known !== undefined) return known;
  const text = JSON.stringify(copyParameters(parameters));
  const check = byText.get(text) ?? newCheck(readParameters(parameters));
  // Deleting first makes the map's order the order of use; the oldest goes when it is full.
  byText.delete(text);
  byText.set(text, check);
  if (byText.size > CHECKS_KEPT_MAX) byText.delete(byText.keys().next().value as string);
  byObject.set(parameters, check);
  return check;
}

/** Refuses arguments that do not fit with `bad_request`, in words that a model can act on. */
export function requireFit(check: ArgumentCheck, args: JsonObject, toolName: string, options: IssueOptions = {}): void {
  const issues = check.issues(args, options);
  if (issues.length > 0) throw invalidArguments(toolName, issues, suggestionOf(check.schema, options));
}

/** The refusal of arguments, as a result carries it (docs/protocol/tool-api.md#errors). */
export function invalidArguments(toolName: string, issues: readonly string[], suggestion: string): BadRequest {
  return new BadRequest(`the arguments of ${toolName} are not valid: ${issues.join("; ")}`, {
    details: { code: "E_TOOL_INVALID_ARGS", suggestion },
  });
}

/** Names the arguments that there are. */
export function suggestionOf(schema: JsonObject, { hidden }: IssueOptions = {}): string {
  const isShown = (name: JsonValue) => typeof name === "string" && hidden?.has(name) !== true;
  const required = Array.isArray(schema.required) ? schema.required.filter(isShown) : [];
  const allowed = isJsonObject(schema.properties) ? Object.keys(schema.properties).filter(isShown) : [];
  if (allowed.length === 0 && required.length === 0) return "Send one JSON object.";
  return `Send one JSON object. Required: ${listed(required)}. Allowed: ${listed(allowed)}.`;
}

function listed(names: readonly JsonValue[]): string {
  if (names.length === 0) return "none";
  const more = names.length - NAMES_LISTED_MAX;
  return names.slice(0, NAMES_LISTED_MAX).join(", ") + (more > 0 ? ` and ${more} more` : "");
}

function newCheck({ schema, weight, textWeight, check }: CheckedParameters): ArgumentCheck {
  let fullCheck: Check | null = null;
  return {
    schema,
    issues(args, options = {}) {
      const work = weight <= WEIGHT_FREE && textWeight <= TEXT_WEIGHT_FREE ? 0 : workOf(args, weight, textWeight);
      if (work > WORK_MAX) return ["the arguments are too large for so many rules; send less"]; // A2
      const first = check(args);
      if (first.length === 0) return [];
      return describeIssues(listIssues(args, first), options);
    },
  };

  /** A3 */
  function listIssues(args: JsonObject, first: readonly SchemaIssue[]): readonly SchemaIssue[] {
    if (workOf(args, weight, 0) > FULL_WORK_MAX) return first;
    fullCheck ??= compileFullCheck(schema);
    const all = fullCheck(args);
    return all.length > 0 ? all : first;
  }
}

// Arguments hold at most 2^18 bytes and thus 2^17 values, so these weights cannot exceed the work that is allowed.
const WEIGHT_FREE = WORK_MAX / 2 ** 18;
const TEXT_WEIGHT_FREE = WORK_MAX / 2 ** 19;

function workOf(args: JsonObject, weight: number, textWeight: number): number {
  let values = 0;
  let characters = 0;
  const open: JsonValue[] = [args];
  for (let value = open.pop(); value !== undefined; value = open.pop()) {
    values++;
    if (typeof value === "string") characters += value.length;
    else if (Array.isArray(value)) for (const item of value) open.push(item);
    else if (isJsonObject(value)) {
      for (const [name, item] of Object.entries(value)) {
        characters += name.length;
        open.push(item);
      }
    }
  }
  return values * weight + characters * textWeight;
}
