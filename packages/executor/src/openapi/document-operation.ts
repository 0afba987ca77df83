// One operation of an OpenAPI document, taken apart: where its arguments go and what they look like.
//
//   T1. Each parameter, and the body as a whole, is one argument of its own. Two parameters of one name in different
//       places are two arguments.
//   T2. What cannot be sent safely and is optional is left out (cookies, reserved headers); where it is required the
//       operation is refused.

import { BadRequest, isJsonObject, type JsonObject, type JsonValue } from "@tessera/protocol";
import { API_METHODS, type ApiMethod } from "@tessera/tool/resources";
import { createSchemaTranslator, type SchemaTranslator } from "./document-schema.ts";
import { isJsonType, RESERVED_HEADERS } from "./operation.ts";
import { resolveReference } from "./references.ts";

const BODY_ARGUMENT = "body";
const ARGUMENT_CHARS_MAX = 64;
const OPERATIONS_MAX = 2_000;

export interface DocumentOperation {
  /** `GET /pets`: how messages call it. */
  readonly label: string;
  readonly method: ApiMethod;
  readonly path: string;
  readonly id: string | null;
  readonly tags: readonly string[];
  readonly operation: JsonObject;
  readonly pathItem: JsonObject;
}

/** Every operation, in the order of the document. */
export function operationsOf(document: JsonObject): DocumentOperation[] {
  const found: DocumentOperation[] = [];
  for (const [path, value] of Object.entries(isJsonObject(document.paths) ? document.paths : {})) {
    const pathItem = resolveReference(document, value).value;
    if (!isJsonObject(pathItem)) continue;
    for (const method of API_METHODS) {
      const operation = pathItem[method.toLowerCase()];
      if (!isJsonObject(operation)) continue;
      const tags = Array.isArray(operation.tags) ? operation.tags.filter((tag) => typeof tag === "string") : [];
      const id = typeof operation.operationId === "string" ? operation.operationId : null;
      found.push({ label: `${method} ${path}`, method, path, id, tags, operation, pathItem });
      if (found.length > OPERATIONS_MAX)
        throw new BadRequest(`the document has more than ${OPERATIONS_MAX} operations`);
    }
  }
  return found;
}

export interface OperationShape {
  /** The tool's parameters. */
  readonly schema: JsonObject;
  /** `options.openapi.parameters`. */
  readonly slots: JsonObject[];
  /** `options.openapi.body`. */
  readonly body: JsonObject | null;
}

export function shapeOf(document: JsonObject, from: DocumentOperation): OperationShape {
  const translator = createSchemaTranslator(document);
  const properties: JsonObject = {};
  const required: string[] = [];
  const slots: JsonObject[] = [];
  const add = (wanted: string, schema: JsonObject, isRequired: boolean): string => {
    const arg = freeName(wanted, properties);
    properties[arg] = schema;
    if (isRequired) required.push(arg);
    return arg;
  };
  for (const parameter of parametersOf(document, from)) {
    const slot = slotOf(parameter, from, translator);
    if (slot === null) continue;
    const arg = add(slot.name, slot.schema, slot.required);
    slots.push({ ...slot.wire, arg });
  }
  const body = bodyOf(document, from, translator);
  const bodyArg = body === null ? null : add(BODY_ARGUMENT, body.schema, body.required);
  return {
    schema: { type: "object", properties, ...(required.length > 0 ? { required } : {}), additionalProperties: false },
    slots,
    body: body === null ? null : { arg: bodyArg, required: body.required, content_type: body.content_type },
  };
}

/** Those of the path, overridden by the operation's own of the same name and place. */
function parametersOf(document: JsonObject, from: DocumentOperation): JsonObject[] {
  const byPlace = new Map<string, JsonObject>();
  for (const list of [from.pathItem.parameters, from.operation.parameters]) {
    for (const item of Array.isArray(list) ? list : []) {
      const parameter = resolveReference(document, item).value;
      if (!isJsonObject(parameter) || typeof parameter.name !== "string") {
        throw new BadRequest(`${from.label} has a parameter without a name`);
      }
      byPlace.set(`${String(parameter.in)} ${parameter.name}`, parameter);
    }
  }
  return [...byPlace.values()];
}

interface Slot {
  readonly name: string;
  readonly schema: JsonObject;
  readonly required: boolean;
  readonly wire: JsonObject;
}

function slotOf(parameter: JsonObject, from: DocumentOperation, translator: SchemaTranslator): Slot | null {
  const name = parameter.name as string;
  const place = parameter.in;
  const required = parameter.required === true || place === "path";
  if (place === "header" && RESERVED_HEADERS.has(name.toLowerCase())) return null; // T2: filled without the model
  if (place === "cookie") {
    if (!required) return null;
    throw new BadRequest(`${from.label} needs the cookie ${name}; cookies are not sent`); // T2
  }
  const content = Object.entries(isJsonObject(parameter.content) ? parameter.content : {})[0];
  if (content !== undefined && !isJsonType(content[0])) {
    throw new BadRequest(`the parameter ${name} of ${from.label} is ${content[0]}; only JSON can be sent`);
  }
  const media = content?.[1];
  const schema = translator.translate(
    content === undefined ? parameter.schema : isJsonObject(media) ? media.schema : {},
  );
  const wire: JsonObject = { name, in: place as JsonValue };
  if (required) wire.required = true;
  if (content !== undefined) wire.json = true;
  if (typeof parameter.style === "string") wire.style = parameter.style;
  if (typeof parameter.explode === "boolean") wire.explode = parameter.explode;
  const notes = typeof parameter.description === "string" ? { description: parameter.description } : {};
  return { name, schema: { ...schema, ...notes }, required, wire };
}

function bodyOf(document: JsonObject, from: DocumentOperation, translator: SchemaTranslator) {
  const body = resolveReference(document, from.operation.requestBody).value;
  if (!isJsonObject(body) || from.method === "GET" || from.method === "HEAD") return null;
  const content = Object.entries(isJsonObject(body.content) ? body.content : {});
  const json = content.find(([type]) => isJsonType(type));
  const required = body.required === true;
  if (json === undefined) {
    if (!required) return null;
    const types = content.map(([type]) => type).join(", ");
    throw new BadRequest(`${from.label} needs a body of ${types.slice(0, 200)}; only JSON can be sent`); // T2
  }
  const schema = translator.translate(isJsonObject(json[1]) ? json[1].schema : {});
  const notes = typeof body.description === "string" ? { description: body.description } : {};
  return { schema: { ...schema, ...notes }, required, content_type: json[0] };
}

/** A name that models can write and that is not taken. */
function freeName(wanted: string, taken: JsonObject): string {
  const plain = wanted.replace(/[^A-Za-z0-9_.-]/g, "_").slice(0, ARGUMENT_CHARS_MAX - 4);
  const base = plain === "" || plain === "__proto__" ? "argument" : plain;
  let name = base;
  for (let count = 2; Object.hasOwn(taken, name); count++) name = `${base}_${count}`; // T1
  return name;
}
