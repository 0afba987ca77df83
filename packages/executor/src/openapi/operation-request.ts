// The request of one call of an operation: arguments go into their slots.
//
//   Q1. An argument without a slot is not sent, and a slot is filled from its own argument only.
//   Q2. A value has the shape that its slot can carry, or the call is refused: nothing is turned into `[object Object]`.
//   Q3. An exploded object brings its own query names; it cannot take the name of another parameter.
//   Q4. Credentials go to the server's own origin. While one is attached, a redirect elsewhere is refused even where the
//       host list has the other host, and one to another operation of the server unless the credential is granted for it.

import { BadRequest, isJsonObject, type JsonObject, type JsonValue, PolicyDenied } from "@tessera/protocol";
import type { ToolContext } from "@tessera/tool";
import { type DefinitionCall, SESSION_ARGUMENT, scopeSession, splitArguments } from "./arguments.ts";
import type { CredentialedRequest } from "./credential-grants.ts";
import type { OutgoingRequest } from "./exchange.ts";
import type { ApiOperation, ArgumentSlot, Credential } from "./operation.ts";
import { assembleUrl, encodePathText, encodePathValue, percentEncode } from "./request-url.ts";
import { timeoutSetting } from "./settings.ts";

export interface OperationRequestOptions extends DefinitionCall {
  readonly operation: ApiOperation;
  readonly ctx: Pick<ToolContext, "idempotencyKey">;
}

const LIST_SEPARATORS = {
  form: ",",
  simple: ",",
  spaceDelimited: "%20",
  pipeDelimited: "%7C",
  deepObject: ",",
} as const;

export function operationRequest(options: OperationRequestOptions): OutgoingRequest {
  const { operation, invocation, definition } = options;
  const { sendable, secrets } = splitArguments(options.input, options.variables);
  const args = operation.scopesSession ? scopeSession(sendable, invocation) : sendable;
  const url = assembleUrl(operation.server, fillPath(operation, args), queryPairs(operation, args));
  const body = bodyOf(options, args);
  const sendsKey = operation.idempotencyKey && invocation.effect !== "read";
  const headers: Record<string, string> = {
    accept: "application/json, text/plain;q=0.9, */*;q=0.5",
    ...headerArguments(operation, args),
    ...operation.headers,
    ...(body === undefined ? {} : { "content-type": operation.body?.content_type ?? "application/json" }),
    ...(sendsKey ? { "idempotency-key": options.ctx.idempotencyKey } : {}),
  };
  const hop = (to: URL, method: string): CredentialedRequest => {
    return { url: to, method, headers, hasBody: body !== undefined && method === operation.method };
  };
  const credentials = readCredentials(options, hop(url, operation.method));
  return {
    url,
    method: operation.method,
    headers: { ...headers, ...credentials.headers },
    body,
    timeoutMs: timeoutSetting(
      operation.timeout_s,
      (definition.options.timeoutMs ?? 0) / 1_000,
      definition.options.timeout_seconds,
    ),
    allow(to, method) {
      requireAllowed(to, operation, credentials.sent.length > 0);
      for (const wanted of credentials.sent) options.credential.read(wanted, hop(to, method)); // Q4
    },
    secrets: [...secrets, ...credentials.secrets],
    errorKey: operation.errorKey,
  };
}

function requireAllowed(url: URL, operation: ApiOperation, isAuthorized: boolean): void {
  const isListed = url.protocol === "https:" && operation.hosts.includes(url.host);
  const isClean = url.username === "" && url.password === "";
  const isHome = url.origin === operation.server.origin;
  if (isListed && isClean && (isHome || !isAuthorized)) return; // Q4
  throw new PolicyDenied(`the tool may not go to ${url.host.slice(0, 255)}`, {
    code: "url_not_allowed",
    details: { host: url.host.slice(0, 255) },
  });
}

function readCredentials(
  { operation, credential, definition, onWarning }: OperationRequestOptions,
  request: CredentialedRequest,
): { readonly headers: Record<string, string>; readonly secrets: string[]; readonly sent: Credential[] } {
  const headers: Record<string, string> = {};
  const secrets: string[] = [];
  const carried: Credential[] = [];
  for (const wanted of operation.credentials) {
    const value = credential.read(wanted, request);
    if (value === undefined) {
      onWarning(`${definition.tool_name} is called without a credential: the variable ${wanted.env} is not set`);
      continue;
    }
    const sent = wanted.base64 ? Buffer.from(value).toString("base64") : value;
    carried.push(wanted);
    headers[wanted.header] = wanted.prefix + sent;
    // The password of `user:password` is a secret without its user, too.
    secrets.push(value, sent, ...(wanted.base64 ? [value.slice(value.indexOf(":") + 1)] : []));
  }
  return { headers, secrets, sent: carried };
}

function slotsOf(
  operation: ApiOperation,
  place: ArgumentSlot["in"],
  args: JsonObject,
): { slot: ArgumentSlot; value: JsonValue }[] {
  return operation.slots.flatMap((slot) => {
    if (slot.in !== place) return [];
    const value = args[slot.arg];
    if (value !== undefined && value !== null) return [{ slot, value }];
    if (slot.required)
      throw new BadRequest(`the argument ${slot.arg} is required`, { details: { argument: slot.arg } });
    return [];
  });
}

function fillPath(operation: ApiOperation, args: JsonObject): string {
  const values = new Map<string, string>();
  for (const { slot, value } of slotsOf(operation, "path", args)) {
    const items = Array.isArray(value) && !slot.json ? value : [value];
    if (items.length === 0) throw shapeRefusal(slot, "a list that is not empty");
    values.set(slot.name, items.map((item) => encodePathValue(slot.arg, textOf(slot, item))).join(","));
  }
  return operation.path
    .split(/(\{[^{}]*\})/)
    .map((part) => (part.startsWith("{") ? (values.get(part.slice(1, -1)) ?? "") : encodePathText(part)))
    .join("");
}

function queryPairs(operation: ApiOperation, args: JsonObject): string[] {
  const names = new Set(operation.slots.filter((slot) => slot.in === "query").map((slot) => slot.name));
  return slotsOf(operation, "query", args).flatMap(({ slot, value }) => {
    const pair = (name: string, item: JsonValue) => `${name}=${percentEncode(textOf(slot, item))}`;
    const name = percentEncode(slot.name);
    if (slot.json) return [pair(name, value)];
    if (Array.isArray(value)) return listPairs(slot, name, value, pair);
    if (!isJsonObject(value)) return [pair(name, value)];
    const entries = Object.entries(value).filter(([, item]) => item !== null);
    if (slot.style === "deepObject")
      return entries.map(([key, item]) => pair(`${name}%5B${percentEncode(key)}%5D`, item));
    if (slot.style !== "form") throw shapeRefusal(slot, "a value or a list");
    if (!slot.explode) {
      const parts = entries.flatMap(([key, item]) => [percentEncode(key), percentEncode(textOf(slot, item))]);
      return parts.length === 0 ? [] : [`${name}=${parts.join(",")}`];
    }
    return entries.map(([key, item]) => {
      if (names.has(key)) throw shapeRefusal(slot, `without the key ${JSON.stringify(key.slice(0, 64))}`); // Q3
      return pair(percentEncode(key), item);
    });
  });
}

function listPairs(
  slot: ArgumentSlot,
  name: string,
  items: readonly JsonValue[],
  pair: (name: string, item: JsonValue) => string,
): string[] {
  if (slot.style === "deepObject") throw shapeRefusal(slot, "an object");
  if (items.length === 0) return [];
  if (slot.explode) return items.map((item) => pair(name, item));
  return [`${name}=${items.map((item) => percentEncode(textOf(slot, item))).join(LIST_SEPARATORS[slot.style])}`];
}

function headerArguments(operation: ApiOperation, args: JsonObject): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const { slot, value } of slotsOf(operation, "header", args)) {
    const items = Array.isArray(value) && !slot.json ? value : [value];
    const text = items.map((item) => textOf(slot, item)).join(",");
    // Stricter than a header's own rule: bytes beyond ASCII mean something else to every server.
    if (!/^[\x20-\x7e]*$/.test(text)) throw shapeRefusal(slot, "visible ASCII, because it goes into a header");
    headers[slot.name.toLowerCase()] = text;
  }
  return headers;
}

function bodyOf({ operation, invocation }: OperationRequestOptions, args: JsonObject): string | undefined {
  if (operation.body === null) return undefined;
  const value = args[operation.body.arg];
  if (value === undefined) {
    if (operation.body.required) throw new BadRequest(`the argument ${operation.body.arg} is required`);
    return undefined;
  }
  const holdsAlias = operation.scopesSession && isJsonObject(value) && Object.hasOwn(value, SESSION_ARGUMENT);
  return JSON.stringify(holdsAlias ? scopeSession(value, invocation) : value);
}

/** The text of one scalar (Q2), or of anything where the slot carries JSON. */
function textOf(slot: ArgumentSlot, value: JsonValue): string {
  if (slot.json) return JSON.stringify(value);
  if (typeof value === "string") return value;
  if (typeof value === "number" || typeof value === "boolean") return String(value);
  throw shapeRefusal(slot, "flat: strings, numbers and booleans");
}

function shapeRefusal(slot: ArgumentSlot, expected: string): BadRequest {
  return new BadRequest(`the argument ${slot.arg} must be ${expected}`, { details: { argument: slot.arg } });
}
