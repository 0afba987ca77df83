// The project in a request's path, which must be there.

import type { Kernel } from "@tessera/kernel";
import { unknownProject } from "./refusals.ts";
import type { ApiRequest } from "./route-spec.ts";

export interface ProjectReader {
  readonly reads: Pick<Kernel["reads"], "project">;
}

export async function existingProject(kernel: ProjectReader, request: ApiRequest): Promise<string> {
  const projectId = request.param("project");
  if ((await kernel.reads.project(projectId)) === null) throw unknownProject(projectId);
  return projectId;
}
