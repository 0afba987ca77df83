// A schema of an OpenAPI 3.0 or 3.1 document as JSON Schema 2020-12, whole in itself.
//
//   S1. References are written out; the result has none.
//   S2. What constrains is kept or refused, what only annotates an API (`example`, `xml`, `discriminator`, `x-…`) is
//       dropped: parameters of tools know the keywords of JSON Schema and nothing else.
//   S3. 3.0 says `nullable` and has booleans for exclusive bounds; 3.1 is JSON Schema already.
//   S4. The result is bounded by SCHEMAS_MAX, so that fifty references to each other cannot write out a million schemas.

import { BadRequest, isJsonObject, type JsonObject, type JsonValue } from "@tessera/protocol";
import { resolveReference } from "./references.ts";

const SCHEMAS_MAX = 2_000;

const IN_SCHEMA = [
  "items",
  "contains",
  "additionalProperties",
  "propertyNames",
  "unevaluatedProperties",
  "unevaluatedItems",
  "not",
  "if",
  "then",
  "else",
];
const IN_LIST = ["prefixItems", "allOf", "anyOf", "oneOf"];
const IN_MAP = ["properties", "patternProperties", "dependentSchemas"];
// biome-ignore format: a list of keywords reads best in lines
const VALUES = [
  "type", "enum", "const", "multipleOf", "maximum", "exclusiveMaximum", "minimum", "exclusiveMinimum", "maxLength",
  "minLength", "pattern", "maxItems", "minItems", "uniqueItems", "maxContains", "minContains", "maxProperties",
  "minProperties", "required", "dependentRequired", "title", "description", "default", "examples", "deprecated",
];
/** Notes beside a reference; anything else there constrains. */
const NOTES: ReadonlySet<string> = new Set(["title", "summary", "description", "default", "examples", "deprecated"]);
const SCOPED = ["$id", "$anchor", "$dynamicRef", "$dynamicAnchor", "$recursiveRef"];
// biome-ignore format: a list of names reads best in lines
const FORMATS: ReadonlySet<JsonValue | undefined> = new Set([
  "date-time", "date", "time", "duration", "email", "hostname", "ipv4", "ipv6", "uri", "uri-reference", "url", "uuid",
  "byte", "binary", "password", "int32", "int64", "float", "double",
]);

export interface SchemaTranslator {
  translate(schema: JsonValue | undefined): JsonObject;
}

/** One translator per operation: what it writes out counts together (S4). */
export function createSchemaTranslator(document: JsonObject): SchemaTranslator {
  const isV30 = typeof document.openapi === "string" && document.openapi.startsWith("3.0");
  let count = 0;

  const translate = (given: JsonValue | undefined, trail: readonly string[]): JsonValue => {
    if (typeof given === "boolean") return given;
    if (++count > SCHEMAS_MAX) throw new BadRequest(`the schemas of one operation are more than ${SCHEMAS_MAX}`);
    if (isJsonObject(given) && typeof given.$ref === "string") return translateReference(given, trail);
    if (!isJsonObject(given)) throw new BadRequest("a schema of the document is neither an object nor a boolean");
    return translateObject(given, trail);
  };

  /** 3.0 ignores what stands beside a reference; 3.1 lets it hold as well. */
  const translateReference = (given: JsonObject, trail: readonly string[]): JsonValue => {
    const resolved = resolveReference(document, given, trail);
    const target = translate(resolved.value, resolved.trail); // S1
    const beside = isV30 ? [] : Object.entries(given).filter(([key]) => key !== "$ref");
    if (beside.length === 0) return target;
    const siblings = translateObject(Object.fromEntries(beside), trail);
    const isNote = beside.every(([key]) => NOTES.has(key) || key.startsWith("x-"));
    return isNote && isJsonObject(target) ? { ...target, ...siblings } : { allOf: [target, siblings] };
  };

  const translateObject = (given: JsonObject, trail: readonly string[]): JsonObject => {
    const scoped = SCOPED.find((keyword) => given[keyword] !== undefined);
    if (scoped !== undefined) throw new BadRequest(`${scoped} in a schema is not supported`); // S2
    const schema: JsonObject = {};
    for (const key of VALUES) if (given[key] !== undefined) schema[key] = given[key];
    if (FORMATS.has(given.format)) schema.format = given.format as string;
    for (const key of IN_SCHEMA) if (given[key] !== undefined) schema[key] = translate(given[key], trail);
    for (const key of IN_LIST) {
      const list = given[key];
      if (Array.isArray(list)) schema[key] = list.map((item) => translate(item, trail));
    }
    for (const key of IN_MAP) if (isJsonObject(given[key])) schema[key] = translateMap(given[key], trail);
    withoutReadOnly(schema, given);
    if (isOfType(schema, "array") && schema.items === undefined && schema.prefixItems === undefined) schema.items = {};
    return isV30 ? fromV30(schema, given) : schema;
  };

  const translateMap = (map: JsonObject, trail: readonly string[]): JsonObject =>
    Object.fromEntries(Object.entries(map).map(([key, value]) => [key, translate(value, trail)]));

  /** What only the server may set is not asked of a caller. */
  const withoutReadOnly = (schema: JsonObject, given: JsonObject): void => {
    if (!isJsonObject(schema.properties) || !isJsonObject(given.properties)) return;
    for (const [name, property] of Object.entries(given.properties)) {
      if (!isJsonObject(property) || property.readOnly !== true) continue;
      delete schema.properties[name];
      if (Array.isArray(schema.required)) schema.required = schema.required.filter((item) => item !== name);
    }
  };

  return {
    translate(schema) {
      const translated = translate(schema ?? {}, []);
      return isJsonObject(translated) ? translated : translated === false ? { not: {} } : {};
    },
  };
}

/** S3. */
function fromV30(schema: JsonObject, given: JsonObject): JsonObject {
  for (const [exclusive, bound] of [
    ["exclusiveMinimum", "minimum"],
    ["exclusiveMaximum", "maximum"],
  ] as const) {
    if (typeof given[exclusive] !== "boolean") continue;
    delete schema[exclusive];
    if (given[exclusive] === true && typeof given[bound] === "number") {
      schema[exclusive] = given[bound];
      delete schema[bound];
    }
  }
  if (given.nullable !== true) return schema;
  if (typeof schema.type !== "string") return { anyOf: [schema, { type: "null" }] };
  const choices = Array.isArray(schema.enum) && !schema.enum.includes(null) ? { enum: [...schema.enum, null] } : {};
  return { ...schema, type: [schema.type, "null"], ...choices };
}

function isOfType(schema: JsonObject, type: string): boolean {
  return schema.type === type || (Array.isArray(schema.type) && schema.type.includes(type));
}
