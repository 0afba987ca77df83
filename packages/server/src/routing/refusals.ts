// Refusals that several routes share, and the check of the project that a path names.
//
//   F1. What the kernel refuses keeps its code. The status is the catalogue's, except that a call whose deadline has passed
//       counts as settled for the executor that asks for it (409, not 504).

import type { Kernel, Rejected } from "@tessera/kernel";
import { ERROR_CATALOGUE, NotFound } from "@tessera/protocol";
import { HttpRefusal } from "./problem.ts";
import type { ApiRequest } from "./route-spec.ts";

export function refused({ code }: Rejected, details: Readonly<Record<string, unknown>> = {}): HttpRefusal {
  const { meaning, http } = ERROR_CATALOGUE[code];
  return new HttpRefusal(code, meaning, { details, status: code === "tool_timeout" ? 409 : http }); // F1
}

/** The same message for a project that does not exist and for one that the key does not reach. */
export function unknownProject(projectId: string): NotFound {
  return new NotFound(`there is no project ${projectId}`, { details: { field: "project_id" } });
}

/** The project of a request's path, which must exist. */
export async function existingProject(
  kernel: { readonly reads: Pick<Kernel["reads"], "project"> },
  request: Pick<ApiRequest, "param">,
): Promise<string> {
  const projectId = request.param("project");
  if ((await kernel.reads.project(projectId)) === null) throw unknownProject(projectId);
  return projectId;
}
