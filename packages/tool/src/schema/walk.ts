// The shape of a parameter schema: every place where a schema stands, found by iteration, and what it costs to apply.
//
//   W1. The keywords below are the whole language. A keyword that is not listed is refused, never skipped: a constraint
//       that nobody checks is worse than none.
//   W2. `$ref` stays inside the document, names a schema in it, and closes no circle.
//   W3. References are followed for size and height, because fifty lines can refer to each other 2^50 times over.
//   W4. What compiling costs is counted while walking, before anything is compiled, and the walk ends where it is too much.

import { errorOf, isJsonObject, type JsonObject, type JsonValue, type TesseraError } from "@tessera/protocol";

/** What compiling one document may cost, in steps of about 25 µs: at most this is spent where calls are made, on the loop that
 *  serves everything else. A schema and each of its keywords is one; so are two names that another argument requires, since
 *  a line of code is written for each; a pattern is compiled as well. */
const COMPILE_STEPS_MAX = 2_000;
const PATTERN_STEPS = 2;
/** ajv goes through longer lists in a loop. */
const NAMES_WRITTEN_MAX = 200;
/** Keywords and their values applied to one argument at most, references followed. */
const SCHEMA_WEIGHT_MAX = 50_000;
/** Schemas in one document. 500 compile in 0.2 s at worst; ajv's time grows faster than their number. */
const SCHEMAS_MAX = 500;
/** Schemas inside each other, references followed: the compiler and its code recurse this deep. */
const SCHEMA_HEIGHT_MAX = 64;

type Holds = "schema" | "schemas" | "map" | "value";

const KEYWORDS: ReadonlyMap<string, Holds> = new Map<string, Holds>([
  ...named("schema", "items contains additionalProperties propertyNames unevaluatedProperties unevaluatedItems"),
  ...named("schema", "not if then else"),
  ...named("schemas", "prefixItems allOf anyOf oneOf"),
  ...named("map", "properties patternProperties dependentSchemas $defs definitions"),
  ...named("value", "$ref $schema $comment type enum const default title description examples format"),
  ...named("value", "multipleOf maximum exclusiveMaximum minimum exclusiveMinimum maxLength minLength pattern"),
  ...named("value", "maxItems minItems uniqueItems maxContains minContains maxProperties minProperties"),
  ...named("value", "required dependentRequired deprecated readOnly writeOnly contentEncoding contentMediaType"),
]);

function named(holds: Holds, keywords: string): readonly (readonly [string, Holds])[] {
  return keywords.split(" ").map((keyword) => [keyword, holds] as const);
}

/** What the value of a keyword holds; undefined for what is no keyword. */
export function holdsOf(keyword: string): Holds | undefined {
  return KEYWORDS.get(keyword);
}

/** Places that only a reference applies. */
const STORES: ReadonlySet<string> = new Set(["$defs", "definitions"]);
const POINTER_CHARS_MAX = 200;
const REF_ROOTS = /^#\/(?:\$defs|definitions|properties)\/./;

/** One schema of the document. */
export interface SchemaNode {
  readonly pointer: string;
  readonly schema: JsonObject;
  /** Schemas that are applied whenever this one is, references included. */
  readonly applied: SchemaNode[];
  /** Keywords and listed values, here and below. */
  weight: number;
  /** Work for each character of a string, here and below: pattern instructions, length limits. */
  textWeight: number;
  height: number;
}

/** Visits every schema of the document, outer before inner, and measures them. Refuses what is not a schema. `at` says
 *  where the document stands; `visit` may refuse as well, and answers what the schema itself costs for each character. */
export function walkSchemas(root: JsonObject, at: string, visit: (node: SchemaNode) => number): SchemaNode {
  const first = newNode(root, "");
  const nodes = [first];
  const byPointer = new Map([["", first]]);
  let count = 0;
  let steps = 0;
  for (let index = 0; index < nodes.length; index++) {
    const node = nodes[index] as SchemaNode;
    steps += compileSteps(node.schema);
    if (steps > COMPILE_STEPS_MAX) {
      throw schemaInvalid(
        at,
        `holds too many keywords, names and patterns: more than ${COMPILE_STEPS_MAX} steps to compile`,
      ); // W4
    }
    node.textWeight = visit(node);
    for (const [keyword, value] of Object.entries(node.schema)) {
      for (const { path, schema } of subschemas(node, keyword, value, at)) {
        if (++count > SCHEMAS_MAX) throw schemaInvalid(at, `holds more than ${SCHEMAS_MAX} schemas`);
        if (typeof schema === "boolean") continue;
        const pointer = node.pointer + path;
        if (!isJsonObject(schema)) throw schemaInvalid(at + pointer, "must be a schema: an object, true or false");
        const child = newNode(schema, pointer);
        nodes.push(child);
        byPointer.set(pointer, child);
        if (!STORES.has(keyword)) node.applied.push(child);
      }
    }
  }
  for (const node of nodes) linkReference(node, byPointer, at);
  measure(nodes, at);
  return first;
}

export function schemaInvalid(pointer: string, message: string, cause?: unknown): TesseraError {
  const place =
    pointer.length <= POINTER_CHARS_MAX ? pointer : `${pointer.slice(0, POINTER_CHARS_MAX).toWellFormed()}…`;
  return errorOf("schema_invalid", `${place === "" ? "the schema" : place} ${message}`, {
    details: { pointer: place },
    ...(cause === undefined ? {} : { cause }),
  });
}

/** One step of a pointer. Never cut: references are found by comparing pointers. */
export function segment(name: string): string {
  return `/${name.replaceAll("~", "~0").replaceAll("/", "~1")}`;
}

function newNode(schema: JsonObject, pointer: string): SchemaNode {
  return { pointer, schema, applied: [], weight: 0, textWeight: 0, height: 0 };
}

function subschemas(
  node: SchemaNode,
  keyword: string,
  value: JsonValue,
  at: string,
): readonly { readonly path: string; readonly schema: JsonValue }[] {
  const here = segment(keyword);
  switch (KEYWORDS.get(keyword)) {
    case "value":
      if (keyword === "dependentRequired" && isJsonObject(value) && Object.keys(value).length > SCHEMAS_MAX) {
        throw schemaInvalid(at + node.pointer + here, `holds more than ${SCHEMAS_MAX} entries`);
      }
      return [];
    case "schema":
      return [{ path: here, schema: value }];
    case "schemas":
      if (!Array.isArray(value)) throw schemaInvalid(at + node.pointer + here, "must be a list of schemas");
      return value.map((schema, index) => ({ path: `${here}/${index}`, schema }));
    case "map":
      if (!isJsonObject(value)) throw schemaInvalid(at + node.pointer + here, "must be an object of schemas");
      return Object.entries(value).map(([name, schema]) => ({ path: here + segment(name), schema }));
    default:
      throw schemaInvalid(at + node.pointer + here, "is not a keyword that tool parameters may use"); // W1
  }
}

function linkReference(node: SchemaNode, byPointer: ReadonlyMap<string, SchemaNode>, at: string): void {
  const reference = node.schema.$ref;
  if (reference === undefined) return;
  const place = `${at}${node.pointer}/$ref`;
  // W2. `#` alone would be the document inside itself.
  if (typeof reference !== "string" || !REF_ROOTS.test(reference)) {
    throw schemaInvalid(place, "must point into $defs, definitions or properties of this schema");
  }
  const pointer = decodeFragment(reference.slice(1));
  const target = pointer === null ? undefined : byPointer.get(pointer);
  if (target === undefined) throw schemaInvalid(place, "names no schema of this document");
  node.applied.push(target);
}

/** The JSON pointer of a fragment, as `segment` writes it; null when its escapes are broken. */
function decodeFragment(fragment: string): string | null {
  try {
    return decodeURIComponent(fragment);
  } catch {
    return null;
  }
}

/** W3. Inner before outer over a graph without circles: each node is measured once, however often it is reached. */
function measure(nodes: readonly SchemaNode[], at: string): void {
  const open = new Set<SchemaNode>();
  for (const start of nodes) {
    const stack = [start];
    while (stack.length > 0) {
      const node = stack.at(-1) as SchemaNode;
      if (node.weight > 0) {
        stack.pop();
        continue;
      }
      if (!open.has(node)) {
        open.add(node);
        for (const next of node.applied) {
          if (open.has(next) && next.weight === 0) throw schemaInvalid(`${at}${node.pointer}`, "refers to itself"); // W2
          if (next.weight === 0) stack.push(next);
        }
        continue;
      }
      stack.pop();
      node.weight = node.applied.reduce((sum, next) => sum + next.weight, ownWeight(node.schema));
      node.textWeight = node.applied.reduce((sum, next) => sum + next.textWeight, node.textWeight);
      node.height = node.applied.reduce((most, next) => Math.max(most, next.height), 0) + 1;
      const place = at + node.pointer;
      if (node.weight > SCHEMA_WEIGHT_MAX)
        throw schemaInvalid(place, "grows too large when its references are followed");
      if (node.height > SCHEMA_HEIGHT_MAX) throw schemaInvalid(place, `nests deeper than ${SCHEMA_HEIGHT_MAX} schemas`);
    }
  }
}

/** W4. Keywords that only annotate cost nothing. */
function compileSteps(schema: JsonObject): number {
  let steps = 1;
  for (const [keyword, value] of Object.entries(schema)) {
    if (NOTES.has(keyword)) continue;
    steps++;
    if (keyword === "required") steps += namesSteps(value);
    else if (keyword === "pattern") steps += PATTERN_STEPS;
    else if (!isJsonObject(value)) continue;
    else if (keyword === "patternProperties") steps += PATTERN_STEPS * Object.keys(value).length;
    else if (keyword === "dependentRequired") {
      for (const names of Object.values(value)) steps += 1 + namesSteps(names);
    }
  }
  return steps;
}

function namesSteps(names: JsonValue): number {
  return Array.isArray(names) ? Math.min(names.length, NAMES_WRITTEN_MAX) / 2 : 0;
}

const NOTES: ReadonlySet<string> = new Set(
  "title description examples default deprecated readOnly writeOnly $comment $schema format contentEncoding contentMediaType".split(
    " ",
  ),
);

function ownWeight(schema: JsonObject): number {
  let weight = 1;
  for (const value of Object.values(schema)) {
    if (Array.isArray(value)) weight += value.length;
    else if (isJsonObject(value)) weight += Object.keys(value).length;
    weight++;
  }
  return weight;
}
