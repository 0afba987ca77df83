// Writes definitions to the registry of a project, which is made where it is missing.

import { errorOf } from "@tessera/protocol";
import type { ToolDefinition } from "@tessera/tool";
import type { Node } from "../process/open-node.ts";

/** A tool of a project, and what storing it changed. */
export interface StoredTool {
  readonly tool_name: string;
  /** `duplicate`: the current version says the same. */
  readonly outcome: "accepted" | "duplicate";
  readonly digest: string;
  readonly version: number;
}

/** Stores definitions of tools in a project. */
export async function storeTools(
  { kernel }: Pick<Node, "kernel">,
  projectId: string,
  definitions: readonly ToolDefinition[],
): Promise<StoredTool[]> {
  // Another node may make it meanwhile; then it stays as that one made it, which is all that a worker's login may do to it.
  if ((await kernel.reads.project(projectId)) === null)
    await kernel.putProject({ project_id: projectId, expected_revision: null });
  const stored: StoredTool[] = [];
  for (const definition of definitions) {
    const outcome = await kernel.putTool({ project_id: projectId, ...definition } as Parameters<
      typeof kernel.putTool
    >[0]);
    if (outcome.outcome === "rejected") throw errorOf(outcome.code, `${definition.tool_name} was not registered`);
    const { digest, version } = outcome;
    stored.push({ tool_name: definition.tool_name, outcome: outcome.outcome, digest, version });
  }
  return stored;
}
