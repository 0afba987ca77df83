// What happened: counts of a span of time, messages that could not be processed, the audit log, and the store's invariants.
//
//   O1. Nothing here makes the server fetch anything: there is no address to give, so traces are looked at where they are
//       collected (no jaeger URL as in CommonGround).
//   O2. The invariants and the audit of the store are about no project, so only an administrator of all projects may ask for them.
//   O3. An entry of the audit log is in exactly one list: its project's, or the store's where it has none (what is about all projects,
//       what was asked of a project that is gone).
//   O4. A report covers SPAN_MAX_MS at most: it reads every call of its span.

import { type Row, shownTime } from "@tessera/kernel";
import { BadRequest, errorOf } from "@tessera/protocol";
import Type, { type TSchema } from "typebox";
import { LARGE_ANSWER_BYTES } from "../http/bytes-in-flight.ts";
import { Count, Facts, Id, named, oneOf, orNull, Text, Time } from "../routing/api-schemas.ts";
import { answerPage } from "../routing/list-page.ts";
import type { ManagementDeps } from "../routing/management-deps.ts";
import { HttpRefusal } from "../routing/problem.ts";
import { pageOf, pageQuery } from "../routing/query-schemas.ts";
import { flagIn, limitOf, timeIn } from "../routing/query-values.ts";
import { existingProject } from "../routing/refusals.ts";
import { ADMINS, type ApiAnswer, type ApiRequest, READERS, type RouteSpec } from "../routing/route-spec.ts";

const LIMIT = { max: 500, default: 100 };
const DAY_MS = 86_400_000;
const SPAN_DAYS_MAX = 31;
const SPAN_MAX_MS = SPAN_DAYS_MAX * DAY_MS;
/** The first moment that both a query and the store can write. */
const TIME_MIN_MS = Date.parse("0001-01-01T00:00:00Z");

const counts = (names: readonly string[]): Record<string, TSchema> =>
  Object.fromEntries(names.map((name) => [name, Count]));
const DURATIONS = { p50_ms: orNull(Type.Number()), p95_ms: orNull(Type.Number()) };
const CALL_COUNTS = ["count", "open", "success", "failed", "timeout", "canceled", "unknown", "attempts"];
const ReportDocument = named("Report", "What happened in a span of time, counted.", {
  since: Time,
  until: orNull(Time),
  turns: Type.Array(Type.Object({ status: Text, count: Count, ...DURATIONS })),
  calls: Type.Array(Type.Object({ tool_name: Text, ...counts(CALL_COUNTS), ...DURATIONS })),
  refusals: Type.Array(Type.Object({ kind: Text, code: Text, count: Count })),
  dead_letters: Count,
  unserved: Type.Array(Type.Object({ target: Text, open: Count, oldest_at: Time })),
  backlog: Type.Object({ queued: Count, active: Count }),
});
const DeadLetterDocument = named("DeadLetter", "A message that could not be processed, and why.", {
  dead_letter_id: Count,
  project_id: Id,
  correlation_id: orNull(Text),
  reason: Text,
  detail: Facts,
  created_at: Time,
});
const AuditDocument = named("AuditEntry", "What was changed or refused, by whom.", {
  audit_id: Count,
  project_id: orNull(Id),
  kind: Text,
  code: Text,
  tool_call_id: orNull(Id),
  agent_turn_id: orNull(Id),
  principal: orNull(Text),
  detail: Facts,
  created_at: Time,
});
const VerifyDocument = named(
  "VerifyReport",
  "The invariants of a store that were checked, and those that do not hold.",
  {
    checked: Count,
    violations: Type.Array(
      Type.Object({
        invariant: Text,
        kind: oneOf(["safety", "liveness", "overdue"]),
        says: Text,
        found: Count,
        rows: Type.Array(Facts),
      }),
    ),
  },
);

export function observabilityRoutes({ kernel, cursors, ports, clock }: ManagementDeps): RouteSpec[] {
  const { reads } = kernel;

  async function report(request: ApiRequest): Promise<ApiAnswer> {
    const until = timeIn(request.query, "until") ?? null;
    const end = until === null ? shownTime(clock) : new Date(until);
    const since = timeIn(request.query, "since") ?? dayBefore(end);
    if (until !== null && Date.parse(since) > Date.parse(until)) {
      throw new BadRequest("since must not be later than until", { details: { field: "since" } });
    }
    if (end.getTime() - Date.parse(since) > SPAN_MAX_MS) {
      const message = `since may be at most ${SPAN_DAYS_MAX} days before until (default: now); ask for one span after the other`;
      throw new BadRequest(message, { details: { field: "since" } }); // O4
    }
    const projectId = await existingProject(kernel, request);
    return { status: 200, body: { since, until, ...(await reads.activity(projectId, { since, until })) } };
  }

  /** A project's list by a number that grows, the newest first. */
  async function newestFirst(
    request: ApiRequest,
    plural: string,
    column: string,
    read: (projectId: string, limit: number, before?: number) => Promise<Row[]>,
  ): Promise<ApiAnswer> {
    limitOf(request.query, LIMIT); // a mistake in it is told before anything is read
    const projectId = await existingProject(kernel, request);
    return await pageBefore(request, `${plural}/${projectId}`, plural, column, (limit, before) =>
      read(projectId, limit, before),
    );
  }

  async function pageBefore(
    request: ApiRequest,
    list: string,
    plural: string,
    column: string,
    read: (limit: number, before?: number) => Promise<Row[]>,
  ): Promise<ApiAnswer> {
    return await answerPage<Row>(cursors, request, {
      list,
      plural,
      limit: limitOf(request.query, LIMIT),
      placeOf: (row) => String(row[column]),
      read: (after, count) => (after === undefined ? read(count) : read(count, Number(after))),
    });
  }

  async function storeAudit(request: ApiRequest): Promise<ApiAnswer> {
    requireAllProjects(request, "read the audit log of the store");
    return await pageBefore(request, "store_audit", "entries", "audit_id", reads.storeAudit); // O3
  }

  async function verify(request: ApiRequest): Promise<ApiAnswer> {
    requireAllProjects(request, "verify the store");
    const drained = flagIn(request.query, "drained") ?? false;
    if (ports.verify === undefined) throw errorOf("not_implemented", "this process does not verify its store");
    return { status: 200, body: await ports.verify({ drained }) };
  }

  const observability = "/projects/:project/observability";
  const time = (description: string) => Type.String({ format: "date-time", description });
  const auditList = {
    tag: "observability",
    method: "GET",
    roles: ADMINS,
    query: pageQuery(LIMIT.max, LIMIT.default),
    answers: { 200: pageOf("entries", AuditDocument) },
  } as const;
  return [
    {
      id: "getReport",
      tag: "observability",
      summary:
        "Count what happened in a span of time; traces are looked at where they are collected, so there is no URL to give.",
      method: "GET",
      path: `${observability}/report`,
      roles: READERS,
      handle: report,
      query: {
        since: time(`The beginning, at most ${SPAN_DAYS_MAX} days before the end; default: a day before it.`),
        until: time("The end; default: now."),
      },
      answers: { 200: ReportDocument },
    },
    {
      id: "listDeadLetters",
      answerBytes: LARGE_ANSWER_BYTES,
      tag: "observability",
      summary: "List messages that could not be processed, the newest first.",
      method: "GET",
      path: `${observability}/dead-letters`,
      roles: READERS,
      query: pageQuery(LIMIT.max, LIMIT.default),
      answers: { 200: pageOf("dead_letters", DeadLetterDocument) },
      handle: (request) => newestFirst(request, "dead_letters", "dead_letter_id", reads.deadLetters),
    },
    {
      ...auditList,
      id: "listAudit",
      summary: "List what was changed or refused, by whom, the newest first.",
      path: `${observability}/audit`,
      handle: (request) => newestFirst(request, "entries", "audit_id", reads.audit),
    },
    {
      ...auditList,
      id: "listStoreAudit",
      summary:
        "List what was changed or refused outside of any project, the newest first; only for an administrator of all projects.",
      path: "/store/audit",
      handle: storeAudit,
    },
    {
      id: "verifyStore",
      tag: "observability",
      summary: "Check the invariants of the whole store; only for an administrator of all projects.",
      method: "GET",
      path: "/store/verify",
      roles: ADMINS,
      handle: verify,
      query: { drained: Type.Boolean({ description: "true: nothing should be under way any more." }) },
      answers: { 200: VerifyDocument },
    },
  ];
}

/** O2 */
function requireAllProjects({ key }: ApiRequest, todo: string): void {
  if (key.project_id !== null) throw new HttpRefusal("forbidden", `only an administrator of all projects may ${todo}`);
}

function dayBefore(end: Date): string {
  return new Date(Math.max(TIME_MIN_MS, end.getTime() - DAY_MS)).toISOString();
}
