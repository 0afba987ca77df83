// Reads of the store. Every one names its project; an id of another project is simply not there.

import { createGatheredReads } from "../batching/gathered-reads.ts";
import type { Json, JsonObject } from "../moves/outcomes.ts";
import type { Clock, Database, Row } from "../ports.ts";
import { sqlQuery } from "../store/sql-files.ts";

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

/** What an earlier turn was asked, and what it thought, called and answered. */
interface ConversationTurn {
  readonly turn_number: number;
  readonly agent_turn_id: string;
  readonly context: readonly CardDocument[];
  readonly output: readonly CardDocument[];
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

export interface ProfileRow extends Row {
  readonly project_id: string;
  readonly name: string;
  readonly profile_box_id: string;
  readonly worker_target: string;
  readonly tags: readonly string[];
  readonly description: string;
  readonly updated_at: string;
}

/** Every given field must fit. */
interface AgentFilter {
  readonly worker_target?: string;
  readonly tag?: string;
  readonly owner_agent_id?: string;
  readonly profile_box_id?: string;
  /** Agents behind this id, in the order of ids. */
  readonly after?: string;
  readonly limit?: number;
}

/** Where an attempt of a call failed; without a call, why the turn itself could not be run. */
export interface FailureRow extends Row {
  readonly failure_id: number;
  readonly tool_call_id: string | null;
  readonly tool_name: string | null;
  readonly attempt: number | null;
  readonly stack: string;
  readonly created_at: string;
}

/** What comes behind `after`, so many of them. */
interface PageAfter {
  readonly after?: string;
  readonly limit?: number;
}

/** Where a turn stands in a list: by time, and by id where that is the same. */
export interface TurnPlace {
  readonly created_at: string;
  readonly agent_turn_id: string;
}

export interface Reads {
  /** Input order, duplicates kept, missing ones skipped. */
  cards(projectId: string, cardIds: readonly string[]): Promise<CardDocument[]>;
  boxCards(
    projectId: string,
    boxId: string,
    range?: { from?: number; limit?: number },
  ): Promise<(CardDocument & { pos: number })[]>;
  /** Turns of an agent's conversation by their numbers, first and last included. Of `known` ones no cards are read. */
  conversation(
    projectId: string,
    agentId: string,
    range: { readonly first: number; readonly last: number; readonly known?: readonly string[] },
  ): Promise<ConversationTurn[]>;
  /** What turns were asked, by their context boxes; those without an instruction are left out. Cut to so many characters. */
  instructions(
    projectId: string,
    contextBoxIds: readonly string[],
    charactersMax?: number,
  ): Promise<ReadonlyMap<string, string>>;
  box(projectId: string, boxId: string): Promise<Row | null>;
  turn(projectId: string, turnId: string): Promise<Row | null>;
  /** One page, newest first. */
  turns(
    projectId: string,
    filter?: {
      readonly status?: string | undefined;
      readonly agent_id?: string | undefined;
      readonly parent_agent_turn_id?: string | undefined;
      /** The last turn of the page before. */
      readonly before?: TurnPlace | undefined;
      readonly limit?: number | undefined;
    },
  ): Promise<Row[]>;
  head(projectId: string, agentId: string): Promise<Row | null>;
  call(projectId: string, callId: string): Promise<Row | null>;
  callsOfTurn(projectId: string, turnId: string): Promise<Row[]>;
  /** Stacks of what failed in a turn, in the order of their reports; for operators only. */
  failuresOfTurn(
    projectId: string,
    turnId: string,
    page?: { readonly after?: number | undefined; readonly limit?: number | undefined },
  ): Promise<FailureRow[]>;
  project(projectId: string): Promise<Row | null>;
  tools(projectId: string): Promise<Row[]>;
  /** One page of tools behind a name, in the order of their names. */
  toolsAfter(projectId: string, toolName: string, limit: number): Promise<Row[]>;
  tool(projectId: string, toolName: string): Promise<Row | null>;
  toolByDigest(projectId: string, toolName: string, digest: string): Promise<Row | null>;
  /** Keys of a project, or all with null, in the order of their ids. Never a secret or its hash. */
  apiKeys(projectId: string | null, page?: PageAfter): Promise<Row[]>;
  agent(projectId: string, agentId: string): Promise<Row | null>;
  agents(projectId: string, filter?: AgentFilter): Promise<Row[]>;
  profile(projectId: string, name: string): Promise<ProfileRow | null>;
  /** In the order of their names. */
  profiles(projectId: string, page?: PageAfter): Promise<ProfileRow[]>;
  /** The name that means this box today; null for a box that a newer upload replaced. */
  profileByBox(projectId: string, boxId: string): Promise<ProfileRow | null>;
  /** Turns that were enqueued by this one, oldest first; `parent_tool_call_id` is the call whose batch runs it, else null. */
  childTurns(projectId: string, turnId: string): Promise<Row[]>;
  /** Events after a cursor, in an order that never skips one that commits late. */
  eventsAfter(projectId: string, cursor: number, limit?: number): Promise<EventRow[]>;
  batch(projectId: string, batchId: string): Promise<Row | null>;
  /** Newest first; with `before`, those older than that one. */
  deadLetters(projectId: string, limit?: number, before?: number): Promise<Row[]>;
  audit(projectId: string, limit?: number, before?: number): Promise<Row[]>;
  /** What belongs to no project, or to one that is gone. */
  storeAudit(limit?: number, before?: number): Promise<Row[]>;
}

const ROWS_MAX = 1_000;

export function createReads(database: Database, clock: Clock): Reads {
  const all = <R extends Row>(name: string, ...values: unknown[]) => database.query<R>(sqlQuery(name), values);
  const one = async (name: string, ...values: unknown[]) => (await all<Row>(name, ...values))[0] ?? null;
  const gathered = createGatheredReads(database, clock);
  return {
    ...gathered,
    cards: (project, ids) => all("cards_by_id", project, ids),
    conversation: async (project, agent, { first, last, known = [] }) =>
      turnsOf(await all<ConversationRow>("conversation", project, agent, first, last, known)),
    instructions: async (project, boxes, charactersMax) => {
      const rows = await all<{ box_id: string; input: string }>("instructions", project, boxes, charactersMax ?? null);
      return new Map(rows.map(({ box_id, input }) => [box_id, input]));
    },
    box: (project, box) => one("box_by_id", project, box),
    turn: (project, turn) => one("turn_by_id", project, turn),
    turns: (project, { status, agent_id, parent_agent_turn_id, before, limit = ROWS_MAX } = {}) => {
      const place = [before?.created_at ?? null, before?.agent_turn_id ?? null];
      const values = [project, status ?? null, agent_id ?? null, ...place, limit];
      return parent_agent_turn_id === undefined
        ? all("turns_of_project", ...values)
        : all("turns_of_parent", ...values, parent_agent_turn_id);
    },
    head: (project, agent) => one("head_by_agent", project, agent),
    call: (project, call) => one("call_by_id", project, call),
    callsOfTurn: (project, turn) => all("calls_of_turn", project, turn),
    failuresOfTurn: (project, turn, { after = 0, limit = ROWS_MAX } = {}) =>
      all("failures_of_turn", project, turn, after, limit),
    project: (project) => one("project_by_id", project),
    toolsAfter: (project, name, limit) => all("tools_after", project, name, limit),
    tool: (project, name) => one("tool_by_name", project, name),
    apiKeys: (project, { after = "", limit = ROWS_MAX } = {}) => all("api_keys_of_project", project, limit, after),
    toolByDigest: (project, name, digest) => one("tool_by_digest", project, name, digest),
    agents: (project, filter = {}) => {
      const { worker_target = null, tag = null, owner_agent_id = null, profile_box_id = null, after = "" } = filter;
      const limit = filter.limit ?? ROWS_MAX;
      return all("agents_of_project", project, worker_target, tag, owner_agent_id, profile_box_id, after, limit);
    },
    profile: async (project, name) => (await all<ProfileRow>("profile_by_name", project, name))[0] ?? null,
    profiles: (project, { after = "", limit = ROWS_MAX } = {}) => all("profiles_of_project", project, limit, after),
    profileByBox: async (project, box) => (await all<ProfileRow>("profile_by_box", project, box))[0] ?? null,
    childTurns: (project, turn) => all("turns_by_parent", project, turn, ROWS_MAX),
    eventsAfter: (project, cursor, limit = ROWS_MAX) => all("events_after", project, cursor, limit),
    batch: (project, batch) => one("batch_by_id", project, batch),
    deadLetters: (project, limit = ROWS_MAX, before) => all("dead_letters_of_project", project, limit, before ?? null),
    audit: (project, limit = ROWS_MAX, before) => all("audit_of_project", project, limit, before ?? null),
    storeAudit: (limit = ROWS_MAX, before) => all("audit_of_store", limit, before ?? null),
  };
}

interface ConversationRow extends CardDocument {
  readonly turn_number: number;
  readonly agent_turn_id: string;
  /** Null: a known turn, or one without cards. */
  readonly part: "context" | "output" | null;
}

/** Rows in the order of their turns. */
function turnsOf(rows: readonly ConversationRow[]): ConversationTurn[] {
  const turns = new Map<string, { turn_number: number; context: CardDocument[]; output: CardDocument[] }>();
  for (const { turn_number, agent_turn_id, part, ...card } of rows) {
    const turn = turns.get(agent_turn_id) ?? { turn_number: Number(turn_number), context: [], output: [] };
    turns.set(agent_turn_id, turn);
    if (part !== null) turn[part].push(card as CardDocument);
  }
  return [...turns].map(([agent_turn_id, turn]) => ({ agent_turn_id, ...turn }));
}
