// The tools of a project as its registry in the store has them now, kept between calls.
//
//   P1. The store decides what exists; a version that did not change since the last look is not read or checked again.
//   P2. A definition that this build cannot use is left out and reported once; it does not hide the others. Schemas are compiled
//       by the first call (argument-plan.ts, L3): a project may have hundreds of tools.

import type { ToolDefinition } from "../definition.ts";
import { type ToolCatalog, ToolRegistry } from "./tool-registry.ts";

interface Known {
  readonly registry: ToolRegistry;
  readonly digests: Map<string, string>;
}

type StoredTool = ToolDefinition & { readonly digest: string };

/** Where definitions are read: `kernel.reads`. */
export interface ToolReads {
  tools(projectId: string): Promise<readonly StoredTool[]>;
}

export interface ProjectTools {
  catalogOf(projectId: string): Promise<ToolCatalog>;
  digestOf(definition: ToolDefinition): string | undefined;
}

export function createProjectTools(reads: ToolReads, onWarning: (warning: string) => void): ProjectTools {
  const known = new Map<string, Known>();
  const digestOf = new WeakMap<ToolDefinition, string>();
  return {
    digestOf: (definition) => digestOf.get(definition),
    async catalogOf(projectId) {
      const project = known.get(projectId) ?? { registry: new ToolRegistry({ isStored: true }), digests: new Map() };
      known.set(projectId, project);
      const rows = await reads.tools(projectId);
      const names = new Set(rows.map((row) => row.tool_name));
      for (const name of project.digests.keys()) {
        if (names.has(name)) continue;
        project.registry.unregister(name);
        project.digests.delete(name);
      }
      for (const row of rows) {
        const { tool_name: name, digest } = row;
        if (project.digests.get(name) === digest) continue; // P1
        project.registry.unregister(name);
        project.digests.set(name, digest);
        const definition = definitionOf(row);
        try {
          project.registry.register({ definition, code: null });
          digestOf.set(definition, digest);
        } catch (error) {
          onWarning(`tool ${name} of project ${projectId} cannot be offered: ${String(error)}`); // P2
        }
      }
      return project.registry.catalog();
    },
  };
}

function definitionOf({
  tool_name,
  description,
  parameters,
  target_subject,
  after_execution,
  options,
}: StoredTool): ToolDefinition {
  return { tool_name, description, parameters, target_subject, after_execution, options };
}
