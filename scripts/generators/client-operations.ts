// packages/client/src/operations.gen.ts: the types of the API and the table of its operations, from the OpenAPI document. Types
// have the spelling of TypeScript; the table says what that is on the wire.

import { camelCase, type WireShape } from "../../packages/client/src/wire-form.ts";
import { type FoundOperation, type OpenApiBody, type OpenApiDocument, operationsOf } from "./openapi-document.ts";
import { comment, keyOf, type TypeWorld, typeOf } from "./schema-type.ts";
import { createWireShapes, type WireShapeReader } from "./wire-shapes.ts";

export const CLIENT_OPERATIONS_FILE = "packages/client/src/operations.gen.ts";

const HEADER = `// Generated from docs/reference/openapi.json by scripts/generate.ts. Do not edit.

import type { OperationSpec } from "./operation-spec.ts";
import type { WireShapes } from "./wire-form.ts";
`;
/** Arguments of every method, which no parameter may be called. */
const TAKEN: ReadonlySet<string> = new Set(["body", "signal", "timeoutMs", "onAnswer", "onOpen", "onReconnect"]);
const OWN_NAMES: ReadonlySet<string> = new Set([
  ...["Operations", "OPERATIONS", "OperationSpec"],
  ...["Schemas", "SHAPES", "WireShapes"],
]);
const YAML = /yaml/;

export function clientOperations(document: OpenApiDocument): string {
  const schemas = Object.entries(document.components?.schemas ?? {});
  const world: TypeWorld = { known: new Set(schemas.map(([name]) => name)), nameOf: camelCase };
  for (const name of world.known) {
    if (OWN_NAMES.has(name) || !/^[A-Z]\w*$/.test(name)) throw new Error(`the schema ${name} cannot name a type`);
  }
  const shapes = createWireShapes(document.components?.schemas ?? {});
  const operations = operationsOf(document).map((found) => ({ found, call: readCall(found) }));
  const types = schemas.map(
    ([name, schema]) => `${comment(schema, "")}export type ${name} = ${typeOf(schema, world, name)};\n`,
  );
  return [
    HEADER,
    ...types,
    `/** The documents of the API by the names that its OpenAPI document gives them. */\nexport interface Schemas {\n${schemas
      .map(([name]) => `  readonly ${name}: ${name};\n`)
      .join("")}}\n`,
    `/** By operation: what its method takes and what it resolves to. */\nexport interface Operations {\n${operations
      .map(({ found, call }) => operationType(found, call, world))
      .join("")}}\n`,
    `/** Where the documents of the API are spelled differently on the wire. */\nexport const SHAPES: WireShapes = {\n${Object.entries(
      shapes.named,
    )
      .map(([name, shape]) => `  ${name}: ${JSON.stringify(shape)},\n`)
      .join("")}};\n`,
    `/** By operation: where it is and how its arguments travel. */\nexport const OPERATIONS = {\n${operations
      .map(({ found, call }) => operationRow(found, call, shapes))
      .join("")}} as const satisfies Record<keyof Operations, OperationSpec>;\n`,
  ].join("\n");
}

interface Call {
  /** Argument → header. */
  readonly headers: ReadonlyMap<string, string>;
  /** Argument → name in the query. */
  readonly query: ReadonlyMap<string, string>;
  readonly bodyType: string | null;
  readonly answer: "json" | "text" | "none" | "events";
  readonly successes: readonly OpenApiBody[];
}

function readCall({ id, operation, parameters, answers }: FoundOperation): Call {
  const headers = new Map<string, string>();
  const query = new Map<string, string>();
  for (const { name, in: place } of parameters) {
    // The stream goes on by itself: its reader never sends this one.
    if (place === "header" && name.toLowerCase() === "last-event-id") continue;
    const argument = argumentOf(name, place);
    if (TAKEN.has(argument) || headers.has(argument) || query.has(argument))
      throw new Error(`${id}: a parameter cannot be called ${argument}`);
    if (place === "header") headers.set(argument, name.toLowerCase());
    else if (place === "query") query.set(argument, name);
    else if (place === "cookie") throw new Error(`${id}: cookies are not understood`);
  }
  const bodyTypes = Object.keys(operation.requestBody?.content ?? {});
  const bodyType = bodyTypes.find((type) => type === "application/json") ?? bodyTypes.find((type) => YAML.test(type));
  if (bodyTypes.length > 0 && bodyType === undefined) throw new Error(`${id}: no body of ${bodyTypes} can be sent`);
  const successes = answers.filter(([status]) => status < 300).map(([, body]) => body);
  if (successes.length === 0) throw new Error(`${id} has no answer that is a success`);
  return { headers, query, bodyType: bodyType ?? null, successes, answer: answerOf(id, successes) };
}

function answerOf(id: string, successes: readonly OpenApiBody[]): Call["answer"] {
  const types = [...new Set(successes.flatMap(({ content }) => Object.keys(content ?? {})))];
  if (types.length === 0) return "none";
  if (types.every((type) => type.startsWith("application/json"))) return "json";
  if (types.every((type) => type.startsWith("text/plain"))) return "text";
  if (types.every((type) => type.startsWith("text/event-stream"))) return "events";
  throw new Error(`${id}: answers of the types ${types.join(", ")} are not understood`);
}

function operationType({ id, operation, parameters }: FoundOperation, call: Call, world: TypeWorld): string {
  const fields = parameters.flatMap(({ name, in: place, required = false, schema = true, description }) => {
    const argument = argumentOf(name, place);
    if (place === "header" && !call.headers.has(argument)) return [];
    const type = place === "query" ? typeOf(schema, world, `${id}/${name}`, "      ") : "string";
    const note = comment(description === undefined ? schema : { description }, "      ");
    return [`${note}      readonly ${keyOf(argument)}${required || place === "path" ? "" : "?"}: ${type};\n`];
  });
  if (call.bodyType !== null) {
    const { required = false, content } = operation.requestBody ?? {};
    const isJson = call.bodyType === "application/json";
    const type = isJson
      ? typeOf(content?.[call.bodyType]?.schema ?? true, world, `${id}/body`, "      ")
      : "string | Uint8Array";
    fields.push(`      readonly body${required || !isJson ? "" : "?"}: ${type};\n`);
  }
  const args = fields.length === 0 ? "Record<never, never>" : `{\n${fields.join("")}    }`;
  return `${comment({ description: operation.summary }, "  ")}  readonly ${id}: {
    readonly arguments: ${args};
    readonly answer: ${answerType(id, call, world)};
  };
`;
}

function answerType(id: string, { answer, successes }: Call, world: TypeWorld): string {
  if (answer === "none") return "undefined";
  if (answer === "text") return "string";
  const types = successes.map(({ content }) => {
    const [only] = Object.values(content ?? {});
    return only === undefined ? "undefined" : typeOf(only.schema ?? true, world, `${id}/answer`, "    ");
  });
  return [...new Set(types)].join(" | ");
}

function operationRow({ id, method, path, operation }: FoundOperation, call: Call, shapes: WireShapeReader): string {
  const isJsonBody = call.bodyType === "application/json";
  const sent = isJsonBody ? (operation.requestBody?.content?.["application/json"]?.schema ?? true) : true;
  const answers = call.successes.flatMap(({ content }) =>
    Object.values(content ?? {}).map(({ schema = true }) => schema),
  );
  return `  ${id}: {
    method: ${JSON.stringify(method.toUpperCase())},
    path: ${JSON.stringify(path)},
    query: ${record(call.query)},
    headers: ${record(call.headers)},
    body: ${JSON.stringify(call.bodyType)},
    answer: ${JSON.stringify(call.answer)},${shapeLine("bodyShape", shapes.shapeOf(sent, `${id}/body`))}${shapeLine(
      "answerShape",
      answers.length === 0 ? undefined : shapes.shapeOf({ anyOf: answers }, `${id}/answer`),
    )}
  },
`;
}

function record(names: ReadonlyMap<string, string>): string {
  const entries = [...names].map(([argument, name]) => `${keyOf(argument)}: ${JSON.stringify(name)}`).join(", ");
  return `{${entries === "" ? "" : ` ${entries} `}}`;
}

function shapeLine(name: string, shape: WireShape | undefined): string {
  return shape === undefined ? "" : `\n    ${name}: ${JSON.stringify(shape)},`;
}

/** `Idempotency-Key` → `idempotencyKey`, `worker_target` → `workerTarget`. A parameter of the path is one word. */
function argumentOf(name: string, place: string): string {
  if (place === "path" && camelCase(name) !== name) throw new Error(`the parameter ${name} of a path is not one word`);
  return camelCase(place === "header" ? name.toLowerCase().replaceAll("-", "_") : name);
}
