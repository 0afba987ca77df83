// Credentials that definitions ask for by the name of an environment variable.
//
//   V1. The record is all there is: it holds what tools may use, never the process's whole environment.
//   V2. A definition names its variable and its request itself, and an upload could pair the credential of another tool
//       with a host of its own, or with another operation of that tool's host. A variable goes out with the requests that
//       a grant covers (credential-grants.ts), and with no other.
//   V3. Variables that no tool may have (tool's E1) are not given to any request, whatever is granted.

import { PolicyDenied } from "@tessera/protocol";
import { isEnvAllowed } from "@tessera/tool/catalog";
import type { CredentialedRequest, CredentialGrant } from "./credential-grants.ts";
import type { Credential } from "./operation.ts";

export interface CredentialSource {
  /** The value for one request; undefined when the variable is not set. Refuses with `env_not_allowed`. */
  read(wanted: Credential, request: CredentialedRequest): string | undefined;
}

export function createCredentialSource(
  env: Readonly<Record<string, string | undefined>>,
  grants: readonly CredentialGrant[],
): CredentialSource {
  return {
    read(wanted, request) {
      const variable = wanted.env;
      const isGranted = grants.some((grant) => grant.variable === variable && grant.covers(wanted, request));
      if (!isGranted || !isEnvAllowed(variable)) {
        const { host, pathname } = request.url;
        const path = pathname.slice(0, PATH_CHARS_SHOWN);
        throw new PolicyDenied(`the variable ${variable} may not be sent to ${host} with ${request.method} ${path}`, {
          code: "env_not_allowed",
          details: { variable, host, method: request.method, path },
        });
      }
      const value = Object.hasOwn(env, variable) ? env[variable] : undefined;
      return value === "" ? undefined : value;
    },
  };
}

const PATH_CHARS_SHOWN = 300;
