// The server of an operation: the most specific list of the document, its first entry, variables filled in.

import { BadRequest, isJsonObject, type JsonObject } from "@tessera/protocol";
import type { DocumentOperation } from "./document-operation.ts";
import { readBaseUrl } from "./request-url.ts";

export function serverOf(
  document: JsonObject,
  from: DocumentOperation,
  options: { readonly baseUrl?: string; readonly serverVariables?: Readonly<Record<string, string>> },
  hosts: readonly string[],
): string {
  const lists = [from.operation.servers, from.pathItem.servers, document.servers];
  const list = lists.find((servers) => Array.isArray(servers) && servers.length > 0);
  const server = Array.isArray(list) && isJsonObject(list[0]) ? list[0] : {};
  const text = options.baseUrl ?? fillVariables(server, options.serverVariables ?? {}, from);
  if (text === null || text.startsWith("/")) {
    throw new BadRequest(`${from.label} has no absolute server in the document: give baseUrl`);
  }
  const url = readBaseUrl(text, `the server of ${from.label}`);
  if (!hosts.includes(url.host)) {
    throw new BadRequest(`the server of ${from.label} is on ${url.host}, which is not among the hosts`, {
      code: "url_not_allowed",
      details: { host: url.host },
    });
  }
  return url.href.replace(/\/$/, "");
}

function fillVariables(
  server: JsonObject,
  given: Readonly<Record<string, string>>,
  from: DocumentOperation,
): string | null {
  if (typeof server.url !== "string") return null;
  const variables = isJsonObject(server.variables) ? server.variables : {};
  return server.url.replace(/\{([^{}]*)\}/g, (_, name: string) => {
    const declared = Object.hasOwn(variables, name) ? variables[name] : undefined;
    const spec = isJsonObject(declared) ? declared : {};
    const value = Object.hasOwn(given, name) ? given[name] : spec.default;
    if (typeof value !== "string") throw new BadRequest(`the server variable ${name} of ${from.label} has no value`);
    if (Array.isArray(spec.enum) && !spec.enum.includes(value)) {
      throw new BadRequest(`the server variable ${name} of ${from.label} must be one of its enum`);
    }
    return value;
  });
}
