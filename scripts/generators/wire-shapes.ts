// Which fields of a JSON Schema are spelled differently in TypeScript, for packages/client/src/wire-form.ts.
//
//   W1. Only what the schema names. A place that may hold anything has no shape, and what is in it keeps its keys.
//   W2. A union has one shape, because nothing distinguishes its members at run time: where one member names fields in a place
//       that another leaves open, the generator refuses.

import { isDeepStrictEqual } from "node:util";
import { camelCase, type WireShape } from "../../packages/client/src/wire-form.ts";
import type { Schema } from "./openapi-document.ts";

/** `plain`: nothing that has keys. `open`: anything, whose keys are its own. */
type Found = "plain" | "open" | WireShape;

type Fields = Exclude<WireShape, string | readonly [WireShape]>;

export interface WireShapeReader {
  /** Of the schemas of the document, those that have something to spell. */
  readonly named: Readonly<Record<string, WireShape>>;
  /** The shape of a place; undefined where nothing is to be spelled. */
  shapeOf(schema: Schema, at: string): WireShape | undefined;
}

export function createWireShapes(schemas: Readonly<Record<string, Schema>>): WireShapeReader {
  const known = new Map<string, Found>();
  const underWay = new Set<string>();
  /** The fields of a shape that may hold anything. */
  const openFields = new WeakMap<object, readonly string[]>();

  function named(name: string, at: string): Found {
    const schema = schemas[name];
    if (schema === undefined) throw new Error(`${at}: ${name} is not among the schemas of the document`);
    if (underWay.has(name)) return name; // it holds itself
    let found = known.get(name);
    if (found === undefined) {
      underWay.add(name);
      found = read(schema, name);
      underWay.delete(name);
      known.set(name, found);
    }
    return isShape(found) ? name : found;
  }

  function read(schema: Schema, at: string): Found {
    if (schema === true) return "open";
    if (schema === false) return "plain";
    if (typeof schema.$ref === "string") return named(schema.$ref.split("/").at(-1) ?? "", at);
    if ("const" in schema || "enum" in schema) return "plain";
    if ("not" in schema) return "plain";
    for (const keyword of ["anyOf", "oneOf", "allOf"]) {
      const parts = schema[keyword] as Schema[] | undefined;
      if (parts !== undefined) return parts.map((part) => read(part, at)).reduce((a, b) => merged(a, b, at));
    }
    const types = [schema.type ?? ("properties" in schema ? "object" : undefined)].flat();
    if (types.includes(undefined)) return "open";
    return types.map((type) => ofType(type, schema, at)).reduce((a, b) => merged(a, b, at));
  }

  function ofType(type: unknown, schema: Exclude<Schema, boolean>, at: string): Found {
    if (type === "array") {
      const items = read((schema.items as Schema | undefined) ?? true, `${at}/items`);
      return isShape(items) ? [items] : items;
    }
    return type === "object" ? ofObject(schema, at) : "plain";
  }

  function ofObject(schema: Exclude<Schema, boolean>, at: string): Found {
    const properties = Object.entries((schema.properties as Record<string, Schema> | undefined) ?? {});
    const others = [
      ...Object.values((schema.patternProperties as Record<string, Schema> | undefined) ?? {}),
      ...(schema.additionalProperties === undefined ? [] : [schema.additionalProperties as Schema]),
    ].map((each) => read(each, `${at}/*`));
    if (properties.length === 0 && others.length === 0) return "open";
    const names = properties.map(([name]) => name);
    const spelled = new Set(names.map(camelCase));
    if (spelled.size !== names.length) throw new Error(`${at}: two fields have the same name in TypeScript`);
    const fields = names.filter((name) => camelCase(name) !== name);
    const inner = properties.map(([name, property]) => [name, read(property, `${at}/${name}`)] as const);
    const within = Object.fromEntries(inner.filter((entry): entry is [string, WireShape] => isShape(entry[1])));
    const values = others.length === 0 ? "plain" : others.reduce((a, b) => merged(a, b, at));
    const shape: Fields = {
      ...(fields.length === 0 ? {} : { fields }),
      ...(Object.keys(within).length === 0 ? {} : { within }),
      ...(isShape(values) ? { values } : {}),
    };
    openFields.set(
      shape,
      inner.flatMap(([name, found]) => (found === "open" ? [name] : [])),
    );
    if (Object.keys(shape).length > 0) return shape;
    return properties.length === 0 && values === "open" ? "open" : "plain";
  }

  /** W2 */
  function merged(a: Found, b: Found, at: string): Found {
    if (a === b || b === "plain" || isDeepStrictEqual(a, b)) return a;
    if (a === "plain") return b;
    if (a === "open" || b === "open") throw ambiguous(at);
    const [one, other] = [fieldsOf(a, at), fieldsOf(b, at)];
    const open = [one, other].flatMap((fields) => openFields.get(fields) ?? []);
    const named = [one, other].flatMap(({ within }) => Object.keys(within ?? {}));
    for (const name of open) if (named.includes(name)) throw ambiguous(`${at}/${name}`);
    const within: Record<string, WireShape> = { ...one.within };
    for (const [name, shape] of Object.entries(other.within ?? {})) {
      const both = within[name] === undefined ? shape : merged(within[name], shape, `${at}/${name}`);
      if (isShape(both)) within[name] = both;
    }
    const values = merged(one.values ?? "plain", other.values ?? "plain", at);
    const both: Fields = {
      fields: [...new Set([...(one.fields ?? []), ...(other.fields ?? [])])],
      ...(Object.keys(within).length === 0 ? {} : { within }),
      ...(isShape(values) ? { values } : {}),
    };
    openFields.set(both, open);
    return both;
  }

  function fieldsOf(shape: WireShape, at: string): Fields {
    const found = typeof shape === "string" ? known.get(shape) : shape;
    if (found === undefined || typeof found === "string" || Array.isArray(found)) {
      throw new Error(`${at}: the members of a union are not all objects`);
    }
    return found as Fields;
  }

  const all = Object.keys(schemas).flatMap((name) => {
    named(name, name);
    const found = known.get(name) ?? "plain";
    return isShape(found) ? [[name, found] as const] : [];
  });
  return {
    named: Object.fromEntries(all),
    shapeOf(schema, at) {
      const found = read(schema, at);
      return isShape(found) ? found : undefined;
    },
  };
}

function ambiguous(at: string): Error {
  return new Error(`${at}: one member of a union names fields where another takes anything`);
}

function isShape(found: Found): found is WireShape {
  return found !== "plain" && found !== "open";
}
