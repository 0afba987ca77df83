// Whether a schema may be a tool's parameters. Everything is checked here, once, when the tool is registered; what
// passes can be compiled, applied and shown to a model without further thought.
//
//   K1. Refusals are `schema_invalid` with the place as a JSON pointer.
//   K2. Nothing recurses over the author's value before its size and depth are known.
//   K3. What comes out is a copy: the caller's object is neither kept nor changed.
//   K4. A type, format or keyword that is not known is refused, because it would not be checked.

import {
  gateJson,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  TesseraError,
  TOOL_SCHEMA_BYTES_MAX,
  TOOL_SCHEMA_DEPTH_MAX,
} from "@tessera/protocol";
import { type SchemaNode, schemaInvalid, walkSchemas } from "../schema/walk.ts";
import { compilePattern } from "./pattern.ts";
import { type Check, compileCheck, SchemaRefused } from "./schema-compiler.ts";

/** Instructions of all patterns of one schema together. */
const SCHEMA_PATTERN_SIZE_MAX = 10_000;

const DIALECT = /^https:\/\/json-schema\.org\/draft\/2020-12\/schema#?$/;
const TYPES: ReadonlySet<unknown> = new Set(["string", "number", "integer", "boolean", "array", "object", "null"]);

/** Formats are notes for the model, as 2020-12 has it by default; a value is never refused for one. A misspelt one would
 *  be a note that means nothing, so the names are known. */
// biome-ignore format: a list of names reads best in lines
const FORMATS: ReadonlySet<unknown> = new Set([
  "date-time", "date", "time", "duration", "email", "idn-email", "hostname", "idn-hostname", "ipv4", "ipv6",
  "uri", "uri-reference", "uri-template", "iri", "iri-reference", "url", "uuid", "json-pointer", "relative-json-pointer", "regex",
  "byte", "binary", "password", "int32", "int64", "float", "double",
]);

/** Keywords that read a whole string, or write a whole value as text, each time they are applied. */
const TEXT_KEYWORDS = ["minLength", "maxLength", "uniqueItems"];

export interface CheckParametersOptions {
  /** Where the schema stands in its document; every reported pointer starts with it. */
  readonly pointer?: string;
}

/** A schema that passed. */
export interface CheckedParameters {
  readonly schema: JsonObject;
  /** Keywords that are applied to one value at most, references followed. */
  readonly weight: number;
  /** Work for each character of a string: pattern instructions and length limits, as often as references apply them. */
  readonly textWeight: number;
  readonly check: Check;
}

/** Refuses what cannot be a tool's parameters. */
export function checkParameters(parameters: unknown, options: CheckParametersOptions = {}): void {
  const { schema } = readParameters(parameters, options);
  checkTopLevelDefaults(schema, options.pointer ?? "");
}

/** The same, all but the defaults, and keeps what was found out. */
export function readParameters(parameters: unknown, options: CheckParametersOptions = {}): CheckedParameters {
  const at = options.pointer ?? "";
  const schema = copyParameters(parameters, at);
  checkRoot(schema, at);
  let patternSize = 0;
  const root = walkSchemas(schema, at, (node) => {
    checkTypes(node, at);
    checkDefault(node, at);
    const size = checkPatterns(node, at);
    patternSize += size;
    if (patternSize > SCHEMA_PATTERN_SIZE_MAX) throw schemaInvalid(at, "has too many or too large patterns");
    return size + textKeywords(node.schema);
  });
  const check = compile(schema, at);
  return { schema, weight: root.weight, textWeight: root.textWeight, check };
}

/** The part of a schema that judges arguments one by one: nothing is required, nothing depends on another argument. */
export function propertiesOf(schema: JsonObject): JsonObject {
  const part: JsonObject = Object.create(null);
  // References may point into these three and nowhere else.
  for (const keyword of ["$defs", "definitions", "properties"]) {
    if (schema[keyword] !== undefined) part[keyword] = schema[keyword];
  }
  return part;
}

/** A bounded copy, not yet checked any further. */
export function copyParameters(parameters: unknown, at = ""): JsonObject {
  if (!isJsonObject(parameters)) throw schemaInvalid(at, 'must be an object schema: {"type": "object", …}');
  try {
    return gateJson(parameters, { bytesMax: TOOL_SCHEMA_BYTES_MAX, depthMax: TOOL_SCHEMA_DEPTH_MAX }) as JsonObject; // K2, K3
  } catch (error) {
    if (!TesseraError.is(error)) throw error;
    const pointer = typeof error.details.pointer === "string" ? error.details.pointer : "";
    throw schemaInvalid(at + pointer, `cannot be read: ${error.message}`, error);
  }
}

function checkRoot(schema: JsonObject, at: string): void {
  const isAnything = Object.keys(schema).length === 0;
  if (!isAnything && schema.type !== "object") throw schemaInvalid(`${at}/type`, 'must be "object"');
  if (schema.$schema !== undefined && !(typeof schema.$schema === "string" && DIALECT.test(schema.$schema))) {
    throw schemaInvalid(`${at}/$schema`, "must be JSON Schema 2020-12, or absent, where it is stored");
  }
}

function checkTypes({ pointer, schema }: SchemaNode, at: string): void {
  const place = at + pointer;
  const types: readonly JsonValue[] = Array.isArray(schema.type) ? schema.type : [schema.type ?? "object"];
  const unknown = types.find((type) => !TYPES.has(type));
  if (unknown !== undefined) throw schemaInvalid(`${place}/type`, `must be one of ${[...TYPES].join(", ")}`); // K4
  if (pointer !== "" && schema.$schema !== undefined) throw schemaInvalid(`${place}/$schema`, "belongs to the root");
  if (schema.format !== undefined && !FORMATS.has(schema.format)) {
    throw schemaInvalid(`${place}/format`, `is not a known format; known are ${[...FORMATS].join(", ")}`); // K4
  }
  const needsItems = schema.type !== undefined && types.includes("array");
  if (needsItems && schema.items === undefined && schema.prefixItems === undefined) {
    throw schemaInvalid(place, "is an array and must say what its items are");
  }
}

/** A nested default is only shown to the model, so its type and its place in an enum are all that is checked. */
function checkDefault({ pointer, schema }: SchemaNode, at: string): void {
  const value = schema.default;
  if (value === undefined) return;
  const { type, enum: choices } = schema;
  const types = Array.isArray(type) ? type : [type];
  const fits = type === undefined || types.some((name) => isOfType(value, name));
  const isChoice = !Array.isArray(choices) || typeof value === "object" || choices.includes(value);
  if (!fits || !isChoice) throw schemaInvalid(`${at}${pointer}/default`, "does not fit its own schema");
}

function isOfType(value: JsonValue, type: JsonValue | undefined): boolean {
  if (type === "null") return value === null;
  if (type === "array") return Array.isArray(value);
  if (type === "object") return isJsonObject(value);
  if (type === "integer") return Number.isInteger(value);
  return typeof value === type;
}

function checkPatterns({ pointer, schema }: SchemaNode, at: string): number {
  const sources: (readonly [string, string])[] = [];
  if (typeof schema.pattern === "string") sources.push(["/pattern", schema.pattern]);
  if (isJsonObject(schema.patternProperties)) {
    for (const source of Object.keys(schema.patternProperties)) sources.push(["/patternProperties", source]);
  }
  let size = 0;
  for (const [keyword, source] of sources) {
    try {
      size += compilePattern(source).size;
    } catch (error) {
      throw TesseraError.is(error)
        ? schemaInvalid(`${at}${pointer}${keyword}`, `is refused: ${error.message}`, error)
        : error;
    }
  }
  return size;
}

function textKeywords(schema: JsonObject): number {
  const compared = [schema.const, ...(Array.isArray(schema.enum) ? schema.enum : [])];
  const comparesContainers = compared.some((value) => typeof value === "object" && value !== null);
  return TEXT_KEYWORDS.filter((keyword) => keyword in schema).length + (comparesContainers ? 1 : 0);
}

function compile(schema: JsonObject, at: string): Check {
  try {
    return compileCheck(schema);
  } catch (error) {
    if (error instanceof SchemaRefused) {
      throw schemaInvalid(
        at + (error.issue?.instancePath ?? ""),
        "does not have the form that JSON Schema gives it",
        error,
      );
    }
    // What is left is ajv's strict mode; its messages name the keyword and the place.
    throw schemaInvalid(at, `cannot be compiled: ${error instanceof Error ? error.message.slice(0, 200) : "?"}`, error);
  }
}

/** These are applied when the model leaves the argument out, so the whole property schema counts. */
function checkTopLevelDefaults(schema: JsonObject, at: string): void {
  const defaults = topLevelDefaults(schema);
  if (defaults.length === 0) return;
  const check = compileCheck(propertiesOf(schema));
  for (const [name, value] of defaults) {
    const issue = check(Object.assign(Object.create(null), { [name]: value }))[0];
    if (issue !== undefined) throw schemaInvalid(`${at}/properties/${name}/default`, "does not fit its own schema");
  }
}

/** `default`s of a schema's own properties. */
export function topLevelDefaults(schema: JsonObject): readonly (readonly [name: string, value: JsonValue])[] {
  if (!isJsonObject(schema.properties)) return [];
  return Object.entries(schema.properties).flatMap(([name, property]) =>
    isJsonObject(property) && property.default !== undefined ? [[name, property.default] as const] : [],
  );
}
