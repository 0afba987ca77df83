// Schemas that name an older draft of JSON Schema, rewritten as 2020-12, which is the one language behind this file
// (decision 50). MCP servers and zod 3 write draft-07.
//
//   D1. What is accepted means the same: each rewriting below is exact. What has no exact counterpart is refused with its
//       keyword and place, never dropped and never kept under another meaning.
//   D2. A draft ignores keywords that it does not know. Here such a keyword is refused: its author meant something by it.
//   D3. Without `$schema` a schema is 2020-12, whatever it looks like.
//   D4. Only what is a schema is rewritten: a property may be called `items`, and a default is a value.

import { isJsonObject, type JsonObject, type JsonValue } from "@tessera/protocol";
import { holdsOf, schemaInvalid, segment } from "./walk.ts";

const DRAFTS = ["draft-04", "draft-06", "draft-07", "2019-09", "2020-12"] as const;
type Draft = (typeof DRAFTS)[number];

const DIALECT = /^https?:\/\/json-schema\.org\/(draft-0[467]|draft\/2019-09|draft\/2020-12)\/schema#?$/;

/** The first draft that knows a keyword; those that all of them know are not listed. */
const KNOWN_SINCE: ReadonlyMap<string, Draft> = new Map([
  ...since("draft-06", "const contains propertyNames examples"),
  ...since("draft-07", "if then else readOnly writeOnly contentEncoding contentMediaType $comment"),
  ...since("2019-09", "dependentSchemas dependentRequired unevaluatedProperties unevaluatedItems"),
  ...since("2019-09", "maxContains minContains deprecated"),
  ...since("2020-12", "prefixItems"),
]);
/** Keywords that 2020-12 does not have, or means otherwise, with the last draft that has them. */
const KNOWN_UNTIL: ReadonlyMap<string, Draft> = new Map([
  ["additionalItems", "2019-09"],
  ["dependencies", "draft-07"],
]);
/** What says something beside a reference that is followed alone (D1). `definitions` are only kept there. */
const BESIDE_REF: ReadonlySet<string> = new Set(
  "$ref $schema $defs definitions title description examples $comment readOnly writeOnly".split(" "),
);

function since(draft: Draft, keywords: string): readonly (readonly [string, Draft])[] {
  return keywords.split(" ").map((keyword) => [keyword, draft] as const);
}

/** The same schema in 2020-12; the one given where it is that already. It must have passed the JSON gate. */
export function toCurrentDialect(schema: JsonObject, at = ""): JsonObject {
  const { $schema: named } = schema;
  if (named === undefined) return schema; // D3
  const found = typeof named === "string" ? DIALECT.exec(named)?.[1] : undefined;
  if (found === undefined) {
    throw schemaInvalid(`${at}/$schema`, `must be absent or that of one of the drafts ${DRAFTS.join(", ")}`);
  }
  const draft = DRAFTS.find((each) => found.endsWith(each)) as Draft;
  if (draft === "2020-12") return schema;
  const { $schema: _, ...rest } = schema;
  const whole = JSON.stringify(schema);
  return rewrite(rest, at, { draft, hasContains: whole.includes('"contains"') });
}

interface Source {
  readonly draft: Draft;
  /** Whether `contains` appears anywhere: with it, 2020-12 counts other items as evaluated than 2019-09 did. */
  readonly hasContains: boolean;
}

/** One schema. Its depth was bounded by the gate, so that this may recurse. */
function rewrite(schema: JsonObject, at: string, source: Source): JsonObject {
  const isBefore2019 = DRAFTS.indexOf(source.draft) < DRAFTS.indexOf("2019-09");
  const isRefAlone = isBefore2019 && schema.$ref !== undefined;
  const result: JsonObject = Object.create(null);
  for (const [keyword, value] of Object.entries(schema)) {
    checkKnown(keyword, at, source);
    if (isRefAlone && !BESIDE_REF.has(keyword)) continue; // those drafts ignore what stands beside a reference
    const place = `${at}/${segmentOf(keyword)}`;
    switch (keyword) {
      case "items":
        if (Array.isArray(value)) result.prefixItems = value.map((item, n) => inner(item, `${place}/${n}`, source));
        else result.items = inner(value, place, source);
        break;
      case "additionalItems": // says nothing beside one schema for all items, or none
        if (Array.isArray(schema.items)) result.items = inner(value, place, source);
        break;
      case "dependencies":
        rewriteDependencies(value, place, source, result);
        break;
      case "exclusiveMinimum":
      case "exclusiveMaximum":
        rewriteExclusive(schema, keyword, place, source, result);
        break;
      case "minimum":
      case "maximum":
        if (!isExclusive(schema, keyword)) result[keyword] = value;
        break;
      default:
        result[keyword] = rewriteHeld(keyword, value, place, source); // D4
    }
  }
  // How zod 3 writes a list of anything. Since 2019-09 it would say more: then other keywords may look at items that none has.
  if (isBefore2019 && !isRefAlone && isList(schema) && schema.items === undefined) result.items = {};
  return result;
}

function isList({ type }: JsonObject): boolean {
  return type === "array" || (Array.isArray(type) && type.includes("array"));
}

/** D2 */
function checkKnown(keyword: string, at: string, { draft, hasContains }: Source): void {
  const first = KNOWN_SINCE.get(keyword);
  const last = KNOWN_UNTIL.get(keyword);
  const isKnown =
    (first === undefined || DRAFTS.indexOf(first) <= DRAFTS.indexOf(draft)) &&
    (last === undefined || DRAFTS.indexOf(last) >= DRAFTS.indexOf(draft));
  const place = `${at}/${segmentOf(keyword)}`;
  if (!isKnown) throw schemaInvalid(place, `is not a keyword of ${draft}, which the schema names as its draft`);
  if (keyword === "unevaluatedItems" && hasContains) {
    throw schemaInvalid(place, `means something else beside "contains" since 2020-12; write the schema in that draft`);
  }
}

function rewriteHeld(keyword: string, value: JsonValue, place: string, source: Source): JsonValue {
  switch (holdsOf(keyword)) {
    case "schema":
      return inner(value, place, source);
    case "schemas":
      return Array.isArray(value) ? value.map((item, n) => inner(item, `${place}/${n}`, source)) : value;
    case "map":
      return isJsonObject(value)
        ? mapOf(value, (each, name) => inner(each, `${place}${segment(name)}`, source))
        : value;
    default:
      return value; // a value, or no keyword: the check behind this one says so
  }
}

/** What is no schema is left to the check behind this one. */
function inner(value: JsonValue, at: string, source: Source): JsonValue {
  return isJsonObject(value) ? rewrite(value, at, source) : value;
}

function rewriteDependencies(value: JsonValue, place: string, source: Source, result: JsonObject): void {
  if (!isJsonObject(value)) throw schemaInvalid(place, "must be an object of names and schemas");
  const required: JsonObject = Object.create(null);
  const schemas: JsonObject = Object.create(null);
  for (const [name, needs] of Object.entries(value)) {
    if (Array.isArray(needs)) required[name] = needs;
    else schemas[name] = inner(needs, `${place}${segment(name)}`, source);
  }
  if (Object.keys(required).length > 0) result.dependentRequired = required;
  if (Object.keys(schemas).length > 0) result.dependentSchemas = schemas;
}

/** draft-04 says with a boolean whether the bound beside it belongs to the range. */
function rewriteExclusive(
  schema: JsonObject,
  keyword: "exclusiveMinimum" | "exclusiveMaximum",
  place: string,
  { draft }: Source,
  result: JsonObject,
): void {
  const value = schema[keyword] as JsonValue;
  if (draft !== "draft-04") {
    result[keyword] = value;
    return;
  }
  const bound = schema[BOUND_OF[keyword]];
  if (typeof value !== "boolean") throw schemaInvalid(place, "must be true or false in draft-04");
  if (bound === undefined) throw schemaInvalid(place, `needs ${BOUND_OF[keyword]} beside it in draft-04`);
  if (value) result[keyword] = bound;
}

const BOUND_OF = { exclusiveMinimum: "minimum", exclusiveMaximum: "maximum" } as const;

function isExclusive(schema: JsonObject, keyword: "minimum" | "maximum"): boolean {
  return schema[keyword === "minimum" ? "exclusiveMinimum" : "exclusiveMaximum"] === true;
}

function mapOf(values: JsonObject, map: (value: JsonValue, name: string) => JsonValue): JsonObject {
  const mapped: JsonObject = Object.create(null);
  for (const [name, value] of Object.entries(values)) mapped[name] = map(value, name);
  return mapped;
}

function segmentOf(keyword: string): string {
  return segment(keyword).slice(1);
}
