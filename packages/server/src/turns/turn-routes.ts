// Turns: ask for one, look at it, list them, stop one.
//
//   T1. Asking is answered when the turn is committed (202): from then on it survives everybody. The same Idempotency-Key
//       with the same request is the same turn (200), with another request a conflict.
//   T2. A turn that has not ended tells what it waits for, and so does each open call (turn-document.ts, wait-reasons.ts).
//   T3. Stacks are for operators: they name files, and may repeat values. Nothing else that is read shows them.

import type { FailureRow, Kernel, Row, TurnPlace } from "@tessera/kernel";
import {
  BadRequest,
  CARD_CONTENT_BYTES_MAX,
  errorOf,
  NotFound,
  parseCanonicalInteger,
  parseId,
  STACK_CHARS_MAX,
} from "@tessera/protocol";
import type { Static } from "typebox";
import { inboundTrace, TRACE_HEADERS } from "../http/inbound-trace.ts";
import { bodyReader } from "../http/request-body.ts";
import type { ServerPorts } from "../ports.ts";
import { oneOf } from "../routing/api-schemas.ts";
import { answerPage } from "../routing/list-page.ts";
import type { PageCursors } from "../routing/page-cursor.ts";
import { idQuery, pageQuery } from "../routing/query-schemas.ts";
import { given, limitOf } from "../routing/query-values.ts";
import { refused, unknownProject } from "../routing/refusals.ts";
import { type ApiAnswer, type ApiRequest, READERS, type RouteSpec, WRITERS } from "../routing/route-spec.ts";
import { contextsOf, type TurnReads, turnDocument, wholeTurn } from "./turn-document.ts";
import {
  DOING,
  EnqueuedTurn,
  FailurePage,
  INPUT_SHOWN_CHARS_MAX,
  StopBody,
  StoppedTurn,
  TURN_STATUSES,
  Turn,
  TurnBody,
  TurnPage,
} from "./turn-schemas.ts";

export interface TurnDeps {
  readonly kernel: Pick<Kernel, "stopTurn"> & {
    readonly reads: TurnReads["reads"] &
      Pick<Kernel["reads"], "project" | "turn" | "turns" | "boxCards" | "failuresOfTurn">;
  };
  readonly cursors: PageCursors;
  readonly ports: Pick<ServerPorts, "agents">;
}

const readTurn = bodyReader(TurnBody);
const readStop = bodyReader(StopBody);
/** `active` is whatever a turn does between its queue and its end. */
const STATUS_FILTERS = ["active", ...TURN_STATUSES];
const LIMIT_DEFAULT = 50;
const LIMIT_MAX = 200;
const CHANNEL_DEFAULT = "public";
const FAILURES = { max: 100, default: 50 };
/** A stack as JSON writes it, and what stands beside it. */
const FAILURE_BYTES_MAX = 3 * STACK_CHARS_MAX;

export function turnRoutes(world: TurnDeps): RouteSpec[] {
  const { kernel, cursors } = world;
  const { agents } = world.ports;

  async function enqueue(request: ApiRequest): Promise<ApiAnswer> {
    const project_id = await projectOf(world, request);
    const order = await readTurn(request.body);
    if ((order.agent === undefined) === (order.agent_id === undefined)) {
      throw new BadRequest("give agent (a name) or agent_id, one of the two", { details: { field: "agent" } });
    }
    if (agents === undefined) throw errorOf("not_implemented", "this process serves no agents");
    const idempotency_key = request.header("idempotency-key") ?? undefined;
    const { isNew, agent_turn_id, agent_id } = await agents.enqueue({
      project_id,
      ...order,
      ...given({ idempotency_key }),
      ...inboundTrace(request),
    });
    const made = { turn: agent_turn_id };
    if (isNew) return { status: 202, body: { agent_turn_id, agent_id, status: "queued" }, made }; // T1
    const turn = await kernel.reads.turn(project_id, agent_turn_id);
    if (turn === null || !(await isSameOrder(turn, order))) {
      throw errorOf("conflict", "this Idempotency-Key was used for another request", {
        details: { field: "Idempotency-Key", agent_turn_id },
      });
    }
    return { status: 200, body: { agent_turn_id, agent_id, status: turn.turn_status }, made };
  }

  /** The agent is the same already; agents.enqueue refuses another. */
  async function isSameOrder(turn: Row, order: Static<typeof TurnBody>) {
    const cards = await kernel.reads.boxCards(String(turn.project_id), String(turn.context_box_id), { limit: 1 });
    const isSameInput = cards[0]?.content.text === order.input;
    const isSameStart = turn.is_fresh === (order.is_fresh ?? false);
    return isSameInput && isSameStart && turn.channel_id === (order.channel_id ?? CHANNEL_DEFAULT);
  }

  /** T2 */
  async function show(request: ApiRequest): Promise<ApiAnswer> {
    const turn = await wholeTurn(kernel, request.param("project"), request.param("turn"));
    if (turn === null) throw unknownTurn(request.param("turn"));
    return { status: 200, body: turn };
  }

  async function list(request: ApiRequest): Promise<ApiAnswer> {
    const project_id = await projectOf(world, request);
    const { status, agent_id, parent, cursor } = request.query;
    if (status !== undefined && !STATUS_FILTERS.includes(status)) {
      throw new BadRequest(`status must be one of ${STATUS_FILTERS.join(", ")}`, { details: { field: "status" } });
    }
    if (agent_id !== undefined) parseId(agent_id, "agent_id");
    if (parent !== undefined) parseId(parent, "parent");
    const limit = readLimit(request.query.limit);
    const name = `turns/${project_id}/${status ?? ""}/${agent_id ?? ""}${parent === undefined ? "" : `/${parent}`}`;
    const before = cursor === undefined ? null : placeIn(cursors.read(name, cursor));
    const rows = await turnsBefore(project_id, { status, agent_id, parent, before, limit: limit + 1 });
    const page = rows.slice(0, limit);
    const last = page.at(-1);
    const next = rows.length > limit && last !== undefined ? cursors.write(name, placeText(placeOf(last))) : null;
    const inputs = await kernel.reads.instructions(project_id, contextsOf(page), INPUT_SHOWN_CHARS_MAX);
    return { status: 200, body: { turns: page.map((row) => turnDocument(row, inputs)), next_cursor: next } };
  }

  /** Where the store cannot filter by what a turn does, its active turns are looked through: one at most for each agent. */
  async function turnsBefore(
    projectId: string,
    wanted: {
      readonly [filter in "status" | "agent_id" | "parent"]: string | undefined;
    } & { readonly before: TurnPlace | null; readonly limit: number },
  ): Promise<Row[]> {
    const { status, agent_id, parent, limit } = wanted;
    const isDoing = status !== undefined && DOING.includes(status);
    const filter = { status: isDoing ? "active" : status, agent_id, parent_agent_turn_id: parent };
    const found: Row[] = [];
    for (let before = wanted.before; ; ) {
      const rows = await kernel.reads.turns(projectId, { ...filter, before: before ?? undefined, limit });
      found.push(...rows.filter((row) => !isDoing || row.turn_status === status));
      if (rows.length < limit || found.length >= limit) return found;
      before = placeOf(rows.at(-1) ?? {});
    }
  }

  /** T3 */
  async function failures(request: ApiRequest): Promise<ApiAnswer> {
    const project_id = request.param("project");
    const turnId = request.param("turn");
    const limit = limitOf(request.query, FAILURES);
    if ((await kernel.reads.turn(project_id, turnId)) === null) throw unknownTurn(turnId);
    return await answerPage<FailureRow>(cursors, request, {
      list: `failures/${project_id}/${turnId}`,
      plural: "failures",
      limit,
      placeOf: ({ failure_id }) => String(failure_id),
      read: (after, count) =>
        kernel.reads.failuresOfTurn(project_id, turnId, {
          after: after === undefined ? undefined : Number(after),
          limit: count,
        }),
      show: ({ failure_id: _place, ...failure }) => failure,
    });
  }

  async function stop(request: ApiRequest): Promise<ApiAnswer> {
    const { reason } = await readStop(request.body ?? {});
    const order = { project_id: request.param("project"), agent_turn_id: request.param("turn") };
    const outcome = await kernel.stopTurn({ ...order, reason });
    if (outcome.outcome === "rejected") {
      if (outcome.code === "not_found") throw unknownTurn(order.agent_turn_id);
      throw refused(outcome, given({ status: outcome.status }));
    }
    return { status: 200, body: { agent_turn_id: order.agent_turn_id, status: "canceled", was: outcome.was } };
  }

  const all = "/projects/:project/turns";
  return [
    {
      id: "enqueueTurn",
      tag: "turns",
      summary: "Ask an agent for a turn; it is answered when the turn is safely stored.",
      method: "POST",
      path: all,
      roles: WRITERS,
      headers: { "Idempotency-Key": "The same key with the same request is the same turn.", ...TRACE_HEADERS },
      body: "json",
      bodySchema: TurnBody,
      answers: { 202: EnqueuedTurn, 200: EnqueuedTurn },
      handle: enqueue,
    },
    {
      id: "listTurns",
      tag: "turns",
      summary: "List turns, newest first.",
      method: "GET",
      path: all,
      roles: READERS,
      query: {
        status: { ...oneOf(STATUS_FILTERS), description: "Only turns with this status; active: begun and not ended." },
        agent_id: idQuery("Only turns of this agent."),
        parent: idQuery("Only turns that this turn asked for, by its agent_turn_id."),
        ...pageQuery(LIMIT_MAX, LIMIT_DEFAULT),
      },
      answers: { 200: TurnPage },
      handle: list,
    },
    {
      id: "getTurn",
      tag: "turns",
      summary: "Look at one turn with its steps, calls, children, timeline and what it waits for.",
      method: "GET",
      path: `${all}/:turn`,
      roles: READERS,
      answers: { 200: Turn },
      answerBytes: 2 * CARD_CONTENT_BYTES_MAX, // what was asked, and what was answered
      handle: show,
    },
    {
      id: "listTurnFailures",
      tag: "turns",
      summary: "List the stacks of what failed in a turn, attempt by attempt, in the order of their reports.",
      method: "GET",
      path: `${all}/:turn/failures`,
      roles: WRITERS,
      query: pageQuery(FAILURES.max, FAILURES.default),
      answers: { 200: FailurePage },
      answerBytes: FAILURES.max * FAILURE_BYTES_MAX,
      handle: failures,
    },
    {
      id: "stopTurn",
      tag: "turns",
      summary: "Stop a turn that has not ended, and the turns that it asked for.",
      method: "POST",
      path: `${all}/:turn/stop`,
      roles: WRITERS,
      body: "json",
      bodySchema: StopBody,
      answers: { 200: StoppedTurn },
      handle: stop,
    },
  ];
}

async function projectOf({ kernel }: TurnDeps, request: ApiRequest): Promise<string> {
  const project_id = request.param("project");
  if (request.key.project_id === null && (await kernel.reads.project(project_id)) === null)
    throw unknownProject(project_id);
  return project_id;
}

function readLimit(text: string | undefined): number {
  if (text === undefined) return LIMIT_DEFAULT;
  const limit = parseCanonicalInteger(text);
  if (limit !== null && limit >= 1 && limit <= LIMIT_MAX) return limit;
  throw new BadRequest(`limit must be a whole number from 1 to ${LIMIT_MAX}`, { details: { field: "limit" } });
}

function unknownTurn(turnId: string): NotFound {
  return new NotFound(`there is no turn ${turnId} in this project`, { details: { field: "agent_turn_id" } });
}

function placeOf({ created_at, agent_turn_id }: Row): TurnPlace {
  return { created_at: String(created_at), agent_turn_id: String(agent_turn_id) };
}

function placeText({ created_at, agent_turn_id }: TurnPlace): string {
  return `${created_at},${agent_turn_id}`;
}

function placeIn(text: string): TurnPlace {
  const [created_at = "", agent_turn_id = ""] = text.split(",");
  return { created_at, agent_turn_id };
}
