// Tools that are definitions only: Jina's search and reader, and any operation of an OpenAPI document. `options.jina` and
// `options.openapi` say everything about the request, so any such definition that a call has pinned can be run here.
//
//   A document becomes tools           loadApis
//   A definition is run                createOpenApiHost(options).codeFor(definition, invocation)
//   What a definition asks for         credentialVariables, grantsFor
//
//   O1. Everything is decided when the call runs, from the pinned definition: a wrong one fails its call with
//       `bad_request`, and nothing is kept between two calls.
//   O2. `codeFor` takes the invocation beside the definition. A handler's context knows no project, and the session's
//       identity (arguments.ts, G2) and the trace are the invocation's.
//   O3. Only this module of the folder is imported from outside, and it loads the others when they are first used: a process
//       without such tools loads none of them.

import type { Clock } from "@tessera/kernel/ports";
import { isJsonObject, type JsonObject } from "@tessera/protocol";
import type { RegisteredTool, ToolCode, ToolDefinition, ToolInvocation } from "@tessera/tool";
import type { DocumentApi, Mistake } from "@tessera/tool/resources";
import type { Outgoing } from "../net/http-call.ts";
import type { CredentialGrant } from "./credential-grants.ts";

export interface OpenApiHostOptions {
  /** Dials public addresses only; which hosts may be named is decided here. */
  readonly dispatcher: Outgoing;
  /** What tools may use, and nothing else (credentials.ts, V1). */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The requests that credentials may go out with (V2); asked for once, with the first call. */
  readonly grants: () => Promise<readonly CredentialGrant[]>;
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
  let loading: ReturnType<typeof load> | null = null;
  async function load() {
    const [{ definitionRunner }, grants] = await Promise.all([import("./run-definition.ts"), options.grants()]);
    return definitionRunner(options, grants);
  }
  return {
    codeFor(definition, invocation) {
      if (!isRequestDefinition(definition)) return null;
      return {
        kind: "function",
        async handler(ctx, input) {
          loading ??= load();
          const run = await loading;
          return await run({ definition, invocation, ctx, input });
        },
      };
    },
  };
}

/** Whether a definition describes an HTTP request and needs no code. */
export function isRequestDefinition({ options }: ToolDefinition): boolean {
  return isJsonObject(options.jina) || isJsonObject(options.openapi);
}

/** The variables whose values a definition sends as credentials. */
export async function credentialVariables(definition: ToolDefinition): Promise<string[]> {
  if (!isRequestDefinition(definition)) return [];
  const { credentialGrants } = await import("./credential-grants.ts");
  return credentialGrants(definition).map(({ variable }) => variable);
}

/** The grants of an operator: the lines as they are written, checked at once; the rest when it is asked for. */
export async function grantsFor(
  lines: readonly string[],
): Promise<(trusted: readonly ToolDefinition[]) => OpenApiHostOptions["grants"]> {
  const load = () => import("./credential-grants.ts");
  const written = lines.length === 0 ? [] : lines.map((await load()).readCredentialGrant);
  return (trusted) => async () => {
    const { credentialGrants, jinaKeyGrants } = await load();
    return [...jinaKeyGrants(), ...written, ...trusted.flatMap(credentialGrants)];
  };
}

/** The tools of the APIs of a bundle. `root` is a real path. Mistakes are added to the list. */
export async function loadApis(
  apis: readonly DocumentApi[],
  root: string,
  mistakes: Mistake[],
): Promise<RegisteredTool[]> {
  if (apis.length === 0) return [];
  const { loadApi } = await import("./bundle-apis.ts");
  const tools: RegisteredTool[] = [];
  for (const api of apis) tools.push(...(await loadApi(api, root, mistakes)));
  return tools;
}
