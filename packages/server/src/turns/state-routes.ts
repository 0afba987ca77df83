// State: what agents do, the steps they took, and who asked whom.
//
//   S1. Every list is read in one fixed order and goes on from the last row of the page before, so that rows that come in
//       meanwhile neither repeat nor hide one.
//   S2. A cursor is one of ours (page-cursor.ts): the plain `started_at,step_id` of CommonGround is not taken.

import type { ExecutionEdgeRow, HeadRow, IdentityEdgeRow, StepRow } from "@tessera/kernel";
import Type, { type TSchema } from "typebox";
import { Count, Facts, Id, named, oneOf, orNull, Text, Time } from "../routing/api-schemas.ts";
import { answerPage, joinPlace, splitPlace } from "../routing/list-page.ts";
import type { ManagementDeps } from "../routing/management-deps.ts";
import { idQuery, pageOf, pageQuery } from "../routing/query-schemas.ts";
import { given, idIn, idsIn, limitOf, textIn, timeIn, traceIdIn, wordIn } from "../routing/query-values.ts";
import { existingProject } from "../routing/refusals.ts";
import { type ApiAnswer, type ApiRequest, READERS, type RouteSpec } from "../routing/route-spec.ts";

const HEADS = { max: 200, default: 50 };
const STEPS = { max: 300, default: 80 };
const EDGES = { max: 500, default: 200 };
const ORDERS = ["asc", "desc"] as const;
const STEP_STATUSES = ["waiting", "done", "ended"] as const;
const PRIMITIVES = ["enqueue", "join", "tool_call", "report"] as const;
const PHASES = ["request", "response"] as const;

const HeadDocument = named("Head", "What an agent does now.", {
  project_id: Id,
  agent_id: Id,
  status: oneOf(["idle", "dispatched", "running", "suspended"]),
  active_agent_turn_id: orNull(Id),
  active_channel_id: orNull(Id),
  turn_epoch: Count,
  holder: orNull(Text),
  step_id: orNull(Id),
  waiting_tool_count: Count,
  resume_deadline: orNull(Time),
  updated_at: Time,
});
const StepDocument = named("Step", "One step of a turn: one answer of the model, and the calls in it.", {
  project_id: Id,
  channel_id: Id,
  agent_id: Id,
  agent_turn_id: Id,
  step_id: Id,
  parent_step_id: orNull(Id),
  trace_id: Text,
  status: oneOf(STEP_STATUSES),
  thought_card_id: Id,
  output_box_id: Id,
  tool_call_ids: Type.Array(Id),
  started_at: Time,
});
const LINEAGE = { trace_id: orNull(Text), parent_step_id: orNull(Id), metadata: Facts, created_at: Time };
const ExecutionEdgeDocument = named("ExecutionEdge", "Who asked whom for what: a turn, a join, a call or a report.", {
  edge_id: Text,
  channel_id: Id,
  primitive: oneOf(PRIMITIVES),
  edge_phase: oneOf(PHASES),
  source_agent_id: orNull(Text),
  source_agent_turn_id: orNull(Id),
  source_step_id: orNull(Id),
  target_agent_id: orNull(Text),
  target_agent_turn_id: orNull(Id),
  correlation_id: Text,
  enqueue_mode: orNull(Text),
  recursion_depth: Count,
  ...LINEAGE,
});
const IdentityEdgeDocument = named("IdentityEdge", "Who made or derived which agent.", {
  edge_id: Text,
  channel_id: Id,
  action: Text,
  source_agent_id: orNull(Text),
  target_agent_id: Id,
  owner_agent_id: orNull(Id),
  worker_target: orNull(Id),
  tags: Type.Array(Text),
  ...LINEAGE,
});

const word = (description: string, words: readonly string[]): TSchema =>
  Type.Unsafe<string>({ type: "string", enum: [...words], description });
const time = (description: string): TSchema => Type.String({ format: "date-time", description });
const CHANNEL = { channel_id: idQuery("Only in this channel.") };
const AGENT = { agent_id: idQuery("Only where this agent is the source or the target.") };
const TRACE = {
  trace_id: Type.String({ pattern: "^[0-9a-f]{32}$", description: "Only of this trace." }),
  parent_step_id: idQuery("Only below this step."),
};

export function stateRoutes({ kernel, cursors }: ManagementDeps): RouteSpec[] {
  const { reads } = kernel;

  async function heads(request: ApiRequest): Promise<ApiAnswer> {
    const filter = idsIn(request.query, ["channel_id"]);
    const limit = limitOf(request.query, HEADS);
    const projectId = await existingProject(kernel, request);
    return await answerPage<HeadRow>(cursors, request, {
      list: `heads/${projectId}/${JSON.stringify(filter)}`,
      plural: "heads",
      limit,
      placeOf: (row) => row.agent_id,
      read: (after, count) => reads.heads(projectId, { ...filter, after, limit: count }),
    });
  }

  async function steps(request: ApiRequest): Promise<ApiAnswer> {
    const { query } = request;
    const filter = {
      ...idsIn(query, ["channel_id", "agent_id", "agent_turn_id", "step_id", "parent_step_id"]),
      ...given({ trace_id: traceIdIn(query), status: wordIn(query, "status", STEP_STATUSES) }),
      ...given({ started_after: timeIn(query, "started_after"), started_before: timeIn(query, "started_before") }),
    };
    const order = wordIn(query, "order", ORDERS) ?? "desc";
    const limit = limitOf(query, STEPS);
    const projectId = await existingProject(kernel, request);
    return await answerPage<StepRow>(cursors, request, {
      list: `steps/${projectId}/${order}/${JSON.stringify(filter)}`,
      plural: "steps",
      limit,
      placeOf: (row) => joinPlace(row.started_at, row.step_id),
      read(after, count) {
        const [started_at, step_id] = splitPlace(after ?? "");
        return reads.steps(projectId, filter, {
          ...{ order, limit: count },
          after: after === undefined ? undefined : { started_at, step_id },
        });
      },
    });
  }

  async function executionEdges(request: ApiRequest): Promise<ApiAnswer> {
    const { query } = request;
    const filter = {
      ...idsIn(query, ["channel_id", "agent_id", "parent_step_id"]),
      ...given({ primitive: wordIn(query, "primitive", PRIMITIVES), edge_phase: wordIn(query, "edge_phase", PHASES) }),
      ...given({ trace_id: traceIdIn(query), correlation_id: textIn(query, "correlation_id") }),
    };
    const limit = limitOf(query, EDGES);
    const projectId = await existingProject(kernel, request);
    return await answerPage<ExecutionEdgeRow>(cursors, request, {
      list: `execution-edges/${projectId}/${JSON.stringify(filter)}`,
      plural: "edges",
      limit,
      placeOf: (row) => joinPlace(row.created_at, row.edge_id),
      read: (after, count) => reads.executionEdges(projectId, filter, count, edgePlace(after)),
    });
  }

  async function identityEdges(request: ApiRequest): Promise<ApiAnswer> {
    const { query } = request;
    const filter = {
      ...idsIn(query, ["channel_id", "agent_id", "owner_agent_id", "parent_step_id"]),
      ...given({ worker_target: idIn(query, "worker_target"), tag: textIn(query, "tag") }),
      ...given({ action: textIn(query, "action"), trace_id: traceIdIn(query) }),
    };
    const limit = limitOf(query, EDGES);
    const projectId = await existingProject(kernel, request);
    return await answerPage<IdentityEdgeRow>(cursors, request, {
      list: `identity-edges/${projectId}/${JSON.stringify(filter)}`,
      plural: "edges",
      limit,
      placeOf: (row) => joinPlace(row.created_at, row.edge_id),
      read: (after, count) => reads.identityEdges(projectId, filter, count, edgePlace(after)),
    });
  }

  const state = "/projects/:project/state";
  const read = { tag: "state", method: "GET", roles: READERS } as const;
  return [
    {
      ...read,
      id: "listHeads",
      summary: "List what every agent of a project does now, by agent id.",
      path: `${state}/agents`,
      handle: heads,
      query: { ...CHANNEL, ...pageQuery(HEADS.max, HEADS.default) },
      answers: { 200: pageOf("heads", HeadDocument) },
    },
    {
      ...read,
      id: "listSteps",
      summary: "List steps by when they started; a cursor is the next_cursor of a page before, nothing else.",
      path: `${state}/steps`,
      handle: steps,
      query: {
        ...CHANNEL,
        agent_id: idQuery("Only of this agent."),
        agent_turn_id: idQuery("Only of this turn."),
        step_id: idQuery("Only this step."),
        ...TRACE,
        status: word("Only steps in this state.", STEP_STATUSES),
        started_after: time("Only steps that started after this time."),
        started_before: time("Only steps that started before this time."),
        order: word("desc (default): the newest first.", ORDERS),
        ...pageQuery(STEPS.max, STEPS.default),
      },
      answers: { 200: pageOf("steps", StepDocument) },
    },
    {
      ...read,
      id: "listExecutionEdges",
      summary: "List who asked whom for what (turns, joins, calls, reports), the newest first.",
      path: `${state}/execution/edges`,
      handle: executionEdges,
      query: {
        ...CHANNEL,
        ...AGENT,
        primitive: word("Only edges of this kind.", PRIMITIVES),
        edge_phase: word("Only requests, or only responses.", PHASES),
        ...TRACE,
        correlation_id: Type.String({ description: "Only edges that belong to this call or turn." }),
        ...pageQuery(EDGES.max, EDGES.default),
      },
      answers: { 200: pageOf("edges", ExecutionEdgeDocument) },
    },
    {
      ...read,
      id: "listIdentityEdges",
      summary: "List who made or derived which agent, the newest first.",
      path: `${state}/identity/edges`,
      handle: identityEdges,
      query: {
        ...CHANNEL,
        ...AGENT,
        owner_agent_id: idQuery("Only where the target belongs to this agent."),
        worker_target: idQuery("Only where this kind of worker runs the target."),
        tag: Type.String({ description: "Only where the target has this tag." }),
        action: Type.String({ description: "Only this action, such as create or derive." }),
        ...TRACE,
        ...pageQuery(EDGES.max, EDGES.default),
      },
      answers: { 200: pageOf("edges", IdentityEdgeDocument) },
    },
  ];
}

function edgePlace(after: string | undefined): { readonly created_at: string; readonly edge_id: string } | undefined {
  if (after === undefined) return undefined;
  const [created_at, edge_id] = splitPlace(after);
  return { created_at, edge_id };
}
