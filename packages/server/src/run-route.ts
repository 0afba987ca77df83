// What happens around every handler: it is waited for when the server closes, and what it changed is noted.

import { CGError } from "@tessera/protocol";
import type { AuditNotes } from "./audit-notes.ts";
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
    const about = { spec: route, key: request.key, param: request.param, request_id: request.id };
    try {
      const answer = await route.handle(request);
      if (isWrite && answer.status < 300) notes.wrote({ ...about, made: answer.made ?? {} });
      return answer;
    } catch (error) {
      if (isWrite && error instanceof PartlyDone) notes.wrote({ ...about, made: error.made });
      if (isNoted && isForbidden(error)) notes.refused({ ...about, code: error.code });
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

function isForbidden(error: unknown): error is CGError {
  if (!CGError.is(error)) return false;
  return (error instanceof HttpRefusal ? error.status : error.http) === 403;
}
