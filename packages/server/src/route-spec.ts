// A route as data: what it is called, who may use it, what it takes, what it does.
//
//   R1. Every route says who may use it. The app refuses to register one that does not (build-app.ts), so no route can be
//       forgotten.
//   R2. Every parameter of a path is an id, and is checked as one before anything looks at it.
//   R3. A query parameter that a route does not name is refused.

import type { ApiKeyIdentity, ApiKeyRole } from "@tessera/kernel";

export interface RouteSpec {
  readonly method: "GET" | "POST" | "DELETE";
  /** `:name` stands for one id (R2). `:project` is checked against the key. */
  readonly path: string;
  readonly roles: readonly ApiKeyRole[] | "anyone";
  /** What a body may be; without it, none is read. */
  readonly body?: "json" | "upload";
  /** How deep a JSON body may be, where it is not the common limit: envelopes come on top of an author's value. */
  readonly jsonDepthMax?: number;
  readonly query?: readonly string[];
  /** Which bucket a request is taken from, besides its address's. */
  readonly rate?: "reports" | "heartbeats";
  handle(request: ApiRequest): Promise<ApiAnswer>;
}

export interface ApiRequest {
  readonly id: string;
  readonly key: ApiKeyIdentity;
  /** The id at `:name` of the path. */
  param(name: string): string;
  readonly query: Readonly<Record<string, string>>;
  /** One value, or null. */
  header(name: string): string | null;
  /** Through the JSON gate, or the bytes of an upload; undefined when nothing was sent. */
  readonly body: unknown;
  /** Aborted when the client has gone away, or the server is closing. */
  stopped(): AbortSignal;
}

export interface ApiAnswer {
  readonly status: number;
  readonly body?: unknown;
}

export const READERS: readonly ApiKeyRole[] = ["viewer", "operator", "admin"];
export const WRITERS: readonly ApiKeyRole[] = ["operator", "admin"];
export const EXECUTORS: readonly ApiKeyRole[] = ["executor", "admin"];

/** The methods that the table knows for a path that was asked for, e.g. `/projects/p1/tools`. */
export function methodsOf(routes: readonly RouteSpec[], pathname: string): string[] {
  const asked = pathname.split("/");
  const fits = (path: string) => {
    const parts = path.split("/");
    return parts.length === asked.length && parts.every((part, n) => part.startsWith(":") || part === asked[n]);
  };
  return [...new Set(routes.filter((route) => fits(route.path)).map((route) => route.method))].sort();
}
