// Who changed what through the API, and who tried what they may not: rows of the audit log.
//
//   N1. Every write that was done is noted, also one whose answer is a refusal (God's time-out, an upload that failed half way), and
//       every 403, with the key, the client's address, the operation, its ids and those of what it made. Never a body.
//   N2. A note is written behind the answer: no request waits for it. close() waits for all of them.
//   N3. Refusals of one key are noted REFUSALS.burst at once and then perSecond: a flood of them must not become a flood of rows.
//   N4. What cannot be noted is told to the operator; the request was answered already.

import type { ApiKeyIdentity, Kernel } from "@tessera/kernel";
import type { Clock } from "@tessera/kernel/ports";
import { createRateLimiter } from "../http/rate-limiter.ts";
import { describeFault } from "../routing/problem.ts";
import { given } from "../routing/query-values.ts";
import { paramsOf, type RouteSpec } from "../routing/route-spec.ts";

interface AuditNote {
  readonly spec: RouteSpec;
  readonly key: ApiKeyIdentity;
  /** Of the client (client-address.ts). */
  readonly address: string;
  readonly param: (name: string) => string;
  /** What came of it: `ok`, or the code of the refusal. */
  readonly code: string;
  readonly request_id?: string;
  /** Ids that are not in the path (N1). */
  readonly made?: Readonly<Record<string, string>>;
}

export interface AuditNotes {
  wrote(note: Omit<AuditNote, "code">): void;
  refused(note: AuditNote): void;
  close(): Promise<void>;
}

const REFUSALS = { perSecond: 0.2, burst: 20 };
/** More that wait to be written are not kept: the database is away (N4). */
const PENDING_MAX = 1_000;

export function createAuditNotes(world: {
  readonly kernel: Pick<Kernel, "putAudit">;
  readonly clock: Clock;
  readonly onWarning: (warning: string) => void;
}): AuditNotes {
  const { kernel, clock, onWarning } = world;
  const refusals = createRateLimiter(clock, REFUSALS);
  const pending = new Set<Promise<unknown>>();

  function write({ spec, key, address, param, code, request_id, made = {} }: AuditNote): void {
    const missed = (why: string) => onWarning(`audit: ${spec.id} by ${key.key_id} was not noted: ${why}`); // N4
    if (pending.size >= PENDING_MAX) {
      missed("too many notes wait");
      return;
    }
    const ids = { ...Object.fromEntries(paramsOf(spec.path).map((name) => [name, param(name)])), ...made };
    const { project = key.project_id, turn, call, ...others } = ids;
    const note = {
      project_id: project,
      kind: `api.${spec.id}`,
      code,
      principal: key.key_id,
      agent_turn_id: turn,
      tool_call_id: call,
      detail: { role: key.role, address, ...others, ...given({ request_id }) },
    };
    const written = kernel
      .putAudit(note)
      .then((outcome) => (outcome.outcome === "rejected" ? missed(outcome.code) : undefined))
      .catch((error: unknown) => missed(describeFault(error)))
      .finally(() => pending.delete(written));
    pending.add(written);
  }

  return {
    wrote: (note) => write({ ...note, code: "ok" }),
    refused(note) {
      if (refusals.take(note.key.key_id) === 0) write(note); // N3
    },
    async close() {
      await Promise.all(pending); // N2
    },
  };
}
