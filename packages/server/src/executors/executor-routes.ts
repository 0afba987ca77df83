// The executor edge: claim, open, heartbeat, result-card, report, for an executor in any language.
//
//   E1. The principal of everything here is the key: a capability is no use with another one
//       (docs/design.md#authority-is-in-the-database).
//   E2. An executor's key works for its targets only, with a ticket or without. On a bus that everybody hears, a ticket is
//       no secret between the tools of one project.
//   E3. Whether a report is right is the kernel's to say (refusals.ts renders it), so that it has one answer on every way in.
//       What contradicts itself is a failed result with a warning; only what cannot be read at all is refused here.
//   E4. An executor that lost the answer to a claim asks again with the same claim_id: the same calls, new capabilities.

import type { ApiKeyIdentity, Kernel, ResultContent } from "@tessera/kernel";
import type { Clock } from "@tessera/kernel/ports";
import {
  CARD_CONTENT_BYTES_MAX,
  CONTROL_FIELDS,
  HEADERS,
  isJsonObject,
  NotFound,
  PolicyDenied,
  parseSubject,
} from "@tessera/protocol";
import type { Static } from "typebox";
import { bodyReader, checkResultDepth, ENVELOPE_DEPTH_MAX } from "../http/request-body.ts";
import type { ServerLimits } from "../http/server-limits.ts";
import type { WaitingPlaces } from "../http/waiting-places.ts";
import { refused, unknownProject } from "../routing/refusals.ts";
import { type ApiAnswer, type ApiRequest, EXECUTORS, type RouteSpec } from "../routing/route-spec.ts";
import { callDocument } from "./call-document.ts";
import { claimCalls } from "./claim-calls.ts";
import { createClaimPolls } from "./claim-polls.ts";
import {
  CapabilityHeader,
  ClaimAnswer,
  ClaimBody,
  ClaimedCall,
  HeartbeatAnswer,
  HeartbeatBody,
  OpenBody,
  ReportAnswer,
  ReportBody,
  ResultCardAnswer,
  ResultCardBody,
} from "./executor-schemas.ts";
import type { WorkSignals } from "./work-signals.ts";

export interface ExecutorDeps {
  readonly kernel: Pick<Kernel, "claimCalls" | "openCall" | "renewCall" | "putResultCard" | "report"> & {
    readonly reads: Pick<Kernel["reads"], "call" | "project">;
  };
  readonly clock: Clock;
  readonly signals: WorkSignals;
  readonly limits: ServerLimits;
  readonly places: WaitingPlaces;
}

const readClaim = bodyReader(ClaimBody);
const readOpen = bodyReader(OpenBody);
const readHeartbeat = bodyReader(HeartbeatBody);
const readResultCard = bodyReader(ResultCardBody);
const readReport = bodyReader(ReportBody);

export function executorRoutes(world: ExecutorDeps): RouteSpec[] {
  const { kernel, limits } = world;
  const polls = createClaimPolls(world.places);

  async function claim(request: ApiRequest): Promise<ApiAnswer> {
    const project_id = request.param("project");
    const target = request.param("target");
    const { key_id } = request.key;
    const { max = 1, wait_ms = 0, executor = key_id, claim_id } = await readClaim(request.body ?? {});
    requireTarget(request.key, target);
    // A key of one project is proof that the project exists.
    if (request.key.project_id === null && (await kernel.reads.project(project_id)) === null)
      throw unknownProject(project_id);
    const order = { project_id, target, executor, principal: key_id, max, wait_ms, claim_id }; // E4
    const calls = await polls.run({ holder: request, wait_ms, claim_id }, request.stopped(), (stopped) =>
      claimCalls(world, order, stopped),
    );
    return { status: 200, body: { calls: calls.map(callDocument) } };
  }

  async function open(request: ApiRequest): Promise<ApiAnswer> {
    const { project_id, tool_call_id } = callOf(request);
    const { tool_call_card_id, executor = request.key.key_id, claim_id } = await readOpen(request.body ?? {});
    const call = await kernel.reads.call(project_id, tool_call_id);
    const target = call === null ? null : parseSubject(String(call.target_subject));
    if (call === null || target === null || target.component !== "tool") throw unknownCall(tool_call_id);
    requireTarget(request.key, target.target); // E2
    const ticket = request.header(HEADERS.call_ticket);
    const outcome = await kernel.openCall({
      project_id,
      tool_call_id,
      executor,
      principal: request.key.key_id, // E1
      claim_id, // E4
      tool_call_card_id,
      ...(ticket === null ? { target: target.target } : { ticket }),
    });
    if (outcome.outcome === "rejected") throw refused(outcome);
    return { status: 200, body: callDocument(outcome) };
  }

  async function heartbeat(request: ApiRequest): Promise<ApiAnswer> {
    await readHeartbeat(request.body ?? {});
    const outcome = await kernel.renewCall(holdOf(request));
    if (outcome.outcome === "rejected") throw refused(outcome, { cancel: outcome.cancel });
    return { status: 200, body: { lease_expires_at: outcome.lease_expires_at, cancel: outcome.cancel } };
  }

  async function saveResultCard(request: ApiRequest): Promise<ApiAnswer> {
    const { content, ...claims } = await readResultCard(request.body); // E3
    const result = content as ResultContent;
    if (isJsonObject(content)) checkResultDepth(content.result, limits.bodyBytesMax);
    const outcome = await kernel.putResultCard({ ...holdOf(request), ...traceOf(request), ...claims, content: result });
    if (outcome.outcome === "rejected") throw refused(outcome);
    const { tool_result_card_id, warning } = outcome;
    return { status: 200, body: { tool_result_card_id, warning } };
  }

  async function report(request: ApiRequest): Promise<ApiAnswer> {
    const body = await readReport(request.body);
    checkResultDepth(body.result, limits.bodyBytesMax);
    const hold = holdOf(request);
    const { author_id, function_name, stack } = body;
    const refusedFields = await refusedIdentityOf(hold, body);
    const message_type = refusedFields.length > 0 ? REFUSED_MESSAGE_TYPE : body.message_type;
    const outcome = await kernel.report({
      ...hold,
      ...traceOf(request),
      ...reportedResult(body),
      ...{ message_type, author_id, function_name },
      ...(typeof stack === "string" ? { stack } : {}),
    });
    if (outcome.outcome === "rejected")
      throw refused(outcome, refusedFields.length > 0 ? { fields: refusedFields } : {});
    if ("retry_at" in outcome) return { status: 200, body: { outcome: "accepted", retry_at: outcome.retry_at } };
    const { tool_result_card_id } = outcome;
    const warning = outcome.outcome === "accepted" ? outcome.warning : undefined;
    return { status: 200, body: { outcome: outcome.outcome, tool_result_card_id, warning } };
  }

  async function refusedIdentityOf(hold: ReturnType<typeof holdOf>, body: Readonly<Record<string, unknown>>) {
    if (!CONTROL_FIELDS.some((field) => Object.hasOwn(body, field))) return [];
    const { refusedIdentity } = await import("./v1r3-identity.ts");
    const call = await kernel.reads.call(hold.project_id, hold.tool_call_id);
    return call === null ? [] : refusedIdentity(call, body);
  }

  const post = { tag: "executors", method: "POST", roles: EXECUTORS, body: "json" } as const;
  const proven = { ...post, headers: CapabilityHeader };
  const calls = "/projects/:project/calls/:call";
  return [
    {
      ...post,
      id: "claimCalls",
      summary: "Wait for calls of a target and take them.",
      path: "/projects/:project/executors/:target/claim",
      bodySchema: ClaimBody,
      answers: { 200: ClaimAnswer },
      handle: claim,
    },
    {
      ...post,
      id: "openCall",
      summary: "Take one call, by its ticket or by a target of the key.",
      path: `${calls}/open`,
      headers: { "CG-Call-Ticket": "The ticket of the command message; without it the key's targets count." },
      bodySchema: OpenBody,
      answers: { 200: ClaimedCall },
      answerBytes: CARD_CONTENT_BYTES_MAX,
      handle: open,
    },
    {
      ...proven,
      id: "heartbeatCall",
      summary: "Keep a call for another lease, and hear whether it is still wanted.",
      path: `${calls}/heartbeat`,
      rate: "heartbeats",
      bodySchema: HeartbeatBody,
      answers: { 200: HeartbeatAnswer },
      handle: heartbeat,
    },
    {
      ...proven,
      id: "putResultCard",
      summary: "Save the result of a call as a card before it is reported.",
      path: `${calls}/result-card`,
      rate: "reports",
      jsonDepthMax: ENVELOPE_DEPTH_MAX,
      bodySchema: ResultCardBody,
      answers: { 200: ResultCardAnswer },
      handle: saveResultCard,
    },
    {
      ...proven,
      id: "reportCall",
      summary: "Report what became of a call.",
      path: `${calls}/report`,
      rate: "reports",
      jsonDepthMax: ENVELOPE_DEPTH_MAX,
      bodySchema: ReportBody,
      answers: { 200: ReportAnswer },
      handle: report,
    },
  ];
}

/** A message type that no report may have: l0 answers `protocol_violation`. */
const REFUSED_MESSAGE_TYPE = "refused";
/** Fields of a report that are not its result. */
const CLAIMS: ReadonlySet<string> = new Set([
  "tool_result_card_id",
  "message_type",
  "author_id",
  "function_name",
  "stack",
  ...CONTROL_FIELDS,
]);

/** A pointer to a saved card, or the result itself. Both at once go through as both, and the kernel refuses them. */
function reportedResult(body: Static<typeof ReportBody>) {
  const { tool_result_card_id, status, result, error, after_execution } = body;
  // With the fields that there are not: what to make of them is the kernel's to say (E3).
  const content: Partial<ResultContent> = Object.fromEntries(
    Object.entries(body).filter(([field]) => !CLAIMS.has(field)),
  );
  if (tool_result_card_id === undefined) return { content: content as ResultContent };
  const isInline = result !== undefined || error !== undefined;
  return {
    tool_result_card_id,
    content: isInline ? (content as ResultContent) : undefined,
    status: status as string | undefined,
    after_execution: after_execution as string | undefined,
  };
}

function callOf(request: ApiRequest) {
  return { project_id: request.param("project"), tool_call_id: request.param("call") };
}

function holdOf(request: ApiRequest) {
  const capability = request.header(HEADERS.report_capability) ?? "";
  return { ...callOf(request), capability, principal: request.key.key_id }; // E1
}

function traceOf(request: ApiRequest) {
  return { traceparent: request.header(HEADERS.traceparent) ?? undefined };
}

function requireTarget(key: ApiKeyIdentity, target: string): void {
  if (key.role === "admin" || key.targets.includes(target)) return;
  throw new PolicyDenied(`this key may not work for the target ${target}`, {
    code: "forbidden",
    details: { field: "target" },
  });
}

function unknownCall(callId: string): NotFound {
  return new NotFound(`there is no call ${callId} in this project`, { code: "unknown_call" });
}
