// The OpenAPI 3.1 document of a table of routes. The typed client and the HTTP reference are made from it, so it says all that
// the table says.
//
//   O1. The same table gives the same document, byte for byte: nothing about this process is in it but what it is given.
//   O2. A schema with `$id` is written once, as a component, and referred to everywhere else. Two schemas of one name that differ
//       are a mistake of the table and are refused.
//   O3. Every refusal is the same problem document; the statuses are those that the route can end with.

import { ERROR_CATALOGUE, ID_PATTERN } from "@tessera/protocol";
import Type, { type TSchema } from "typebox";
import { FORM_TYPE, YAML_TYPES } from "../http/upload.ts";
import { Anything, named, Text } from "../routing/api-schemas.ts";
import { TEXT_CHARS_MAX } from "../routing/query-values.ts";
import { paramsOf, type RouteSpec, type RouteTag } from "../routing/route-spec.ts";

const AN_ID = { pattern: ID_PATTERN.source };
const ANY_NAME = { pattern: `^[^\\u0000-\\u001f\\u007f-\\u009f]{1,${TEXT_CHARS_MAX}}$` };

type Json = { readonly [name: string]: unknown };

export interface OpenApiOptions {
  readonly version: string;
  readonly serverUrl?: string;
}

const TAGS: Readonly<Record<RouteTag, string>> = {
  health: "How this process is, and what it can do. No key is needed.",
  projects: "Projects: what keeps tenants apart.",
  profiles: "Profiles: what an agent is told, which model it asks and which tools it may call.",
  tools: "The registry of tools, and calls of tools without an agent.",
  agents: "The roster of agents.",
  state: "What agents do at the moment, and what they did, step by step.",
  cards: "Cards and boxes: everything that was said, asked and answered.",
  turns: "Turns: ask for one, follow it, stop it.",
  executors: "The edge for programs that run tools, in any language.",
  keys: "API keys.",
  observability: "What happened: counts, failures, the audit log.",
  god: "Interventions of an administrator. They exist only where they are switched on.",
};

const Problem = named("Problem", "A refusal, as RFC 9457 has it.", {
  type: Text,
  title: Text,
  status: Type.Integer(),
  detail: Text,
  error_code: Type.String({
    description: `One of the error codes, e.g. ${Object.keys(ERROR_CATALOGUE)[0]}; the list is open.`,
  }),
  error_message: Text,
  error_detail: Type.Optional(Anything),
  request_id: Text,
});

const SUCCESS: Readonly<Record<number, string>> = {
  200: "Done.",
  201: "Created.",
  202: "Stored; it is being worked on.",
  204: "Done. There is no body.",
};

export function openApiDocument(routes: readonly RouteSpec[], { version, serverUrl = "/" }: OpenApiOptions): Json {
  const schemas = new Map<string, Json>();
  const schemaOf = (schema: TSchema) => written(schema as Json, schemas);
  const paths: Record<string, Record<string, Json>> = {};
  for (const route of routes) {
    const path = pathOf(route.path);
    paths[path] = { ...paths[path], [route.method.toLowerCase()]: operationOf(route, schemaOf) };
  }
  const problem = { "application/problem+json": { schema: schemaOf(Problem) } };
  const used = new Set(routes.map(({ tag }) => tag));
  return {
    openapi: "3.1.1",
    info: {
      title: "Tessera",
      version,
      summary: "Durable tool calls for agents.",
      description:
        "Send an API key as `Authorization: Bearer …`. Refusals are problem documents (RFC 9457) with `error_code`. " +
        "`x-tessera-roles` says which roles may use an operation. A project that a key does not reach is answered like one " +
        "that does not exist.",
      license: { name: "Apache-2.0", identifier: "Apache-2.0" },
    },
    servers: [{ url: serverUrl }],
    security: [{ apiKey: [] }],
    tags: Object.entries(TAGS)
      .filter(([name]) => used.has(name as RouteTag))
      .map(([name, description]) => ({ name, description })),
    paths: sorted(paths),
    components: {
      securitySchemes: { apiKey: { type: "http", scheme: "bearer", description: "An API key: tsk_…" } },
      responses: {
        Problem: {
          description: "It was not done. `error_code` says why, and the catalogue of errors what to do.",
          headers: {
            "X-Request-Id": { description: "For operators: it stands in the logs.", schema: { type: "string" } },
            "Retry-After": { description: "Seconds to wait, with 429 and 503.", schema: { type: "integer" } },
          },
          content: problem,
        },
      },
      schemas: sorted(Object.fromEntries(schemas)),
    },
  };
}

function operationOf(route: RouteSpec, schemaOf: (schema: TSchema) => Json): Json {
  const { id, tag, summary, roles } = route;
  const body = bodyOf(route, schemaOf);
  const parameters = parametersOf(route, schemaOf);
  return {
    operationId: id,
    tags: [tag],
    summary,
    "x-tessera-roles": roles === "anyone" ? "anyone" : [...roles],
    ...(roles === "anyone" ? { security: [] } : {}),
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(body === null ? {} : { requestBody: body }),
    responses: responsesOf(route, schemaOf),
  };
}

function parametersOf(route: RouteSpec, schemaOf: (schema: TSchema) => Json): Json[] {
  const isName = (name: string) => route.names?.includes(name) === true;
  const ids = paramsOf(route.path).map((name) => ({
    ...{ name, in: "path", required: true, schema: { type: "string", ...(isName(name) ? ANY_NAME : AN_ID) } },
  }));
  const query = Object.entries(route.query ?? {}).map(([name, schema]) => {
    const { description, ...rest } = schemaOf(schema);
    return { name, in: "query", required: false, description, schema: rest };
  });
  const headers = Object.entries(route.headers ?? {}).map(([name, description]) => ({
    ...{ name, in: "header", required: false, description, schema: { type: "string" } },
  }));
  return [...ids, ...query, ...headers];
}

function bodyOf({ body, bodySchema }: RouteSpec, schemaOf: (schema: TSchema) => Json): Json | null {
  if (body === undefined) return null;
  if (body === "upload") {
    const document = { schema: { type: "string", description: "One YAML document." } };
    const file = { type: "string", contentMediaType: "application/yaml" };
    const form = { schema: { type: "object", required: ["file"], properties: { file }, additionalProperties: false } };
    return { required: true, content: { [YAML_TYPES[0] ?? ""]: document, [FORM_TYPE]: form } };
  }
  const schema = schemaOf(bodySchema ?? Type.Object({}));
  const required = (bodySchema as Json | undefined)?.required;
  const isRequired = Array.isArray(required) && required.length > 0;
  return { required: isRequired, content: { "application/json": { schema } } };
}

function responsesOf(route: RouteSpec, schemaOf: (schema: TSchema) => Json): Json {
  const answers = Object.entries(route.answers).map(([status, schema]) => {
    const description = SUCCESS[Number(status)] ?? "It is not well.";
    if (schema === null) return [status, { description }];
    const type = route.answerType ?? "application/json";
    return [status, { description, content: { [type]: { schema: schemaOf(schema) } } }];
  });
  const own = new Set(answers.map(([status]) => String(status)));
  const problems = problemsOf(route)
    .filter((status) => !own.has(String(status)))
    .map((status) => [String(status), { $ref: "#/components/responses/Problem" }]);
  return Object.fromEntries([...answers, ...problems]);
}

/** O3 */
function problemsOf({ path, method, roles, query, body, headers }: RouteSpec): number[] {
  const hasIds = paramsOf(path).length > 0;
  const isWrite = method !== "GET";
  return [
    ...(hasIds || query !== undefined || body !== undefined ? [400] : []),
    ...(roles === "anyone" ? [] : [401, 403]),
    ...(hasIds ? [404] : []),
    ...(isWrite ? [409] : []),
    ...(headers !== undefined && "If-Match" in headers ? [412] : []),
    ...(body === undefined ? [] : [413, 415]),
    ...[421, 429, 500, 503],
    ...(isWrite ? [501, 507] : []),
  ];
}

/** `/tools/:tool::call` as `/tools/{tool}:call`. */
function pathOf(path: string): string {
  return path.replace(/:([a-z]+)::/g, "{$1}:").replace(/\/:([a-z]+)/g, "/{$1}");
}

/** The schema as plain JSON, its named parts as references (O2). */
function written(schema: Json, schemas: Map<string, Json>): Json {
  const { $id, ...rest } = Object.fromEntries(
    Object.entries(schema).map(([name, value]) => [name, writtenValue(value, schemas)]),
  );
  const plain = withoutPatterns(rest);
  if (typeof $id !== "string") return plain;
  const known = schemas.get($id);
  if (known !== undefined && JSON.stringify(known) !== JSON.stringify(plain)) {
    throw new Error(`two schemas are named ${$id} and differ`);
  }
  schemas.set($id, plain);
  return { $ref: `#/components/schemas/${$id}` };
}

function writtenValue(value: unknown, schemas: Map<string, Json>): unknown {
  if (Array.isArray(value)) return value.map((each) => writtenValue(each, schemas));
  return typeof value === "object" && value !== null ? written(value as Json, schemas) : value;
}

/** A record of anything is said in the way that every reader of JSON Schema knows. */
function withoutPatterns(schema: Json): Json {
  const { patternProperties, ...rest } = schema as { readonly patternProperties?: Json };
  const [pattern, ...more] = Object.entries(patternProperties ?? {});
  if (pattern === undefined || more.length > 0) return schema;
  return { ...rest, additionalProperties: pattern[1] };
}

function sorted<Value>(record: Readonly<Record<string, Value>>): Record<string, Value> {
  return Object.fromEntries(Object.entries(record).sort(([a], [b]) => (a < b ? -1 : 1)));
}
