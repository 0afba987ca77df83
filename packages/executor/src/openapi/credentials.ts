// Credentials that definitions ask for by the name of an environment variable.
//
//   V1. The record is all there is: it holds what tools may use, never the process's whole environment.
//   V2. A definition names its host and its variable itself, and whoever may upload one could pair another tool's
//       credential with a host of his own. Where the operator says which hosts a variable is for, it goes nowhere else,
//       and a variable that he does not mention goes nowhere at all.
//   V3. Variables that no tool may have (tool's E1) are nobody's credential, whatever is granted.

import { PolicyDenied } from "@tessera/protocol";
import { isEnvAllowed } from "@tessera/tool/catalog";

export type CredentialSource = (variable: string, host: string) => string | undefined;

export function createCredentialSource(
  env: Readonly<Record<string, string | undefined>>,
  hosts: Readonly<Record<string, readonly string[]>> | undefined,
): CredentialSource {
  return (variable, host) => {
    const isGranted = hosts === undefined || (Object.hasOwn(hosts, variable) && hosts[variable]?.includes(host));
    if (!isGranted || !isEnvAllowed(variable)) {
      throw new PolicyDenied(`the variable ${variable} may not be sent to ${host}`, {
        code: "env_not_allowed",
        details: { variable, host },
      });
    }
    const value = Object.hasOwn(env, variable) ? env[variable] : undefined;
    return value === "" ? undefined : value;
  };
}
