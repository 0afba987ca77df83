// Uploaded documents are cheap to send and costly to read, so they are limited by what they cost: a bucket of milliseconds
// for each key and for each project.
//
//   B1. What a document costs is known when it was read, accepted or refused. A bucket may go below zero; the next
//       document waits until it is filled again.

import type { ApiKeyIdentity } from "@tessera/kernel";
import type { Clock } from "@tessera/kernel/ports";
import { rateLimited } from "../access/access.ts";
import { createRateLimiter } from "./rate-limiter.ts";
import type { ServerLimits } from "./server-limits.ts";

export interface ReadingBudget {
  /** Throws 429 where the key or the project has used its milliseconds; else answers where the cost is told. */
  open(key: Pick<ApiKeyIdentity, "key_id">, projectId: string): (costMs: number) => void;
}

export function createReadingBudget(
  clock: Clock,
  limits: Pick<ServerLimits, "readingMsPerKey" | "readingMsPerProject">,
): ReadingBudget {
  const keys = createRateLimiter(clock, limits.readingMsPerKey);
  const projects = createRateLimiter(clock, limits.readingMsPerProject);
  return {
    open({ key_id }, projectId) {
      rateLimited(Math.max(keys.take(key_id), projects.take(projectId)));
      return (costMs) => {
        keys.charge(key_id, costMs); // B1
        projects.charge(projectId, costMs);
      };
    },
  };
}
