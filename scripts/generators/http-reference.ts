// docs/reference/http.md: every operation of the API with its parameters, bodies and answers, from the OpenAPI document.

import { readApiDocument } from "./api-document.ts";
import { code, type Generator, NOTICE, table } from "./generator.ts";
import {
  type FoundOperation,
  type OpenApiBody,
  type OpenApiDocument,
  operationsOf,
  type Schema,
} from "./openapi-document.ts";
import { typeBlock, typeOf } from "./schema-type.ts";

export const httpReference: Generator = {
  name: "HTTP reference",
  files: async () => new Map([["docs/reference/http.md", httpPage(await readApiDocument())]]),
};

function httpPage(document: OpenApiDocument): string {
  const operations = operationsOf(document);
  const schemas = document.components?.schemas ?? {};
  const known = new Set(Object.keys(schemas));
  const tags = document.tags ?? [];
  const sections = tags.map(({ name, description = "" }) => {
    const own = operations.filter(({ operation }) => operation.tags?.includes(name));
    return `## Operations: ${name}\n\n${description}\n\n${own.map((found) => operationSection(found, known)).join("\n")}`;
  });
  const types = Object.entries(schemas).map(
    ([name, schema]) => `### ${name}\n\n${descriptionOf(schema)}${typeBlock(typeOf(schema, { known }, name))}\n`,
  );
  const rows = operations.map(({ id, method, path, operation }) => [
    `[${code(id)}](#${id.toLowerCase()})`,
    code(`${method.toUpperCase()} ${path}`),
    rolesOf(operation["x-tessera-roles"]),
    operation.summary ?? "",
  ]);
  return `${NOTICE}

# HTTP API

The same as a document for machines: [openapi.json](openapi.json), served at \`GET /openapi.json\`. The typed client is \`@tessera/client\`:
each operation is a method of it, whose arguments and answers are spelled as TypeScript is (\`agentTurnId\` for \`agent_turn_id\`).

- **Key**: \`Authorization: Bearer tsk_…\`. Its role must be among those of the operation; a key of one project reaches no other.
- **Refusals** are problem documents (RFC 9457): \`error_code\` is one of the [error codes](errors.md), \`error_message\` says what is wrong,
  \`error_detail\` where, \`request_id\` finds it in the logs. Besides what is listed, every operation may answer so.
- **Lists** answer \`next_cursor\`: send it as \`cursor\` for the next page; \`null\` means that there is none.
- **Idempotency-Key**: the same key with the same request is carried out once; with another request it is a conflict.
- **If-Match**: the change is made only if the resource is still what the ETag says; otherwise the answer is 412.

${table(["Operation", "Request", "Roles", ""], rows)}

${sections.join("\n")}
## Types

${types.join("\n")}`;
}

function descriptionOf(schema: Schema): string {
  const description = typeof schema === "object" ? schema.description : undefined;
  return typeof description === "string" ? `${description}\n\n` : "";
}

function operationSection(found: FoundOperation, known: ReadonlySet<string>): string {
  const { id, method, path, operation, parameters, answers } = found;
  const rows = parameters.map(({ name, in: place, description = "", schema = true }) => [
    code(name),
    place,
    place === "path" ? "id" : code(typeOf(schema, { known }, id).replaceAll(/\s+/g, " ")),
    description,
  ]);
  const { requestBody } = operation;
  const parts = [
    `### ${id}`,
    `${operation.summary ?? ""} Roles: ${rolesOf(operation["x-tessera-roles"])}.`,
    `\`\`\`http\n${method.toUpperCase()} ${path}\n\`\`\``,
    ...(rows.length === 0 ? [] : [table(["Parameter", "In", "Type", "Meaning"], rows)]),
    ...(requestBody === undefined ? [] : [`Body: ${contentOf(requestBody, id, known)}`]),
    ...answers
      .filter(([, answer]) => !isProblem(answer))
      .map(([status, answer]) => `${status}: ${contentOf(answer, id, known)}`),
  ];
  return `${parts.join("\n\n")}\n`;
}

function contentOf({ content, description = "" }: OpenApiBody, id: string, known: ReadonlySet<string>): string {
  const entries = Object.entries(content ?? {});
  const [first] = entries;
  if (first === undefined) return description;
  const types = entries.map(([type]) => code(type)).join(" or ");
  const [type, { schema = true }] = first;
  if (type !== "application/json" && type !== "text/event-stream") return types;
  const text = typeOf(schema, { known }, id);
  const kind = type === "application/json" ? "" : `${types}, the data of each event is `;
  return known.has(text) ? `${kind}[${text}](#${text.toLowerCase()})` : `${kind}JSON\n\n${typeBlock(text)}`;
}

function isProblem({ content }: OpenApiBody): boolean {
  return content !== undefined && "application/problem+json" in content;
}

function rolesOf(roles: unknown): string {
  return Array.isArray(roles) ? roles.join(", ") : "anyone";
}
