// ajv, set up for untrusted schemas. Only schemas that `walkSchemas` accepted come here: their size, height
// and patterns are bounded, so compiling them is, too, and needs no process of its own.
//
//   S1. No code of a schema's author runs: patterns are RE2's, `$data` is off, formats are notes.
//   S2. References are called, not inlined: the code grows with the text of the schema, not with what it expands to.
//   S3. `const`, `enum` and `uniqueItems` are our own. ajv compares values pairwise and by prototype: a list of 80,000
//       objects would take minutes, and null-prototype objects, which the JSON gate makes, would never be equal.
//   S4. A compiler is thrown away after COMPILATIONS_MAX schemas, since ajv keeps parts of each one for ever.

import { isJsonObject, type JsonObject, type JsonValue } from "@tessera/protocol";
import { Ajv2020, type ErrorObject, type Options, type ValidateFunction } from "ajv/dist/2020.js";
import { compilePattern } from "./pattern.ts";

export type { ErrorObject as SchemaIssue } from "ajv/dist/2020.js";

const COMPILATIONS_MAX = 256;

export type Check = (value: JsonValue) => readonly ErrorObject[];

const OPTIONS: Options = {
  strict: true,
  // The rest of strict mode is lint: it refuses legal schemas, such as `anyOf: [{required: [a]}, {required: [b]}]`.
  strictTypes: false,
  strictTuples: false,
  strictRequired: false,
  allowUnionTypes: true,
  validateFormats: false, // S1
  inlineRefs: false, // S2
  addUsedSchema: false,
  verbose: true,
  messages: false,
  logger: false,
  // ajv wants the code of an engine only for standalone modules, which are never made here.
  code: { optimize: false, regExp: Object.assign((pattern: string) => compilePattern(pattern), { code: "" }) },
};

class Compiler {
  #ajv: Ajv2020 | null = null;
  #compilations = 0;
  readonly #options: Options;

  constructor(options: Options) {
    this.#options = options;
  }

  /** The check of a schema; throws ajv's own error when the schema breaks the meta-schema. */
  compile(schema: JsonObject): Check {
    if (this.#compilations++ % COMPILATIONS_MAX === 0) this.#ajv = newAjv(this.#options); // S4
    const ajv = this.#ajv as Ajv2020;
    if (ajv.validateSchema(schema) !== true) throw new SchemaRefused(ajv.errors?.[0] ?? null);
    try {
      const validate = ajv.compile(schema) as ValidateFunction;
      return (value) => (validate(value) ? NO_ISSUES : (validate.errors ?? NO_ISSUES));
    } finally {
      ajv.removeSchema(schema);
    }
  }
}

/** The schema breaks the meta-schema at `issue.instancePath`. */
export class SchemaRefused extends Error {
  override readonly name = "SchemaRefused";
  readonly issue: ErrorObject | null;

  constructor(issue: ErrorObject | null) {
    super("the schema breaks the meta-schema");
    this.issue = issue;
  }
}

const NO_ISSUES: readonly ErrorObject[] = [];
const firstIssue = new Compiler(OPTIONS);
const everyIssue = new Compiler({ ...OPTIONS, allErrors: true });

/** A check that stops at the first issue. */
export function compileCheck(schema: JsonObject): Check {
  return firstIssue.compile(schema);
}

/** A check that lists every issue: only for values that are small beside the schema (argument-check.ts says how small). */
export function compileFullCheck(schema: JsonObject): Check {
  return everyIssue.compile(schema);
}

function newAjv(options: Options): Ajv2020 {
  const ajv = new Ajv2020(options);
  for (const keyword of ["const", "enum", "uniqueItems"]) ajv.removeKeyword(keyword); // S3
  ajv.addKeyword({ keyword: "const", compile: (wanted: JsonValue) => isOneOf([wanted]), errors: false });
  ajv.addKeyword({ keyword: "enum", schemaType: "array", compile: isOneOf, errors: false });
  ajv.addKeyword({
    keyword: "uniqueItems",
    type: "array",
    schemaType: "boolean",
    compile: (isWanted: boolean) => (items: readonly JsonValue[]) =>
      !isWanted || new Set(items.map(canonical)).size === items.length,
    errors: false,
  });
  return ajv;
}

function isOneOf(wanted: readonly JsonValue[]): (value: JsonValue) => boolean {
  const scalars = new Set(wanted.filter((value) => !isContainer(value)));
  const containers = new Set(wanted.filter(isContainer).map(canonical));
  return (value) => {
    if (!isContainer(value)) return scalars.has(value);
    return containers.size > 0 && containers.has(canonical(value));
  };
}

function isContainer(value: JsonValue): boolean {
  return typeof value === "object" && value !== null;
}

/** Equal texts for equal JSON values, whatever the order of keys. Values passed the JSON gate, so they end. */
function canonical(value: JsonValue): string {
  return JSON.stringify(value, (_, part: JsonValue) => {
    if (!isJsonObject(part)) return part;
    const sorted: JsonObject = Object.create(null);
    for (const key of Object.keys(part).sort()) sorted[key] = part[key] as JsonValue;
    return sorted;
  });
}
