// Reads of a project from outside: lists by filter and page, boxes and cards in bulk, what happened.
// Every one names its project; an id of another project is simply not there. What each costs is said in
// sql/queries/state_reads.sql.

import type { ReadonlyJson, ReadonlyJsonObject } from "@tessera/protocol";
import type { Database, Row } from "../ports.ts";
import { sqlQuery } from "../store/sql-files.ts";
import type { CardDocument } from "./reads.ts";

export interface ProjectRow extends Row {
  readonly project_id: string;
  readonly title: string;
  readonly owner_id: string | null;
  readonly status: "active" | "inactive" | "archived" | "deleting";
  /** Grows with every change: what an ETag is made of. */
  readonly revision: number;
  readonly created_at: string;
  readonly updated_at: string;
}

export interface HeadRow extends Row {
  readonly project_id: string;
  readonly agent_id: string;
  readonly status: "idle" | "dispatched" | "running" | "suspended";
  readonly active_agent_turn_id: string | null;
  readonly active_channel_id: string | null;
  readonly turn_epoch: number;
  readonly holder: string | null;
  readonly step_id: string | null;
  readonly waiting_tool_count: number;
  readonly resume_deadline: string | null;
  readonly updated_at: string;
}

export interface StepRow extends Row {
  readonly project_id: string;
  readonly channel_id: string;
  readonly agent_id: string;
  readonly agent_turn_id: string;
  readonly step_id: string;
  readonly parent_step_id: string | null;
  readonly trace_id: string;
  /** `waiting` while a call of it is open, `done` after, `ended` where its turn ended first. */
  readonly status: "waiting" | "done" | "ended";
  readonly thought_card_id: string;
  readonly output_box_id: string;
  readonly tool_call_ids: readonly string[];
  readonly started_at: string;
}

interface StepFilter {
  readonly channel_id?: string;
  readonly agent_id?: string;
  readonly agent_turn_id?: string;
  readonly step_id?: string;
  readonly parent_step_id?: string;
  readonly trace_id?: string;
  readonly status?: StepRow["status"];
  /** ISO times; both bounds are exclusive. */
  readonly started_after?: string;
  readonly started_before?: string;
}

interface StepPage {
  readonly order: "asc" | "desc";
  readonly limit: number;
  /** The last row of the page before. */
  readonly after?: { readonly started_at: string; readonly step_id: string } | undefined;
}

export interface ExecutionEdgeRow extends Row {
  readonly edge_id: string;
  readonly channel_id: string;
  readonly primitive: "enqueue" | "join" | "tool_call" | "report";
  readonly edge_phase: "request" | "response";
  readonly source_agent_id: string | null;
  readonly source_agent_turn_id: string | null;
  readonly source_step_id: string | null;
  readonly target_agent_id: string | null;
  readonly target_agent_turn_id: string | null;
  readonly correlation_id: string;
  readonly enqueue_mode: string | null;
  readonly recursion_depth: number;
  readonly trace_id: string | null;
  readonly parent_step_id: string | null;
  readonly metadata: ReadonlyJsonObject;
  readonly created_at: string;
}

interface ExecutionEdgeFilter {
  readonly channel_id?: string;
  /** As source or as target. */
  readonly agent_id?: string;
  readonly primitive?: ExecutionEdgeRow["primitive"];
  readonly edge_phase?: ExecutionEdgeRow["edge_phase"];
  readonly trace_id?: string;
  readonly parent_step_id?: string;
  readonly correlation_id?: string;
}

/** The last edge of the page before. */
interface EdgePlace {
  readonly created_at: string;
  readonly edge_id: string;
}

export interface IdentityEdgeRow extends Row {
  readonly edge_id: string;
  readonly channel_id: string;
  readonly action: string;
  readonly source_agent_id: string | null;
  readonly target_agent_id: string;
  /** Of the target, as the roster has it now. */
  readonly owner_agent_id: string | null;
  readonly worker_target: string | null;
  readonly tags: readonly string[];
  readonly trace_id: string | null;
  readonly parent_step_id: string | null;
  readonly metadata: ReadonlyJsonObject;
  readonly created_at: string;
}

interface IdentityEdgeFilter {
  readonly channel_id?: string;
  /** As source or as target. */
  readonly agent_id?: string;
  readonly owner_agent_id?: string;
  readonly worker_target?: string;
  readonly tag?: string;
  readonly action?: string;
  readonly trace_id?: string;
  readonly parent_step_id?: string;
}

/** What a turn went through, in order; each entry says what happened in `kind`. */
export interface TimelineRow extends Row {
  readonly at: string;
  readonly kind:
    | "turn.queued"
    | "turn.state"
    | "step"
    | "call.made"
    | "call.claimed"
    | "call.lost"
    | "call.settled"
    | "call.applied"
    | "child.queued"
    | "child.ended"
    | "turn.ended";
  readonly status: string | null;
  readonly step_id: string | null;
  readonly tool_call_id: string | null;
  /** The tool, or the child's agent. */
  readonly name: string | null;
  /** The child's; null in entries about the turn itself. */
  readonly agent_turn_id: string | null;
  readonly detail: ReadonlyJson;
}

/** Counts of what happened in a span of time; durations in milliseconds. */
interface ActivityReport {
  readonly turns: readonly {
    readonly status: string;
    readonly count: number;
    readonly p50_ms: number | null;
    readonly p95_ms: number | null;
  }[];
  readonly calls: readonly {
    readonly tool_name: string;
    readonly count: number;
    readonly open: number;
    readonly success: number;
    readonly failed: number;
    readonly timeout: number;
    readonly canceled: number;
    readonly unknown: number;
    readonly attempts: number;
    readonly p50_ms: number | null;
    readonly p95_ms: number | null;
  }[];
  /** Refusals by kind and code, from the audit log. */
  readonly refusals: readonly { readonly kind: string; readonly code: string; readonly count: number }[];
  readonly dead_letters: number;
  /** Targets whose calls no executor has taken, with the age of the oldest. */
  readonly unserved: readonly { readonly target: string; readonly open: number; readonly oldest_at: string }[];
  readonly backlog: { readonly queued: number; readonly active: number };
}

export interface StateReads {
  /** One page by id. With a project, that one at most. */
  projects(page: {
    readonly project_id?: string | undefined;
    readonly after?: string | undefined;
    readonly limit: number;
  }): Promise<ProjectRow[]>;
  heads(
    projectId: string,
    page: { readonly channel_id?: string | undefined; readonly after?: string | undefined; readonly limit: number },
  ): Promise<HeadRow[]>;
  steps(projectId: string, filter: StepFilter, page: StepPage): Promise<StepRow[]>;
  /** Newest first: by time, then by id, both downwards. With `before`, those behind that edge in this order. */
  executionEdges(
    projectId: string,
    filter: ExecutionEdgeFilter,
    limit: number,
    before?: EdgePlace,
  ): Promise<ExecutionEdgeRow[]>;
  identityEdges(
    projectId: string,
    filter: IdentityEdgeFilter,
    limit: number,
    before?: EdgePlace,
  ): Promise<IdentityEdgeRow[]>;
  /** The last cards of a box, in their order. */
  boxTail(projectId: string, boxId: string, limit: number): Promise<(CardDocument & { readonly pos: number })[]>;
  /** The last card ids of each box, in their order; a box that is not there is left out. */
  boxTailIds(
    projectId: string,
    boxIds: readonly string[],
    limit: number,
  ): Promise<{ readonly box_id: string; readonly card_ids: readonly string[] }[]>;
  /** The newest entries in their order. Cut: there are older ones, or its events are among too many of the project to look for. */
  timeline(
    projectId: string,
    turnId: string,
    limit: number,
  ): Promise<{ readonly entries: readonly TimelineRow[]; readonly isCut: boolean }>;
  activity(projectId: string, span: { readonly since: string; readonly until: string | null }): Promise<ActivityReport>;
  /** The cursor behind the newest event: where a listener that wants no past begins. */
  lastEventSeq(projectId: string): Promise<number>;
}

/** How many events of a project are looked through for those of one turn. */
const TIMELINE_EVENTS_MAX = 50_000;

export function createStateReads(database: Database): StateReads {
  const all = <R extends Row>(name: string, ...values: unknown[]) => database.query<R>(sqlQuery(name), values);
  return {
    projects: ({ project_id = null, after = "", limit }) => all("projects_page", project_id, after, limit),
    heads: (project, { channel_id = null, after = "", limit }) => all("heads_page", project, channel_id, after, limit),
    steps: (project, filter, { order, limit, after }) => {
      const values = [
        project,
        filter.channel_id,
        filter.agent_id,
        filter.step_id,
        filter.parent_step_id,
        filter.trace_id,
        filter.status,
        filter.started_after,
        filter.started_before,
        after?.started_at,
        after?.step_id,
      ];
      const turn = filter.agent_turn_id;
      if (turn !== undefined) return all("steps_of_turn", ...values, turn, order === "asc", limit);
      return all(order === "asc" ? "steps_oldest" : "steps_newest", ...values, limit);
    },
    executionEdges: (project, filter, limit, before) => {
      const { channel_id, agent_id, primitive, edge_phase, trace_id, parent_step_id, correlation_id } = filter;
      const place = [before?.created_at, before?.edge_id];
      const values = [project, channel_id, agent_id, primitive, edge_phase, trace_id, parent_step_id, ...place];
      return correlation_id === undefined
        ? all("execution_edges_newest", ...values, limit)
        : all("execution_edges_of_correlation", ...values, correlation_id, limit);
    },
    identityEdges: (project, filter, limit, before) => {
      const { channel_id, agent_id, owner_agent_id, worker_target, tag, action, trace_id, parent_step_id } = filter;
      const values = [
        project,
        channel_id,
        agent_id,
        owner_agent_id,
        worker_target,
        tag,
        action,
        trace_id,
        parent_step_id,
      ];
      return all("identity_edges_newest", ...values, before?.created_at, before?.edge_id, limit);
    },
    boxTail: (project, box, limit) => all("box_tail", project, box, limit),
    boxTailIds: (project, boxes, limit) => all("box_tail_ids", project, boxes, limit),
    async timeline(project, turn, limit) {
      const values = [project, turn, limit + 1, TIMELINE_EVENTS_MAX];
      const rows = await all<TimelineRow & { has_unread: boolean }>("turn_timeline", ...values);
      const entries = rows.slice(-limit).map(({ has_unread: _, ...entry }) => entry as TimelineRow);
      return { entries, isCut: rows.length > limit || rows[0]?.has_unread === true };
    },
    async activity(project, { since, until }) {
      const rows = await all<ActivityReport & Row>("activity_of_project", project, since, until);
      if (rows[0] === undefined) throw new Error("activity_of_project answers one row");
      return rows[0];
    },
    async lastEventSeq(project) {
      return (await all<{ seq: number }>("last_event_seq", project))[0]?.seq ?? 0;
    },
  };
}
