// Which credentials a definition would send where: what an operator who trusts the definition grants it
// (credentials.ts, V2).
//
//   N1. Exactly what a call of the definition would ask for, read by the code that runs it: one variable and one host at
//       a time. Other hosts of its list are for redirects, which never carry a credential.
//   N2. A definition that cannot be run asks for nothing.

import { isJsonObject } from "@tessera/protocol";
import type { ToolDefinition } from "@tessera/tool";
import { isJinaDefinition, jinaCredential } from "./jina-request.ts";
import { readOperation } from "./operation.ts";

export type CredentialGrant = readonly [variable: string, host: string];

export function credentialGrants(definition: ToolDefinition): readonly CredentialGrant[] {
  try {
    if (isJinaDefinition(definition)) return [jinaCredential(definition)];
    const { openapi } = definition.options;
    if (!isJsonObject(openapi)) return [];
    const { server, credentials } = readOperation(openapi);
    return [...new Set(credentials.map(({ env }) => env))].map((env) => [env, server.host] as const); // N1
  } catch {
    return []; // N2
  }
}
