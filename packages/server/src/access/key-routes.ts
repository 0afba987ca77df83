// API keys: make, list, revoke.
//
//   K1. The text of a key is answered once, when it is made; the store holds its hash.
//   K2. An administrator of one project makes, sees and revokes keys of that project and no others. A key of another project
//       is answered like one that does not exist.

import { API_KEY_ROLES, type ApiKeyRequest, type Row } from "@tessera/kernel";
import { DELEGATED_OPERATIONS, NotFound, parseId } from "@tessera/protocol";
import Type, { type Static } from "typebox";
import { bodyReader } from "../http/request-body.ts";
import { closed, Id, named, oneOf, orNull, Text, Time } from "../routing/api-schemas.ts";
import { answerPage } from "../routing/list-page.ts";
import type { ManagementDeps } from "../routing/management-deps.ts";
import { HttpRefusal } from "../routing/problem.ts";
import { pageOf, pageQuery } from "../routing/query-schemas.ts";
import { given, limitOf } from "../routing/query-values.ts";
import { refused, unknownProject } from "../routing/refusals.ts";
import { ADMINS, type ApiAnswer, type ApiRequest, type RouteSpec } from "../routing/route-spec.ts";

const LIMIT = { max: 200, default: 100 };
/** No control characters. */
const ONE_LINE = "^[^\\u0000-\\u001f\\u007f-\\u009f]*$";
const EXPIRES_SECONDS_MAX = 10 * 365 * 86_400;

const DelegationPolicyBody = Type.Object(
  {
    operations: Type.Optional(Type.Array(oneOf(DELEGATED_OPERATIONS), { maxItems: 3, uniqueItems: true })),
    target_tags: Type.Optional(Type.Array(Type.String({ minLength: 1, maxLength: 128 }), { maxItems: 64 })),
    target_profiles: Type.Optional(Type.Array(Type.String({ minLength: 1, maxLength: 128 }), { maxItems: 64 })),
  },
  {
    ...closed,
    description: "Of an executor: which agents its code may reach through `runtime`. Absent fields do not limit.",
  },
);
const NewKey = Type.Object(
  {
    role: oneOf(API_KEY_ROLES),
    project_id: Type.Optional(
      Type.Union([Id, Type.Null()], {
        description: "Absent or null: every project; for a key of one project, that one.",
      }),
    ),
    targets: Type.Optional(
      Type.Array(Id, { maxItems: 64, uniqueItems: true, description: "Of an executor: whose calls it may take." }),
    ),
    delegation_policy: Type.Optional(DelegationPolicyBody),
    label: Type.Optional(Type.String({ maxLength: 200, pattern: ONE_LINE })),
    expires_in_seconds: Type.Optional(Type.Integer({ minimum: 1, maximum: EXPIRES_SECONDS_MAX })),
  },
  closed,
);
const KeyDocument = named("ApiKey", "An API key, without its text.", {
  key_id: Id,
  project_id: orNull(Id),
  role: oneOf(API_KEY_ROLES),
  targets: Type.Array(Id),
  delegation_policy: orNull(DelegationPolicyBody),
  label: Text,
  created_at: Time,
  expires_at: orNull(Time),
  revoked_at: orNull(Time),
  last_used_at: orNull(Time),
});
const NewKeyDocument = named("NewApiKey", "An API key that was just made, with its text.", {
  key_id: Id,
  key: Type.String({ description: "The key itself. It is shown this once and kept nowhere." }),
  role: oneOf(API_KEY_ROLES),
  project_id: orNull(Id),
  targets: Type.Array(Id),
});
const readNew = bodyReader(NewKey);

export function keyRoutes({ kernel, cursors }: ManagementDeps): RouteSpec[] {
  async function create(request: ApiRequest): Promise<ApiAnswer> {
    const wanted = (await readNew(request.body)) as Static<typeof NewKey> & Pick<ApiKeyRequest, "role">;
    const { role, targets, label, expires_in_seconds, delegation_policy } = wanted;
    const project_id = projectFor(request, wanted.project_id);
    const expires_in_ms = expires_in_seconds === undefined ? undefined : expires_in_seconds * 1_000;
    checkTargets(role, targets ?? []);
    const made = await kernel.createApiKey({
      ...{ role, project_id, targets, label, expires_in_ms, delegation_policy },
    });
    if (made.outcome === "rejected") {
      throw made.code === "not_found" ? unknownProject(String(project_id)) : refused(made);
    }
    const body = { key_id: made.key_id, key: made.text, role, project_id, targets: targets ?? [] };
    const ids = { key: made.key_id, key_role: role, ...given({ project: project_id ?? undefined }) };
    return { status: 201, body, made: ids }; // K1
  }

  async function list(request: ApiRequest): Promise<ApiAnswer> {
    const { project_id } = request.key; // K2
    return await answerPage<Row>(cursors, request, {
      list: `keys/${project_id ?? ""}`,
      plural: "keys",
      limit: limitOf(request.query, LIMIT),
      placeOf: (row) => String(row.key_id),
      read: (after, limit) => kernel.reads.apiKeys(project_id, { after: after ?? "", limit }),
    });
  }

  async function revoke(request: ApiRequest): Promise<ApiAnswer> {
    const key_id = request.param("key");
    const { project_id } = request.key; // K2
    const outcome = await kernel.revokeApiKey({ key_id, project_id: project_id ?? undefined });
    if (outcome.outcome !== "rejected") return { status: 204 };
    if (outcome.code !== "not_found") throw refused(outcome);
    throw new NotFound(`there is no key ${key_id}`, { details: { field: "key_id" } });
  }

  return [
    {
      id: "createKey",
      tag: "keys",
      summary: "Make an API key; its text is in this answer and nowhere else.",
      method: "POST",
      path: "/keys",
      roles: ADMINS,
      handle: create,
      body: "json",
      bodySchema: NewKey,
      answers: { 201: NewKeyDocument },
    },
    {
      id: "listKeys",
      tag: "keys",
      summary: "List API keys by id, without their secrets.",
      method: "GET",
      path: "/keys",
      roles: ADMINS,
      handle: list,
      query: pageQuery(LIMIT.max, LIMIT.default),
      answers: { 200: pageOf("keys", KeyDocument) },
    },
    {
      id: "revokeKey",
      tag: "keys",
      summary: "Revoke an API key; it stops counting everywhere within seconds.",
      method: "DELETE",
      path: "/keys/:key",
      roles: ADMINS,
      answers: { 204: null },
      handle: revoke,
    },
  ];
}

/** The project of a new key (K2). */
function projectFor(request: ApiRequest, wanted: string | null | undefined): string | null {
  const own = request.key.project_id;
  if (wanted !== undefined && wanted !== null) parseId(wanted, "project_id");
  if (own === null) return wanted ?? null;
  if (wanted === null) throw new HttpRefusal("forbidden", "a key of one project cannot make keys for all");
  if (wanted !== undefined && wanted !== own) throw unknownProject(wanted);
  return own;
}

/** The kernel refuses it, too, but not by the name of the field. */
function checkTargets(role: string, targets: readonly string[]): void {
  if ((role === "executor") === targets.length > 0) return;
  throw new HttpRefusal("bad_request", "only a key with the role executor has targets", {
    details: { field: "targets" },
  });
}
