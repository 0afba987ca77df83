// JSON Schema → the text of a TypeScript type.
//
//   J1. A keyword that is not known here is refused with its place: the generated types never lie, and never say `any`.
//   J2. Keywords that only narrow a type further than TypeScript can say are passed over by name.

import type { Schema } from "./openapi-document.ts";

/** J2 */
const PASSED_OVER: ReadonlySet<string> = new Set([
  ...[
    "description",
    "title",
    "default",
    "examples",
    "example",
    "deprecated",
    "readOnly",
    "writeOnly",
    "$comment",
    "$id",
  ],
  ...["minLength", "maxLength", "pattern", "format", "contentEncoding", "contentMediaType"],
  ...["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"],
  ...["minItems", "maxItems", "uniqueItems", "minProperties", "maxProperties", "propertyNames"],
]);
const READ: ReadonlySet<string> = new Set([
  ...["$ref", "const", "enum", "anyOf", "oneOf", "allOf", "not", "type"],
  ...["properties", "required", "additionalProperties", "patternProperties", "items"],
]);
const REF = /^#\/components\/schemas\/([A-Za-z_]\w*)$/;
const IDENTIFIER = /^[A-Za-z_$][\w$]*$/;

export interface TypeWorld {
  /** Names of the schemas that may be referred to. */
  readonly known: ReadonlySet<string>;
  /** How a field is called in the type; default: as in the schema. */
  readonly nameOf?: (field: string) => string;
}

export function typeOf(schema: Schema, world: TypeWorld, at: string, indent = ""): string {
  if (schema === true) return "unknown";
  if (schema === false) return "never";
  for (const keyword of Object.keys(schema)) {
    if (READ.has(keyword) || PASSED_OVER.has(keyword) || keyword.startsWith("x-")) continue;
    throw new Error(`${at}: the keyword ${keyword} is not understood by scripts/generators/schema-type.ts`); // J1
  }
  if ("$ref" in schema) return referred(schema.$ref, world, at);
  if ("const" in schema) return literal(schema.const, at);
  if ("enum" in schema) return union((schema.enum as unknown[]).map((value) => literal(value, at)));
  if ("not" in schema) {
    if (JSON.stringify(schema.not) === "{}") return "never";
    throw new Error(`${at}: not is understood only as {}`); // J1
  }
  const parts = (keyword: "anyOf" | "oneOf" | "allOf") =>
    (schema[keyword] as Schema[]).map((part, n) => typeOf(part, world, `${at}/${keyword}/${n}`, indent));
  if ("anyOf" in schema || "oneOf" in schema) return union(parts("anyOf" in schema ? "anyOf" : "oneOf"));
  if ("allOf" in schema) return parts("allOf").map(grouped).join(" & ");
  const type = schema.type ?? ("properties" in schema ? "object" : undefined);
  if (type === undefined) return "unknown";
  const types = Array.isArray(type) ? (type as unknown[]) : [type];
  return union(types.map((each) => plainType(each, schema, world, at, indent)));
}

/** A type for readers of a page: without `readonly`, which says nothing about JSON. */
export function typeBlock(type: string): string {
  return `\`\`\`ts\n${type.replaceAll(/readonly |Readonly<(Record<string, \w+>)>/g, "$1")}\n\`\`\``;
}

function plainType(
  type: unknown,
  schema: Exclude<Schema, boolean>,
  world: TypeWorld,
  at: string,
  indent: string,
): string {
  switch (type) {
    case "string":
    case "boolean":
    case "null":
      return type;
    case "number":
    case "integer":
      return "number";
    case "array":
      return `readonly ${grouped(typeOf((schema.items as Schema | undefined) ?? true, world, `${at}/items`, indent))}[]`;
    case "object":
      return objectType(schema, world, at, indent);
    default:
      throw new Error(`${at}: the type ${JSON.stringify(type)} is not known`); // J1
  }
}

function objectType(schema: Exclude<Schema, boolean>, world: TypeWorld, at: string, indent: string): string {
  const properties = Object.entries((schema.properties as Record<string, Schema> | undefined) ?? {});
  const others = otherProperties(schema, world, at, indent);
  if (properties.length === 0) return `Readonly<Record<string, ${others ?? "unknown"}>>`;
  const required = new Set((schema.required as string[] | undefined) ?? []);
  const inner = `${indent}  `;
  const lines = properties.map(([name, property]) => {
    const type = typeOf(property, world, `${at}/${name}`, inner);
    const field = world.nameOf?.(name) ?? name;
    return `${comment(property, inner)}${inner}readonly ${keyOf(field)}${required.has(name) ? "" : "?"}: ${type};\n`;
  });
  const fields = `{\n${lines.join("")}${indent}}`;
  return others === null || others === "never" ? fields : `${fields} & Readonly<Record<string, ${others}>>`;
}

/** The type of what is not named; null where nothing is said about it. */
function otherProperties(
  schema: Exclude<Schema, boolean>,
  world: TypeWorld,
  at: string,
  indent: string,
): string | null {
  const patterns = Object.values((schema.patternProperties as Record<string, Schema> | undefined) ?? {});
  if (patterns.length > 0) {
    return union(patterns.map((each, n) => typeOf(each, world, `${at}/patternProperties/${n}`, indent)));
  }
  const others = schema.additionalProperties as Schema | undefined;
  if (others === undefined) return null;
  return typeOf(others, world, `${at}/additionalProperties`, indent);
}

function referred(ref: unknown, { known }: TypeWorld, at: string): string {
  const name = REF.exec(String(ref))?.[1];
  if (name !== undefined && known.has(name)) return name;
  throw new Error(`${at}: ${String(ref)} is not among the schemas of the document`);
}

function literal(value: unknown, at: string): string {
  if (value === null || ["string", "number", "boolean"].includes(typeof value)) return JSON.stringify(value);
  throw new Error(`${at}: only plain values can be a const or stand in an enum`); // J1
}

function union(types: readonly string[]): string {
  const unique = [...new Set(types)];
  if (unique.includes("unknown")) return "unknown";
  if (unique.length === 1) return unique[0] as string;
  return unique.map((type) => (type.includes(" & ") ? `(${type})` : type)).join(" | ") || "never";
}

function grouped(type: string): string {
  return / [|&] /.test(type) || type.startsWith("readonly ") ? `(${type})` : type;
}

export function keyOf(name: string): string {
  return IDENTIFIER.test(name) ? name : JSON.stringify(name);
}

/** A description as a comment, with its end disarmed. */
export function comment(schema: Schema | { readonly description?: unknown }, indent: string): string {
  const text = typeof schema === "object" ? (schema as { description?: unknown }).description : undefined;
  if (typeof text !== "string" || text.trim() === "") return "";
  return `${indent}/** ${text
    .replaceAll("*/", "*\\/")
    .replaceAll(/\s*\n\s*/g, " ")
    .trim()} */\n`;
}
