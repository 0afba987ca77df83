// What a field of YAML may hold, said twice from one place: as a person reads it in the reference, and as JSON Schema, for editors.
//
//   T1. The schema never refuses what the readers take: where it cannot say a rule it says less. A field with nothing after its
//       colon is absent to the readers, so every field that is not required may be null; a choice may not, or editors would offer it.

import { ID_PATTERN, type JsonObject } from "@tessera/protocol";
import { API_VERSIONS, type ResourceKind } from "@tessera/tool/resources";

export interface YamlType {
  /** In the reference. */
  readonly shown: string;
  readonly schema: JsonObject | false;
}

/** Name, type, default (`required` where there is none and one is needed, empty where there is none), one sentence. */
export type YamlField = readonly [name: string, type: YamlType, preset: string, says: string];

export function text(shown = "text", rule: JsonObject = {}): YamlType {
  return { shown, schema: { type: "string", ...rule, ...("pattern" in rule ? said(shown) : {}) } };
}

/** What editors say instead of the pattern. */
export function said(shown: string): JsonObject {
  return { patternErrorMessage: `must be ${shown.replaceAll("`", "")}` };
}

export function wholeNumber(min: number, max?: number): YamlType {
  const schema = { type: "integer", minimum: min, ...(max === undefined ? {} : { maximum: max }) };
  return { shown: max === undefined ? "whole number" : `whole number, ${min} to ${max}`, schema };
}

export function choice(values: readonly string[]): YamlType {
  const shown = values.map((value) => `\`${value}\``);
  return {
    shown: shown.length === 2 ? shown.join(" or ") : `one of ${shown.join(", ")}`,
    schema: { enum: [...values] },
  };
}

export function listOf(item: YamlType, shown = `list of ${item.shown}`, rule: JsonObject = {}): YamlType {
  return { shown, schema: { type: "array", items: item.schema, ...rule } };
}

/** A mapping with exactly these fields, which another table describes or its `shown` names. */
export function mappingWith(shown: string, fields: readonly YamlField[]): YamlType {
  return { shown, schema: objectSchema(fields) };
}

/** What JSON Schema says of it and a reader of the table would not. */
export function also(type: YamlType, schema: JsonObject): YamlType {
  return { shown: type.shown, schema };
}

/** Another word for a field beside it. */
export function anotherWord(type: YamlType): YamlType {
  return { shown: "", schema: type.schema };
}

export function unless(condition: JsonObject, rule: JsonObject): JsonObject {
  return { if: condition, else: rule };
}

export function when(condition: JsonObject, rule: JsonObject): JsonObject {
  // biome-ignore lint/suspicious/noThenProperty: a word of JSON Schema
  return { if: condition, then: rule };
}

export const NAME_SHOWN = "lower-case letters, digits and `-`, starting with a letter, at most 63";
export const TEXT = text();
export const NUMBER: YamlType = { shown: "number", schema: { type: "number" } };
export const TRUTH: YamlType = { shown: "true or false", schema: { type: "boolean" } };
export const ANYTHING: YamlType = { shown: "any value", schema: {} };
/** A mapping whose fields are its author's own, or those of the mapping that is described at its place. */
export const MAPPING: YamlType = { shown: "mapping", schema: { type: "object" } };
export const JSON_SCHEMA: YamlType = { shown: "JSON Schema with `type: object`", schema: { type: "object" } };
/** A field that is known only to be refused. */
export const NEVER: YamlType = { shown: "", schema: false };
export const API_VERSION_TYPE = also(
  { shown: API_VERSIONS.map((version) => `\`${version}\``).join(" or "), schema: false },
  { enum: [...API_VERSIONS] },
);
export const TOKEN = text("letters, digits, `_` and `-`", { pattern: "^[A-Za-z0-9_-]+$" });
export const ID = text("id", { pattern: ID_PATTERN.source });
export const VARIABLE = text("name of a variable", { pattern: "^[A-Za-z_][A-Za-z0-9_]*$" });
export const TAGS: YamlType = {
  shown: "list of text, or text with commas",
  schema: { anyOf: [{ type: "array", items: { type: "string" } }, { type: ["string", "null"] }] },
};
/** Left out of the schema where it is described: what stands here is in `definitions`. */
export function definition(shown: string, name: string): YamlType {
  return { shown, schema: { $ref: `#/definitions/${name}` } };
}

export function pathTo(what: string): YamlType {
  return text(`path of ${what} in the bundle`, { pattern: "^[^/]" });
}

export function reference(kind: ResourceKind): YamlType {
  return definition(`reference to ${/^[AEIOU]/.test(kind) ? "an" : "a"} ${kind}`, referenceName(kind));
}

export function references(kind: ResourceKind): YamlType {
  return listOf(reference(kind), `list of references to ${kind}s`);
}

export function referenceName(kind: ResourceKind): string {
  return `referenceTo${kind}`;
}

interface ObjectOptions {
  /** What is described at a field's place. */
  readonly inside?: (name: string) => JsonObject | undefined;
  /** Fields of an author's own may stand beside these. */
  readonly isOpen?: boolean;
}

export function objectSchema(
  fields: readonly YamlField[],
  { inside = () => undefined, isOpen = false }: ObjectOptions = {},
): JsonObject {
  const isRequired = ([, , preset]: YamlField): boolean => preset === "required";
  const properties = fields.map((field) => {
    const [name, type] = field;
    return [name, described(field, placed(type.schema, inside(name)))] as const;
  });
  const required = fields.filter(isRequired).map(([name]) => name);
  return {
    type: "object",
    properties: Object.fromEntries(properties),
    ...(required.length === 0 ? {} : { required }),
    ...(isOpen ? {} : { additionalProperties: false }),
  };
}

/** The described mapping stands for `MAPPING`, also inside a list. */
function placed(schema: JsonObject | false, inside: JsonObject | undefined): JsonObject | false {
  if (schema === false || inside === undefined) return schema;
  if (schema === MAPPING.schema) return inside;
  return schema.items === MAPPING.schema ? { ...schema, items: inside } : schema;
}

function described([, , preset, says]: YamlField, schema: JsonObject | false): JsonObject | false {
  if (schema === false) return schema;
  const isSaid = !["", "required", "see below"].includes(preset);
  const description = isSaid ? `${says} Default: ${preset}.` : says;
  if ("$ref" in schema) return { allOf: [schema], description };
  return { ...(preset === "required" ? schema : orNull(schema)), description }; // T1
}

function orNull(schema: JsonObject): JsonObject {
  return typeof schema.type === "string" ? { ...schema, type: [schema.type, "null"] } : schema;
}
