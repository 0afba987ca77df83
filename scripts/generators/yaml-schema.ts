// packages/tessera/schema: the JSON Schema of a bundle's YAML, for editors. It says what the tables of the reference say
// (yaml-types.ts), for each kind of resource; what only a whole bundle can tell (whether a name is there) it leaves to
// `tessera validate`.
//
//   S1. Draft-07: the newest one that all editors read.
//   S2. One document is one resource; its `kind` says which `spec` it has.

import { type JsonObject, SCHEMA_FILE, SCHEMA_FOLDER } from "@tessera/protocol";
import { RESOURCE_KINDS, type ResourceKind } from "@tessera/tool/resources";
import { SETTINGS } from "../../packages/runtime/src/settings/table.ts";
import type { Generator } from "./generator.ts";
import { HEAD, REFERENCE, SECRET } from "./yaml-bundle-kinds.ts";
import { YAML_SECTIONS } from "./yaml-kinds.ts";
import type { YamlMapping, YamlSection } from "./yaml-mapping.ts";
import { NAME_SHOWN, objectSchema, referenceName, said, text, when } from "./yaml-types.ts";

const FOLDER = `packages/tessera/${SCHEMA_FOLDER}`;

export const yamlSchema: Generator = {
  name: "YAML schema",
  folder: FOLDER,
  files: () => new Map([[`${FOLDER}/${SCHEMA_FILE}`, `${JSON.stringify(bundleSchema(), null, 2)}\n`]]),
};

export function bundleSchema(): JsonObject {
  const kinds = RESOURCE_KINDS.filter((kind) => sectionsOf(kind).length > 0);
  return {
    $schema: "http://json-schema.org/draft-07/schema#", // S1
    title: "A resource of a Tessera bundle",
    ...described([HEAD], "the document"),
    allOf: kinds.map((kind) => when({ properties: { kind: { const: kind } }, required: ["kind"] }, ruleOf(kind))), // S2
    definitions: {
      ...Object.fromEntries(kinds.map((kind) => [kind, specOf(kind)])),
      ...Object.fromEntries(RESOURCE_KINDS.map((kind) => [referenceName(kind), referenceTo(kind)])),
      requiredTool: { anyOf: [{ type: "string", minLength: 1 }, { $ref: definitionOf(referenceName("Tool")) }] },
      extensionUse: { anyOf: [{ $ref: definitionOf(referenceName("Extension")) }, extensionUse()] },
      secret: secret(),
    },
  };
}

function ruleOf(kind: ResourceKind): JsonObject {
  const spec = { $ref: definitionOf(kind) };
  if (kind === "Package") return { properties: { spec } }; // named as its registry names it, and complete without a spec
  const name = { pattern: "^[a-z][a-z0-9-]{0,62}$", ...said(NAME_SHOWN) };
  return { required: ["spec"], properties: { spec, metadata: { properties: { name } } } };
}

/** A Tool is of one of two forms: the description of an API says so itself. */
function specOf(kind: ResourceKind): JsonObject {
  const forms = sectionsOf(kind).map((section) => described([section], "spec"));
  const [form, api] = forms as [JsonObject, JsonObject?];
  if (kind === "Package") {
    const { properties } = form as { properties: JsonObject };
    const type = ["object", "null"];
    return { ...form, type, properties: { ...properties, settings: settings(properties.settings as JsonObject) } };
  }
  return api === undefined ? form : { ...when({ required: ["openapi"] }, api), else: form };
}

function settings(field: JsonObject): JsonObject {
  const keys = Object.values(SETTINGS).flatMap(({ key, says }) => (key === null ? [] : [[key, { description: says }]]));
  return { ...field, properties: Object.fromEntries(keys), additionalProperties: false };
}

function referenceTo(kind: ResourceKind): JsonObject {
  const plain = mappingAt([REFERENCE], "a reference");
  const { properties, ...rest } = objectSchema(plain.fields) as { properties: JsonObject };
  const mapping = { ...rest, properties: { ...properties, kind: { const: kind } } };
  const { schema: written } = text(`${kind}/<name>`, { pattern: `^${kind}/[^/]+$` });
  const wrapped = objectSchema(mappingAt([REFERENCE], "a wrapped reference").fields, {
    inside: () => ({ anyOf: [written, mapping] }),
  });
  return { anyOf: [written, mapping, wrapped] };
}

function extensionUse(): JsonObject {
  return objectSchema(mappingAt(sectionsOf("Agent"), "spec.extensions[]").fields);
}

function secret(): JsonObject {
  const valueFrom = objectSchema(mappingAt([SECRET], "apiKey.valueFrom").fields);
  return { type: ["object", "null"], properties: { valueFrom }, required: ["valueFrom"], additionalProperties: false };
}

/** The mapping at this place, and in it those that are described below it. */
function described(sections: readonly YamlSection[], at: string): JsonObject {
  const { fields, rules = [], isOpen = false } = mappingAt(sections, at);
  const inside = (name: string): JsonObject | undefined => {
    const path = at === "the document" ? name : `${at}.${name}`;
    const places = [path, `${path}[]`];
    const place = sections.flatMap(({ mappings }) => mappings).find((mapping) => places.includes(mapping.at));
    return place === undefined ? undefined : described(sections, place.at);
  };
  const schema = objectSchema(fields, { inside, isOpen });
  return rules.length === 0 ? schema : { ...schema, allOf: [...rules] };
}

function mappingAt(sections: readonly YamlSection[], at: string): YamlMapping {
  const mapping = sections.flatMap(({ mappings }) => mappings).find((each) => each.at === at);
  if (mapping === undefined) throw new Error(`no table describes ${at}`);
  return mapping;
}

function sectionsOf(kind: ResourceKind): readonly YamlSection[] {
  return YAML_SECTIONS.filter((section) => section.kind === kind);
}

function definitionOf(name: string): string {
  return `#/definitions/${name}`;
}
