// Who may do what: from a request's key to its identity, its project and its role.
//
//   A1. No key and a key that counts for nothing are answered alike.
//   A2. A project that the key does not reach is answered like one that does not exist, before the role is looked at.
//   A3. A flood is stopped by the address before the key is looked up, and by the key before the body is read.
//   A4. A key that asks for what its role may not do is noted for the audit.
//   A5. A body is taken from the bytes of its key and of its project when it has come, before anything looks into it.

import type { ApiKeyIdentity, Kernel } from "@tessera/kernel";
import type { Clock } from "@tessera/kernel/ports";
import { parseId } from "@tessera/protocol";
import { createRateLimiter } from "../http/rate-limiter.ts";
import type { ServerLimits } from "../http/server-limits.ts";
import { HttpRefusal } from "../routing/problem.ts";
import { textIn } from "../routing/query-values.ts";
import { unknownProject } from "../routing/refusals.ts";
import type { RouteSpec } from "../routing/route-spec.ts";

interface AccessRequest {
  readonly authorization: string | null;
  readonly address: string;
  readonly params: Readonly<Record<string, string>>;
}

export interface Forbidden {
  readonly spec: RouteSpec;
  readonly key: ApiKeyIdentity;
  readonly address: string;
  readonly params: AccessRequest["params"];
}

export interface Access {
  /** A3. Throws 429. */
  admitAddress(address: string): void;
  /** The identity behind the request, which may use this route; throws 400, 401, 403, 404 or 429. */
  admit(spec: RouteSpec, request: AccessRequest): Promise<ApiKeyIdentity>;
  /** A5. Throws 429. */
  admitBody(key: Pick<ApiKeyIdentity, "key_id" | "project_id">, bytes: number): void;
  /** Whether a key that was admitted still counts. One that cannot be looked up does. */
  isStillGood(authorization: string | null): Promise<boolean>;
}

/** Stands for unauthenticated requests, on a route that needs no key. It has no right to anything else. */
const UNAUTHENTICATED: ApiKeyIdentity = { key_id: "nobody", role: "viewer", project_id: null, targets: [] };
const BEARER = /^Bearer ([\x21-\x7e]{1,256})$/i;

export function createAccess(world: {
  readonly kernel: Pick<Kernel, "authenticate">;
  readonly clock: Clock;
  readonly limits: ServerLimits;
  /** Told of a key that may not do what it asked for (A4). */
  readonly onForbidden?: (refusal: Forbidden) => void;
}): Access {
  const { kernel, clock, limits, onForbidden = () => undefined } = world;
  const addresses = createRateLimiter(clock, limits.address);
  const keys = createRateLimiter(clock, limits.key);
  const reports = createRateLimiter(clock, limits.reportsPerKey);
  const heartbeats = createRateLimiter(clock, limits.heartbeatsPerCall);
  const keyBodies = createRateLimiter(clock, limits.bodyBytesPerKey);
  const projectBodies = createRateLimiter(clock, limits.bodyBytesPerProject);

  function admitKey(spec: RouteSpec, key: ApiKeyIdentity, params: AccessRequest["params"]): void {
    if (spec.rate === "heartbeats") rateLimited(heartbeats.take(`${key.key_id}/${params.call}`));
    rateLimited((spec.rate === "reports" ? reports : keys).take(key.key_id));
  }

  return {
    admitAddress: (address) => rateLimited(addresses.take(address)),
    async admit(spec, { authorization, address, params }) {
      if (spec.roles === "anyone") return UNAUTHENTICATED;
      const key = await kernel.authenticate(keyTextOf(authorization));
      if (key === null) throw noKey(); // A1
      for (const name in params) checkParam(spec, name, params[name] ?? "");
      const { project } = params;
      if (project !== undefined && key.project_id !== null && key.project_id !== project) throw unknownProject(project); // A2
      if (!spec.roles.includes(key.role)) {
        onForbidden({ spec, key, address, params });
        throw new HttpRefusal("forbidden", `a key with the role ${key.role} may not do this`);
      }
      admitKey(spec, key, params);
      return key;
    },
    admitBody({ key_id, project_id }, bytes) {
      rateLimited(keyBodies.take(key_id, bytes));
      if (project_id !== null) rateLimited(projectBodies.take(project_id, bytes));
    },
    async isStillGood(authorization) {
      try {
        return (await kernel.authenticate(keyTextOf(authorization))) !== null;
      } catch {
        return true;
      }
    },
  };
}

/** R2 in route-spec.ts */
function checkParam({ names = [] }: RouteSpec, name: string, value: string): void {
  if (names.includes(name)) textIn({ [name]: value }, name);
  else parseId(value, fieldOf(name));
}

function keyTextOf(authorization: string | null): string {
  return BEARER.exec(authorization ?? "")?.[1] ?? "";
}

/** How clients know the ids of a path. */
function fieldOf(param: string): string {
  const fields: Readonly<Record<string, string>> = { project: "project_id", call: "tool_call_id", tool: "tool_name" };
  return fields[param] ?? param;
}

function noKey(): HttpRefusal {
  return new HttpRefusal(
    "unauthenticated",
    "send an API key that is neither expired nor revoked: Authorization: Bearer …",
    {
      headers: { "www-authenticate": "Bearer" },
    },
  );
}

/** Refuses with 429 where there is something to wait for. */
export function rateLimited(waitMs: number): void {
  if (waitMs === 0) return;
  throw new HttpRefusal("rate_limited", "too many requests; wait as long as Retry-After says", {
    headers: { "retry-after": String(Math.max(1, Math.ceil(waitMs / 1_000))) },
  });
}
