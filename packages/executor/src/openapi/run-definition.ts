// One call of a definition that describes its request (index.ts).

import type { JsonObject } from "@tessera/protocol";
import type { ToolContext, ToolDefinition, ToolInvocation } from "@tessera/tool";
import { argumentVariables } from "./arguments.ts";
import type { CredentialGrant } from "./credential-grants.ts";
import { createCredentialSource } from "./credentials.ts";
import { exchange } from "./exchange.ts";
import type { OpenApiHostOptions } from "./index.ts";
import { isJinaDefinition, jinaRequest } from "./jina-request.ts";
import { readOperation } from "./operation.ts";
import { operationRequest } from "./operation-request.ts";

interface RequestCall {
  readonly definition: ToolDefinition;
  readonly invocation: ToolInvocation;
  readonly ctx: ToolContext;
  readonly input: JsonObject;
}

export function definitionRunner(options: OpenApiHostOptions, grants: readonly CredentialGrant[]) {
  const { dispatcher, clock, onWarning } = options;
  const credential = createCredentialSource(options.env, grants);
  return ({ definition, invocation, ctx, input }: RequestCall): Promise<JsonObject> => {
    const variables = argumentVariables(definition, options.service);
    const call = { definition, invocation, input, credential, variables, onWarning };
    const request = isJinaDefinition(definition)
      ? jinaRequest(call)
      : operationRequest({ ...call, operation: readOperation(definition.options.openapi), ctx });
    return exchange(request, { dispatcher, clock, invocation, ctx });
  };
}
