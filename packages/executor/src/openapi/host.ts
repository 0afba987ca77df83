// The host of tools that are definitions only: `options.jina` and `options.openapi` say everything about the request, so
// any such definition that a call has pinned can be run here.
//
//   O1. Everything is decided when the call runs, from the pinned definition: a wrong one fails its call with
//       `bad_request`, and nothing is kept between two calls.
//   O2. `codeFor` takes the invocation beside the definition. A handler's context knows no project, and the session's
//       identity (arguments.ts, G2) and the trace are the invocation's.

import type { Clock } from "@tessera/kernel/ports";
import { isJsonObject, type JsonObject } from "@tessera/protocol";
import type { ToolCode, ToolDefinition, ToolInvocation } from "@tessera/tool";
import type { Outgoing } from "../net/http-call.ts";
import { argumentVariables } from "./arguments.ts";
import type { CredentialGrant } from "./credential-grants.ts";
import { createCredentialSource } from "./credentials.ts";
import { exchange } from "./exchange.ts";
import { isJinaDefinition, jinaRequest } from "./jina-request.ts";
import { readOperation } from "./operation.ts";
import { operationRequest } from "./operation-request.ts";

export interface OpenApiHostOptions {
  /** Dials public addresses only; which hosts may be named is decided here. */
  readonly dispatcher: Outgoing;
  /** What tools may use, and nothing else (credentials.ts, V1). */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The requests that credentials may go out with (V2). */
  readonly grants: readonly CredentialGrant[];
  readonly clock: Clock;
  /** The service's configuration; its `envs` override those of definitions (arguments.ts). */
  readonly service?: JsonObject;
  readonly onWarning: (warning: string) => void;
}

export interface OpenApiHost {
  /** The code of a definition, for one call of it; null when it is not of this kind. */
  codeFor(definition: ToolDefinition, invocation: ToolInvocation): ToolCode | null;
}

export function createOpenApiHost(options: OpenApiHostOptions): OpenApiHost {
  const { dispatcher, clock, onWarning } = options;
  const credential = createCredentialSource(options.env, options.grants);
  return {
    codeFor(definition, invocation) {
      const { jina, openapi } = definition.options;
      if (!isJsonObject(jina) && !isJsonObject(openapi)) return null;
      return {
        kind: "function",
        async handler(ctx, input) {
          const variables = argumentVariables(definition, options.service);
          const call = { definition, invocation, input, credential, variables, onWarning };
          const request = isJinaDefinition(definition)
            ? jinaRequest(call)
            : operationRequest({ ...call, operation: readOperation(openapi), ctx });
          return exchange(request, { dispatcher, clock, invocation, ctx });
        },
      };
    },
  };
}
