// A route as data: what it is called, who may use it, what it takes, what it answers, what it does. The OpenAPI document, the
// typed client, the HTTP reference and the tests of rights are made from the same table.
//
//   R1. Every route says who may use it. The app refuses to register one that does not (build-app.ts), so no route can be
//       forgotten.
//   R2. Every parameter of a path is an id, or one of the route's `names`, and is checked as that before anything looks at it.
//   R3. A query parameter that a route does not name is refused.
//   R4. A route without a project in its path touches several projects: its handler itself checks `key.project_id`.
//   R5. A schema with an `$id` is a component of that name in the OpenAPI document, and a named type of the client. The same name
//       always means the same schema.

import type { ApiKeyIdentity, ApiKeyRole } from "@tessera/kernel";
import type { TSchema } from "typebox";

export type RouteTag =
  | "health"
  | "projects"
  | "profiles"
  | "tools"
  | "agents"
  | "state"
  | "cards"
  | "turns"
  | "executors"
  | "keys"
  | "observability"
  | "god";

export interface RouteSpec {
  /** The operation's name, unique: `getTurn`. It is a method of the client. */
  readonly id: string;
  readonly tag: RouteTag;
  /** One sentence that starts with a verb. */
  readonly summary: string;
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** `:name` stands for one id (R2). `:project` is checked against the key. A verb may follow an id: `/tools/:tool::call`. */
  readonly path: string;
  /** Parameters of the path that are names chosen by users, one line of any characters. */
  readonly names?: readonly string[];
  readonly roles: readonly ApiKeyRole[] | "anyone";
  /** What a body may be; without it, none is read. */
  readonly body?: "json" | "upload";
  /** Of a JSON body. */
  readonly bodySchema?: TSchema;
  /** How deep a JSON body may be, where it is not the common limit: envelopes come on top of an author's value. */
  readonly jsonDepthMax?: number;
  /** By name; each schema has a description. The handler gets text and reads it. */
  readonly query?: Readonly<Record<string, TSchema>>;
  /** Request headers that mean something here, e.g. `If-Match`. */
  readonly headers?: Readonly<Record<string, string>>;
  /** What is answered by status, null for no body. Problems are the same everywhere and are not listed. */
  readonly answers: Readonly<Record<number, TSchema | null>>;
  /** The answer is a stream of events (SSE), or text; default JSON. */
  readonly answerType?: "text/event-stream" | "text/plain";
  /** How many bytes an answer may keep in memory until it is read, where that is not little; taken before the work is done. */
  readonly answerBytes?: number;
  /** Which bucket a request is taken from, besides its address's. */
  readonly rate?: "reports" | "heartbeats";
  handle(request: ApiRequest): Promise<ApiAnswer>;
}

export interface ApiRequest {
  readonly id: string;
  readonly key: ApiKeyIdentity;
  /** Names the client's address (client-address.ts). */
  readonly address: string;
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
  readonly headers?: Readonly<Record<string, string>>;
  /** Ids of what came into being, by the names that paths have for them; they are noted for the audit. */
  readonly made?: Readonly<Record<string, string>>;
  /** Instead of a body: sent piece by piece until it ends or `stopped()` is aborted. */
  readonly stream?: AsyncIterable<string>;
}

export const READERS: readonly ApiKeyRole[] = ["viewer", "operator", "admin"];
export const WRITERS: readonly ApiKeyRole[] = ["operator", "admin"];
export const EXECUTORS: readonly ApiKeyRole[] = ["executor", "admin"];
export const ADMINS: readonly ApiKeyRole[] = ["admin"];

/** The methods that the table knows for a path that was asked for, e.g. `/projects/p1/tools`. */
export function methodsOf(routes: readonly RouteSpec[], pathname: string): string[] {
  const asked = pathname.split("/");
  const fits = (path: string) => {
    const parts = path.split("/");
    return parts.length === asked.length && parts.every((part, n) => partFits(part, asked[n] ?? ""));
  };
  return [...new Set(routes.filter((route) => fits(route.path)).map((route) => route.method))].sort();
}

const ID_WITH_VERB = /^:([a-z]+)::([a-z]+)$/;

function partFits(part: string, asked: string): boolean {
  const verb = ID_WITH_VERB.exec(part)?.[2];
  if (verb !== undefined) return asked.endsWith(`:${verb}`);
  // An id never holds a colon: what holds one is an id with a verb.
  return part.startsWith(":") ? !asked.includes(":") : part === asked;
}

/** The path as the router of fastify takes it: without the pattern, the name of the parameter would swallow the verb. */
export function routerPath(path: string): string {
  return path
    .split("/")
    .map((part) => part.replace(ID_WITH_VERB, ":$1(^[^:/]*)::$2"))
    .join("/");
}

/** Names of the ids in a path, in their order. */
export function paramsOf(path: string): string[] {
  return [...path.matchAll(/\/:([a-z]+)/g)].map(([, name]) => name ?? "");
}

/** Whether it changes something for a person to look up later. The executor edge is the calls' own log. */
export function isAudited({ method, tag, roles }: RouteSpec): boolean {
  return method !== "GET" && tag !== "executors" && roles !== "anyone" && !roles.includes("viewer");
}
