// What is wrong with arguments, in sentences that a model can act on: where, what was found, what was expected.
//
//   I1. At most ISSUES_LISTED_MAX sentences of bounded length, then how many more there are.
//   I2. The value of a hidden argument is never quoted: it may be a secret of the executor.

import type { JsonValue } from "@tessera/protocol";
import type { SchemaIssue } from "./schema-compiler.ts";

const ISSUES_LISTED_MAX = 5;
const TEXT_CHARS_MAX = 160;
const VALUE_CHARS_MAX = 40;

export interface IssueOptions {
  /** Arguments that the model does not know: neither their values nor their names help it. */
  readonly hidden?: ReadonlySet<string>;
}

/** Keywords whose branches were reported before them: the branch that failed last is not the one that was meant. */
const COMBINING: ReadonlySet<string> = new Set(["anyOf", "oneOf", "if", "propertyNames", "contains"]);

export function describeIssues(issues: readonly SchemaIssue[], options: IssueOptions): readonly string[] {
  const sentences = [...new Set(withoutBranches(issues).map((issue) => cut(describe(issue, options), TEXT_CHARS_MAX)))];
  const more = sentences.length - ISSUES_LISTED_MAX;
  return more > 0 ? [...sentences.slice(0, ISSUES_LISTED_MAX), `+${more} more issues`] : sentences; // I1
}

function withoutBranches(issues: readonly SchemaIssue[]): readonly SchemaIssue[] {
  const kept: SchemaIssue[] = [];
  for (const issue of issues) {
    if (COMBINING.has(issue.keyword)) {
      while (kept.length > 0 && isBranchOf(kept.at(-1) as SchemaIssue, issue)) kept.pop();
    }
    kept.push(issue);
  }
  return kept;
}

function isBranchOf(issue: SchemaIssue, whole: SchemaIssue): boolean {
  if (!issue.instancePath.startsWith(whole.instancePath)) return false;
  // A branch that is a reference reports the place it refers to.
  return issue.schemaPath.startsWith(`${whole.schemaPath}/`) || /^#\/(?:\$defs|definitions)\//.test(issue.schemaPath);
}

function describe(issue: SchemaIssue, { hidden }: IssueOptions): string {
  const top = issue.instancePath.split("/")[1]?.replaceAll("~1", "/").replaceAll("~0", "~");
  if (top !== undefined && hidden?.has(top)) return "an argument that the executor provides does not fit its schema"; // I2
  const where = issue.instancePath === "" ? "" : `${cut(issue.instancePath, 80)} `;
  const inside = where === "" ? "" : ` in ${where.trimEnd()}`;
  const params = issue.params as Readonly<Record<string, unknown>>;
  switch (issue.keyword) {
    case "required":
    case "dependentRequired":
      return `${quote(params.missingProperty)} is required${inside}`;
    case "additionalProperties":
    case "unevaluatedProperties":
      return `${quote(params.additionalProperty ?? params.unevaluatedProperty)} is not allowed${inside}`;
    case "propertyNames":
      return `${quote(params.propertyName)} is not an allowed name${inside}`;
    default:
      return `${where === "" ? "the arguments " : where}${expected(issue, params)}${found(issue.data as JsonValue)}`;
  }
}

function expected({ keyword, schema }: SchemaIssue, params: Readonly<Record<string, unknown>>): string {
  switch (keyword) {
    case "type":
      return `must be of type ${typeNames(schema)}`;
    case "enum":
      return `must be one of ${listed(schema as readonly JsonValue[])}`;
    case "const":
      return `must be ${quote(schema)}`;
    case "minimum":
    case "maximum":
    case "exclusiveMinimum":
    case "exclusiveMaximum":
      return `must be ${String(params.comparison)} ${String(params.limit)}`;
    case "multipleOf":
      return `must be a multiple of ${String(params.multipleOf)}`;
    case "minLength":
    case "maxLength":
      return `must have ${keyword === "minLength" ? "at least" : "at most"} ${String(params.limit)} characters`;
    case "minItems":
    case "maxItems":
      return `must have ${keyword === "minItems" ? "at least" : "at most"} ${String(params.limit)} items`;
    case "minProperties":
    case "maxProperties":
      return `must have ${keyword === "minProperties" ? "at least" : "at most"} ${String(params.limit)} entries`;
    case "uniqueItems":
      return "must not hold the same item twice";
    case "pattern":
      return `must match the pattern ${cut(String(params.pattern), 80)}`;
    case "anyOf":
    case "oneOf":
      return alternatives(schema);
    case "false schema":
      return "is not allowed here";
    default:
      return `does not fit "${keyword}" of its schema`;
  }
}

/** Types of the alternatives where each is given by one, else only that there are some. */
function alternatives(schema: unknown): string {
  const branches = Array.isArray(schema) ? (schema as readonly (JsonValue | undefined)[]) : [];
  const types = branches.map((branch) => (branch as { readonly type?: unknown } | null)?.type);
  return types.every((type) => typeof type === "string")
    ? `must be of type ${typeNames([...new Set(types)])} and fit its schema`
    : "fits none, or more than one, of the allowed forms";
}

function typeNames(schema: unknown): string {
  return Array.isArray(schema) ? schema.join(" or ") : String(schema);
}

function found(value: JsonValue): string {
  if (Array.isArray(value)) return `; found an array of ${value.length}`;
  if (typeof value === "object" && value !== null) return "; found an object";
  return `; found ${quote(value)}`;
}

function listed(values: readonly JsonValue[]): string {
  const shown = values.slice(0, 10).map(quote).join(", ");
  return values.length > 10 ? `${shown} and ${values.length - 10} more` : shown;
}

function quote(value: unknown): string {
  return cut(JSON.stringify(value) ?? "nothing", VALUE_CHARS_MAX);
}

function cut(text: string, limit: number): string {
  return text.length <= limit ? text : `${text.slice(0, limit - 1).toWellFormed()}…`;
}
