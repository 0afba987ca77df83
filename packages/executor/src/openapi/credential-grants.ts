// Which credentials may go out with which requests: what an operator who trusts a definition, or writes a line for it,
// grants (credentials.ts, V2).
//
//   N1. A definition of the operator's own bundle is granted exactly the operation that it describes, read by the code
//       that runs it: its variable in its header, its host, its method, the template of its path, and beside these no
//       query, no header and no body that the operation does not have. What its arguments may be is not part of it.
//   N2. A definition that cannot be run asks for nothing.
//   N3. Anything wider is written: `VARIABLE METHODS HOST/PATH [in HEADER]`, such as
//       `API_TOKEN GET|POST api.example.com/v1/** in x-api-key`. Without `in` the header is `authorization`.
//       A line says nothing of query, other headers and body, so headers and query names by which servers are told
//       another method or path are refused. Bodies are not judged.
//   N4. A grant is for one header, and for what may stand before the value in it. In another header the same host may
//       pass the value on: Jina's reader sends `x-set-cookie` to the page that it reads.

import { BadRequest, isJsonObject, type JsonValue } from "@tessera/protocol";
import type { ToolDefinition } from "@tessera/tool";
import { isEnvName } from "@tessera/tool/catalog";
import { API_METHODS, apiHostOf } from "@tessera/tool/resources";
import { checkRequestHeaders } from "../net/http-headers.ts";
import { withoutTrailing } from "../net/without-trailing.ts";
import { isJinaDefinition, JINA_CREDENTIAL, jinaOperation } from "./jina-request.ts";
import {
  type ApiOperation,
  type ArgumentSlot,
  type Credential,
  isCookieLike,
  RESERVED_HEADERS,
  readOperation,
} from "./operation.ts";
import { type PathPattern, pathPattern } from "./path-pattern.ts";
import { encodePathText } from "./request-url.ts";

/** A request as it would go out, all but its credentials. Names of headers in lower case. */
export interface CredentialedRequest {
  readonly url: URL;
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly hasBody: boolean;
}

export interface CredentialGrant {
  readonly variable: string;
  /** In the form of URL.host. */
  readonly host: string;
  /** Whether the credential may stand in its place of a request to this host. */
  covers(wanted: Credential, request: CredentialedRequest): boolean;
}

export function credentialGrants(definition: ToolDefinition): readonly CredentialGrant[] {
  try {
    if (isJinaDefinition(definition)) {
      const { credential, host, method, path } = jinaOperation(definition);
      return [patternGrant(credential.env, host, [method], path, isSameForm(credential))];
    }
    const { openapi } = definition.options;
    if (!isJsonObject(openapi)) return [];
    const operation = readOperation(openapi);
    return operation.credentials.map((credential) => operationGrant(definition, operation, credential)); // N1
  } catch {
    return []; // N2
  }
}

/** What Jina's key may go out with whatever the bundle holds: its search at both paths, and its reader. */
export function jinaKeyGrants(): readonly CredentialGrant[] {
  const places = [
    ["s.jina.ai", "/"],
    ["s.jina.ai", "/search"],
    ["r.jina.ai", "/{+url}"],
  ] as const;
  const isForm = isSameForm(JINA_CREDENTIAL);
  return places.map(([host, path]) => patternGrant(JINA_CREDENTIAL.env, host, ["GET", "POST"], path, isForm));
}

/** N3. Refuses what is no such line with `bad_request`. */
export function readCredentialGrant(line: string): CredentialGrant {
  const [variable = "", methods = "", place = "", ...end] = line.trim().split(/\s+/);
  const [word, header = "", ...more] = end.length === 0 ? ["in", "authorization"] : end;
  const slash = place.indexOf("/");
  const host = apiHostOf(slash === -1 ? place : place.slice(0, slash));
  const named = methods === "*" ? API_METHODS : methods.toUpperCase().split("|");
  const isWhole = word === "in" && more.length === 0;
  const isKnown = named.every((method) => API_METHODS.some((known) => known === method));
  try {
    if (isWhole && isEnvName(variable) && host !== null && isKnown && slash !== -1) {
      return patternGrant(variable, host, named, place.slice(slash), writtenForm(header));
    }
  } catch {
    // The sentence below says what is wanted.
  }
  throw new BadRequest(
    `${JSON.stringify(line.slice(0, 200))} is no grant: write VARIABLE METHODS HOST/PATH, such as API_TOKEN GET|POST api.example.com/v1/pets/{id}, and at its end "in HEADER" where the credential goes into another header than authorization`,
  );
}

/** N4. Whether a credential goes out in the form that is granted. */
type CredentialForm = (wanted: Credential) => boolean;

function isSameForm(granted: Credential): CredentialForm {
  return ({ header, prefix, base64 }) =>
    header.toLowerCase() === granted.header && prefix === granted.prefix && base64 === granted.base64;
}

/** Of a written line: its header, and before the value nothing or the name of a scheme. */
function writtenForm(named: string): CredentialForm {
  const granted = named.toLowerCase();
  checkRequestHeaders({ [granted]: "" });
  const isFilled = granted !== "authorization" && RESERVED_HEADERS.has(granted);
  if (isFilled || isCookieLike(granted) || STEERING_HEADER.test(granted)) {
    throw new BadRequest(`no credential may be granted for the header ${granted}`);
  }
  return ({ header, prefix, base64 }) =>
    header.toLowerCase() === granted && (base64 ? BASIC : SCHEME_OR_NONE).test(prefix);
}

const SCHEME_OR_NONE = /^(?:[a-z][a-z0-9-]* )?$/i;
const BASIC = /^basic $/i;

function patternGrant(
  variable: string,
  host: string,
  methods: readonly string[],
  path: string,
  isForm: CredentialForm,
): CredentialGrant {
  const fits = requirePattern(path, "written");
  return {
    variable,
    host,
    covers: (wanted, { url, method, headers }) =>
      isForm(wanted) &&
      methods.includes(method) &&
      isPlainUrl(url, host) &&
      fits(url.pathname) &&
      !Object.keys(headers).some((name) => STEERING_HEADER.test(name)) &&
      ![...url.searchParams.keys()].some(isMethodOverride),
  };
}

/** N3. Frameworks and proxies obey these in place of the request's own method, path or host. */
const STEERING_HEADER =
  /^(?:forwarded|host|x-forwarded-.*|x-http-.*|x-method.*|x-original-.*|x-rewrite-.*|x-override-.*|x-envoy-.*)$/;

/** Names in a query that frameworks obey in place of the request's method; PHP reads a dot or a space as `_`. */
const METHOD_OVERRIDES: ReadonlySet<string> = new Set([
  "_method",
  "x-http-method",
  "x-http-method-override",
  "x-method-override",
]);

function isMethodOverride(name: string): boolean {
  return METHOD_OVERRIDES.has(name.toLowerCase().trim().replace(/[ .[]/g, "_"));
}

/** N1 */
function operationGrant(definition: ToolDefinition, operation: ApiOperation, granted: Credential): CredentialGrant {
  const { server, method, path, slots, headers: fixed, body } = operation;
  const fits = requirePattern(withoutTrailing(server.pathname, "/") + path, "operation");
  const isForm = isSameForm(granted);
  const isQuery = queryNames(definition, slots);
  const filled = new Set(slots.flatMap((slot) => (slot.in === "header" ? [slot.name.toLowerCase()] : [])));
  const isHeader = (name: string, value: string) =>
    OWN_HEADERS.has(name) || filled.has(name) || (Object.hasOwn(fixed, name) && fixed[name] === value);
  return {
    variable: granted.env,
    host: server.host,
    covers: (wanted, { url, method: asked, headers, hasBody }) =>
      isForm(wanted) &&
      asked === method &&
      isPlainUrl(url, server.host) &&
      fits(url.pathname) &&
      [...url.searchParams.keys()].every(isQuery) &&
      Object.entries(headers).every(([name, value]) => isHeader(name, value)) &&
      Object.entries(fixed).every(([name, value]) => headers[name] === value) &&
      (!hasBody || (body !== null && headers["content-type"] === body.content_type)),
  };
}

/** Those that the executor writes itself. */
const OWN_HEADERS: ReadonlySet<string> = new Set(["accept", "content-type", "idempotency-key"]);

/** The names that a query of the operation may have. An exploded object brings its own, but no other method. */
function queryNames(definition: ToolDefinition, slots: readonly ArgumentSlot[]): (name: string) => boolean {
  const inQuery = slots.filter((slot) => slot.in === "query");
  const properties = isJsonObject(definition.parameters.properties) ? definition.parameters.properties : {};
  const bringsNames = (slot: ArgumentSlot) =>
    slot.style === "form" && slot.explode && !slot.json && mayBeObject(properties[slot.arg]);
  const isOpen = inQuery.some(bringsNames);
  const names = new Set(inQuery.filter(({ style }) => style !== "deepObject").map(({ name }) => name));
  const deep = inQuery.filter(({ style }) => style === "deepObject").map(({ name }) => `${name}[`);
  return (name) =>
    names.has(name) || deep.some((start) => name.startsWith(start)) || (isOpen && !isMethodOverride(name));
}

function mayBeObject(schema: JsonValue | undefined): boolean {
  const type = isJsonObject(schema) ? schema.type : undefined;
  const types = Array.isArray(type) ? type : [type];
  return types.some((name) => name === undefined || name === "object");
}

function requirePattern(path: string, kind: "operation" | "written"): PathPattern {
  const parts = path.split(/(\{[^{}]*\})/);
  const text = parts.map((part, index) => (index % 2 === 1 ? part : encodePathText(part))).join("");
  const isWhole = parts.every((part, index) => index % 2 === 1 || !/[{}]/.test(part));
  const pattern = isWhole ? pathPattern(text, kind) : null;
  if (pattern === null) throw new BadRequest(`${JSON.stringify(path.slice(0, 200))} is no pattern of a path`);
  return pattern;
}

function isPlainUrl(url: URL, host: string): boolean {
  return url.protocol === "https:" && url.host === host && url.username === "" && url.password === "";
}
