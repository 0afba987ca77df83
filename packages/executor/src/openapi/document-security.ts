// The credentials of an operation: which header, from which environment variable.
//
//   C1. A scheme counts where the operation asks for it and its variable is given; of several alternatives the first that
//       can be met whole.
//   C2. A key in a query or a cookie is refused: URLs end up in logs.
//   C3. A name that is no scheme of the document is a header's, and goes with every operation.

import { BadRequest, isJsonObject, type JsonObject } from "@tessera/protocol";
import type { DocumentOperation } from "./document-operation.ts";
import { resolveReference } from "./references.ts";

export function credentialsOf(
  document: JsonObject,
  from: DocumentOperation,
  auth: Readonly<Record<string, string>>,
): JsonObject[] {
  const components = isJsonObject(document.components) ? document.components : {};
  const schemes = isJsonObject(components.securitySchemes) ? components.securitySchemes : {};
  const byHeader = Object.entries(auth)
    .filter(([name]) => !Object.hasOwn(schemes, name))
    .map(([header, env]) => ({ header: header.toLowerCase(), env })); // C3
  const used = requirementOf(document, from, auth, byHeader.length > 0).map((name) =>
    schemeCredential(name, resolveReference(document, schemes[name]).value, auth[name] as string),
  );
  const credentials = [...used, ...byHeader];
  const headers = credentials.map(({ header }) => header);
  if (new Set(headers).size < headers.length) {
    throw new BadRequest(`two credentials of ${from.label} go into the same header`);
  }
  return credentials;
}

/** The schemes of the alternative that is used (C1). */
function requirementOf(
  document: JsonObject,
  from: DocumentOperation,
  auth: Readonly<Record<string, string>>,
  hasHeader: boolean,
): string[] {
  const security = from.operation.security ?? document.security;
  const alternatives = (Array.isArray(security) ? security : []).filter(isJsonObject).map((item) => Object.keys(item));
  if (alternatives.length === 0) return [];
  const isMet = (names: string[]) => names.every((name) => Object.hasOwn(auth, name));
  const met = alternatives.find((names) => names.length > 0 && isMet(names)) ?? alternatives.find(isMet);
  if (met !== undefined) return met;
  // A header that was given by its own name is the operator's answer to the scheme.
  if (hasHeader) return [];
  const wanted = alternatives.map((names) => names.join(" and ")).join(", or ");
  throw new BadRequest(`${from.label} needs ${wanted}: give its variable in auth, or leave the operation out`);
}

function schemeCredential(name: string, scheme: unknown, env: string): JsonObject & { header: string } {
  if (!isJsonObject(scheme)) throw new BadRequest(`the security scheme ${name} is not in the document`);
  const kind = scheme.type === "http" ? String(scheme.scheme).toLowerCase() : scheme.type;
  if (kind === "bearer" || kind === "oauth2" || kind === "openIdConnect") {
    return { header: "authorization", prefix: "Bearer ", env };
  }
  if (kind === "basic") return { header: "authorization", prefix: "Basic ", base64: true, env };
  if (kind === "apiKey" && scheme.in === "header" && typeof scheme.name === "string") {
    return { header: scheme.name.toLowerCase(), env };
  }
  throw new BadRequest(`the security scheme ${name} cannot be used: credentials are sent in headers only`); // C2
}
