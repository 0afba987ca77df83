// An OpenAPI 3.x document becomes tools: one definition per operation, each of which can be run by itself.
//
//   D1. Where requests go and with which credential is said by the registration of the document: the server must be on
//       `hosts`, and a credential is used only where `auth` gives its variable. The document cannot widen either.
//   D2. Names are `resource__operationId`, legal and unique; the order of the document decides who keeps the plain name.
//   D3. A filter entry that matches nothing is an error, not an empty tool list that stays unnoticed.
//   D4. What a tool does to the world follows HTTP: GET, HEAD and OPTIONS read, PUT and DELETE are idempotent, POST and
//       PATCH happen once.
//   D5. Every definition passes the checks that an uploaded one passes, before it is returned.

import {
  BadRequest,
  DESCRIPTION_BYTES_MAX,
  gateJson,
  isJsonObject,
  isToolName,
  type JsonObject,
  type ToolEffect,
  targetSubjectFor,
} from "@tessera/protocol";
import type { ToolDefinition } from "@tessera/tool";
import { checkParameters } from "@tessera/tool/catalog";
import type { ApiMethod, ApiOperationChoice, ApiPlacement } from "@tessera/tool/resources";
import { type DocumentOperation, operationsOf, shapeOf } from "./document-operation.ts";
import { credentialsOf } from "./document-security.ts";
import { serverOf } from "./document-server.ts";
import { readHosts, readOperation } from "./operation.ts";

const DOCUMENT_BYTES_MAX = 8 * 1024 * 1024;
const TOOL_NAME_CHARS_MAX = 64;

export interface OpenApiToolsOptions {
  /** The first part of every tool's name, and the target of its subject unless `target` says another. */
  readonly resource: string;
  /** Host names, with a port where it is not 443. Nothing else is ever reached. */
  readonly hosts: readonly string[];
  /** Text is an operation's id, a tag, or `GET /path`; absent: all. */
  readonly operations?: readonly ApiOperationChoice[];
  /** Security scheme, or name of a header → environment variable. */
  readonly auth?: Readonly<Record<string, string>>;
  /** Instead of the servers of the document. */
  readonly baseUrl?: string;
  readonly serverVariables?: Readonly<Record<string, string>>;
  /** Sent with every request; no place for credentials. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly target?: string;
  readonly placement?: ApiPlacement;
  readonly timeoutMs?: number;
  /** How long a call may wait for an executor. */
  readonly queueTimeoutMs?: number;
  /** False: no `idempotency-key` header. */
  readonly idempotencyKey?: boolean;
  /** False: `session_id` is the API's own and is sent as it is. */
  readonly scopeSession?: boolean;
  /** The key whose presence in an answer means failure; default `error`, null for none. */
  readonly errorKey?: string | null;
}

const EFFECTS: Readonly<Record<ApiMethod, ToolEffect>> = {
  GET: "read",
  HEAD: "read",
  OPTIONS: "read",
  PUT: "idempotent",
  DELETE: "idempotent",
  POST: "once",
  PATCH: "once",
}; // D4

export function openApiTools(given: unknown, options: OpenApiToolsOptions): ToolDefinition[] {
  const document = readDocument(given);
  const hosts = readHosts(options.hosts);
  const taken = new Set<string>();
  return chosen(operationsOf(document), options.operations).map((from) => {
    const name = exportName(from, options.resource, taken);
    const { schema, slots, body } = shapeOf(document, from);
    const openapi: JsonObject = {
      server: serverOf(document, from, options, hosts),
      hosts,
      method: from.method,
      path: from.path,
      parameters: slots,
      ...(body === null ? {} : { body }),
      auth: credentialsOf(document, from, options.auth ?? {}),
      ...(options.headers === undefined ? {} : { headers: { ...options.headers } }),
      ...(options.idempotencyKey === false ? { idempotency_key: false } : {}),
      ...(options.scopeSession === false ? { scope_session: false } : {}),
      ...(options.errorKey === undefined ? {} : { error_key: options.errorKey }),
    };
    readOperation(openapi); // D5
    checkParameters(schema, { pointer: `/${from.label}` });
    return {
      tool_name: `${options.resource}__${name}`,
      description: descriptionOf(from),
      parameters: schema,
      target_subject: targetSubjectFor(options.target ?? options.resource, name),
      after_execution: "suspend",
      options: {
        effect: EFFECTS[from.method],
        ...(options.placement === undefined ? {} : { placement: options.placement }),
        ...(options.timeoutMs === undefined ? {} : { timeoutMs: options.timeoutMs }),
        ...(options.queueTimeoutMs === undefined ? {} : { queueTimeoutMs: options.queueTimeoutMs }),
        openapi,
      },
    };
  });
}

function readDocument(given: unknown): JsonObject {
  const document = gateJson(given, { bytesMax: DOCUMENT_BYTES_MAX });
  if (!isJsonObject(document) || typeof document.openapi !== "string" || !/^3\.[0-2]\./.test(document.openapi)) {
    throw new BadRequest("the document must be an OpenAPI document of version 3.0, 3.1 or 3.2");
  }
  return document;
}

function chosen(all: DocumentOperation[], filter: readonly ApiOperationChoice[] | undefined): DocumentOperation[] {
  if (filter === undefined) return all;
  const lost = filter.find((choice) => !all.some((from) => fits(from, choice)));
  if (lost !== undefined) {
    throw new BadRequest(`the document has no operation, tag or path ${JSON.stringify(lost).slice(0, 200)}`); // D3
  }
  return all.filter((from) => filter.some((choice) => fits(from, choice)));
}

function fits(from: DocumentOperation, choice: ApiOperationChoice): boolean {
  if (typeof choice === "string") {
    const label = choice.replace(/^[a-z]+ /i, (verb) => verb.toUpperCase());
    return from.id === choice || from.tags.includes(choice) || from.label === label;
  }
  if ("tag" in choice) return from.tags.includes(choice.tag);
  return from.method === choice.method.toUpperCase() && from.path === choice.path;
}

/** D2. `__` separates resource and export, so neither may hold it. */
function exportName(from: DocumentOperation, resource: string, taken: Set<string>): string {
  if (!isToolName(resource) || resource.includes("__") || /^_|_$/.test(resource)) {
    throw new BadRequest(`the resource ${JSON.stringify(resource.slice(0, 64))} is not a name`, {
      code: "invalid_name",
    });
  }
  const room = TOOL_NAME_CHARS_MAX - resource.length - "__".length;
  const plain = (from.id ?? from.label.toLowerCase()).replace(/[^A-Za-z0-9-]+/g, "_").replace(/^_+|_+$/g, "");
  const cut = (suffix: string) => plain.slice(0, Math.max(1, room - suffix.length)).replace(/_+$/, "") + suffix;
  let name = cut("") || "operation";
  for (let count = 2; taken.has(name); count++) name = cut(`_${count}`);
  taken.add(name);
  if (!isToolName(`${resource}__${name}`)) {
    throw new BadRequest(`the resource ${resource} leaves no room for the names of operations`, {
      code: "invalid_name",
    });
  }
  return name;
}

/** Summary and description, without control characters, within the limit of a definition. */
function descriptionOf({ operation, label }: DocumentOperation): string {
  const texts = [operation.summary, operation.description].filter(
    (text) => typeof text === "string" && text.trim() !== "",
  );
  const text = (texts.join("\n\n") || label).replace(/[^\P{C}\n\t]/gu, "");
  const bytes = Buffer.from(text, "utf8");
  if (bytes.length <= DESCRIPTION_BYTES_MAX) return text;
  return bytes
    .subarray(0, DESCRIPTION_BYTES_MAX - 3)
    .toString("utf8")
    .replace(/\ufffd+$/, "");
}
