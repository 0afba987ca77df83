// Reads of the store. Every one names its project; an id of another project is simply not there.

import type { Json, JsonObject } from "./outcomes.ts";
import type { Database, Row } from "./ports.ts";
import { sqlQuery } from "./sql-files.ts";

export interface CardDocument extends Row {
  readonly card_id: string;
  readonly project_id: string;
  readonly type: string;
  readonly author_id: string;
  readonly content: JsonObject;
  readonly metadata: JsonObject;
  readonly tool_calls: Json;
  readonly tool_call_id: string | null;
  readonly created_at: string;
}

export interface EventRow extends Row {
  readonly seq: number;
  readonly agent_id: string;
  readonly agent_turn_id: string;
  readonly kind: "state" | "task";
  readonly status: string;
  readonly turn_epoch: number;
  readonly step_id: string | null;
  readonly payload: JsonObject | null;
  readonly created_at: string;
}

export interface Reads {
  /** Input order, duplicates kept, missing ones skipped. */
  cards(projectId: string, cardIds: readonly string[]): Promise<CardDocument[]>;
  boxCards(
    projectId: string,
    boxId: string,
    range?: { from?: number; limit?: number },
  ): Promise<(CardDocument & { pos: number })[]>;
  turn(projectId: string, turnId: string): Promise<Row | null>;
  head(projectId: string, agentId: string): Promise<Row | null>;
  call(projectId: string, callId: string): Promise<Row | null>;
  callsOfTurn(projectId: string, turnId: string): Promise<Row[]>;
  project(projectId: string): Promise<Row | null>;
  tools(projectId: string): Promise<Row[]>;
  /** One page of tools behind a name, in the order of their names. */
  toolsAfter(projectId: string, toolName: string, limit: number): Promise<Row[]>;
  tool(projectId: string, toolName: string): Promise<Row | null>;
  toolByDigest(projectId: string, toolName: string, digest: string): Promise<Row | null>;
  /** Keys of a project, or all with null. Never a secret or its hash. */
  apiKeys(projectId: string | null): Promise<Row[]>;
  agent(projectId: string, agentId: string): Promise<Row | null>;
  /** Events after a cursor, in an order that never skips one that commits late. */
  eventsAfter(projectId: string, cursor: number, limit?: number): Promise<EventRow[]>;
  batch(projectId: string, batchId: string): Promise<Row | null>;
  deadLetters(projectId: string, limit?: number): Promise<Row[]>;
  audit(projectId: string, limit?: number): Promise<Row[]>;
}

const ROWS_MAX = 1_000;

export function createReads(database: Database): Reads {
  const all = <R extends Row>(name: string, ...values: unknown[]) => database.query<R>(sqlQuery(name), values);
  const one = async (name: string, ...values: unknown[]) => (await all<Row>(name, ...values))[0] ?? null;
  return {
    cards: (project, ids) => all("cards_by_id", project, ids),
    boxCards: (project, box, range = {}) => all("box_cards", project, box, range.from ?? 0, range.limit ?? ROWS_MAX),
    turn: (project, turn) => one("turn_by_id", project, turn),
    head: (project, agent) => one("head_by_agent", project, agent),
    call: (project, call) => one("call_by_id", project, call),
    callsOfTurn: (project, turn) => all("calls_of_turn", project, turn),
    project: (project) => one("project_by_id", project),
    tools: (project) => all("tools_of_project", project),
    toolsAfter: (project, name, limit) => all("tools_after", project, name, limit),
    tool: (project, name) => one("tool_by_name", project, name),
    apiKeys: (project) => all("api_keys_of_project", project, ROWS_MAX),
    toolByDigest: (project, name, digest) => one("tool_by_digest", project, name, digest),
    agent: (project, agent) => one("agent_by_id", project, agent),
    eventsAfter: (project, cursor, limit = ROWS_MAX) => all("events_after", project, cursor, limit),
    batch: (project, batch) => one("batch_by_id", project, batch),
    deadLetters: (project, limit = ROWS_MAX) => all("dead_letters_of_project", project, limit),
    audit: (project, limit = ROWS_MAX) => all("audit_of_project", project, limit),
  };
}
