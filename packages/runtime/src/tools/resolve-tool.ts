// Which code of this host a call may have. A call names a tool and pins a definition; both were written by a client that may
// define tools in a project, and that is not the same as running code here.
//
//   R1. Code of this host runs only for the project it was opened for, and only for definitions that mean it: the same
//       placement, the same subject.
//   R2. Which variables of this host a tool gets is the host's to say: `envs` come from the definition it was loaded with. A
//       pinned definition may name others only where the operator has listed what tools may read.
//   R3. A definition that is nothing but a description of an HTTP API has no code here; what it may reach and send is
//       decided by its host lists (credentials.ts in the executor).

import type { OpenApiHost } from "@tessera/executor";
import type { RegisteredTool, ToolDefinition, ToolInvocation } from "@tessera/tool";
import { toolPolicy } from "@tessera/tool";
import type { ToolRegistry } from "@tessera/tool/catalog";

export function createResolve(options: {
  readonly project: string;
  readonly registry: Pick<ToolRegistry, "get">;
  readonly openApi: OpenApiHost;
  readonly envAllowList?: readonly string[] | undefined;
}): (invocation: ToolInvocation) => RegisteredTool | null {
  const { project, registry, openApi, envAllowList } = options;
  return (invocation) => {
    if (invocation.project_id !== project) return null; // R1
    const pinned = invocation.definition;
    const known = registry.get(invocation.tool_name);
    if (known !== undefined && known.code !== null && (pinned === null || means(pinned, known.definition))) {
      return { definition: withOwnEnvs(pinned ?? known.definition, known.definition, envAllowList), code: known.code };
    }
    const definition = pinned ?? known?.definition;
    return definition === undefined ? null : { definition, code: openApi.codeFor(definition, invocation) }; // R3
  };
}

/** Whether a pinned definition, maybe of an earlier version, is one of this host's tool (R1). */
function means(pinned: ToolDefinition, own: ToolDefinition): boolean {
  return pinned.target_subject === own.target_subject && toolPolicy(pinned).placement === toolPolicy(own).placement;
}

/** R2 */
function withOwnEnvs(
  definition: ToolDefinition,
  own: ToolDefinition,
  allowList: readonly string[] | undefined,
): ToolDefinition {
  if (definition === own) return definition;
  const pinned = allowList === undefined ? {} : definition.options.envs;
  const envs = { ...pinned, ...own.options.envs };
  const { envs: _, ...options } = definition.options;
  return { ...definition, options: Object.keys(envs).length === 0 ? options : { ...options, envs } };
}
