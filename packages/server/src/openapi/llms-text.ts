// GET /llms.txt: the API on one page, for a program that reads before it calls.

import { paramsOf, type RouteSpec, type RouteTag } from "../routing/route-spec.ts";

const ABOUT = `# Tessera

> A server for durable tool calls of agents. Work is asked for as a turn of an agent; the turn plans calls of tools; executors
> claim the calls and report results; every step is stored before it counts.

- The whole contract: /openapi.json (OpenAPI 3.1).
- Send an API key: \`Authorization: Bearer tsk_...\`. Roles: viewer reads, operator writes, executor runs tools, admin does all.
- A key belongs to one project or to all. Ids match [A-Za-z0-9_-]{1,64}.
- Bodies are JSON (application/json); documents that define tools or profiles are YAML (application/yaml, or a form with \`file\`).
- Refusals are application/problem+json with status, error_code, error_message, error_detail, request_id.
- 429 and 503 carry Retry-After. Lists take limit and cursor and answer next_cursor, null on the last page.
- To run something: enqueueTurn with an Idempotency-Key, then follow streamEvents or read getTurn until it has ended.
`;

export function llmsText(routes: readonly RouteSpec[]): string {
  const tags = [...new Set(routes.map(({ tag }) => tag))];
  return `${ABOUT}\n${tags.map((tag) => section(tag, routes)).join("\n")}`;
}

function section(tag: RouteTag, routes: readonly RouteSpec[]): string {
  const lines = routes.filter((route) => route.tag === tag).map(line);
  return `## ${tag}\n\n${lines.join("\n")}\n`;
}

function line({ id, method, path, summary, roles, query, body }: RouteSpec): string {
  const shown = paramsOf(path)
    .reduce((text, name) => text.replace(`/:${name}`, `/{${name}}`), path)
    .replace("::", ":");
  const who = roles === "anyone" ? "no key" : roles.join(", ");
  const names = Object.keys(query ?? {});
  const takes = [
    ...(names.length === 0 ? [] : [`query: ${names.join(", ")}`]),
    ...(body === undefined ? [] : [bodyName(body)]),
  ];
  return `- ${id}: ${method} ${shown} - ${summary} (${[who, ...takes].join("; ")})`;
}

function bodyName(body: "json" | "upload"): string {
  return body === "json" ? "body: JSON" : "body: YAML";
}
