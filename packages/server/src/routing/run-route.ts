// What happens around every handler: it is waited for when the server closes, and what it changed is noted.

import { TesseraError } from "@tessera/protocol";
import type { AuditNotes } from "../access/audit-notes.ts";
import { HttpRefusal, PartlyDone } from "./problem.ts";
import { type ApiAnswer, type ApiRequest, isAudited, type RouteSpec } from "./route-spec.ts";

export function runRoute(
  route: RouteSpec,
  world: { readonly running: Set<Promise<unknown>>; readonly notes: AuditNotes },
): RouteSpec {
  const { running, notes } = world;
  const isWrite = isAudited(route);
  const isNoted = route.tag !== "executors" && route.roles !== "anyone";

  async function handle(request: ApiRequest): Promise<ApiAnswer> {
    const { key, address, param, id: request_id } = request;
    const about = { spec: route, key, address, param, request_id };
    try {
      const answer = await route.handle(request);
      if (isWrite && answer.status < 300) notes.wrote({ ...about, made: answer.made ?? {} });
      return answer;
    } catch (error) {
      if (isWrite && error instanceof PartlyDone) notes.wrote({ ...about, made: error.made });
      // Of an executor's refusals l0 notes those that it gives; what a policy denies it never sees.
      if (isForbidden(error) && (isNoted || error.code === "delegation_denied"))
        notes.refused({ ...about, code: error.code });
      throw error;
    }
  }

  return {
    ...route,
    handle(request) {
      const work = handle(request).finally(() => running.delete(work));
      running.add(work);
      return work;
    },
  };
}

function isForbidden(error: unknown): error is TesseraError {
  if (!TesseraError.is(error)) return false;
  return (error instanceof HttpRefusal ? error.status : error.http) === 403;
}
