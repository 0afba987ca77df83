// Turns: ask for one, look at it, list them, stop one. And what a tool behind the edge may ask of other agents.
//
//   T1. Asking is answered when the turn is committed (202): from then on it survives everybody. The same Idempotency-Key
//       with the same request is the same turn (200), with another request a conflict (faults H13).
//   T2. A turn that has not ended tells why, and so does each open call: who has it and until when.
//   T3. Who may ask other agents is who holds the call: the capability is checked as a heartbeat is, and renews the lease.
//   T4. What ctx.runtime throws is a tool's error with a code of its own: 400, so that no client takes it for our failure
//       and repeats it. Everything else that goes wrong there is told as everywhere.

import type { CardDocument, Kernel, Row } from "@tessera/kernel";
import {
  BadRequest,
  errorOf,
  HEADERS,
  ID_PATTERN,
  isJsonObject,
  NotFound,
  parseCanonicalInteger,
  parseId,
} from "@tessera/protocol";
import Type from "typebox";
import { type AgentPorts, RUNTIME_OPERATIONS, type RuntimeCallerOrder, type RuntimeRequest } from "./agent-ports.ts";
import type { PageCursors } from "./page-cursor.ts";
import { refused, unknownProject } from "./refusals.ts";
import { bodyReader, ENVELOPE_DEPTH_MAX } from "./request-body.ts";
import { type ApiAnswer, type ApiRequest, EXECUTORS, READERS, type RouteSpec, WRITERS } from "./route-spec.ts";

export interface TurnWorld {
  readonly kernel: Pick<Kernel, "stopTurn" | "renewCall"> & {
    readonly reads: Pick<Kernel["reads"], "project" | "turn" | "turns" | "callsOfTurn" | "call" | "cards" | "boxCards">;
  };
  readonly cursors: PageCursors;
  /** Absent: this process knows no agents. */
  readonly agents?: AgentPorts;
}

const closed = { additionalProperties: false };
const Name = Type.Optional(Type.String({ minLength: 1, maxLength: 128 }));
const Id = Type.Optional(Type.String({ pattern: ID_PATTERN.source }));
const Text = Type.Optional(Type.String({ maxLength: 262_144 }));
const Facts = Type.Optional(Type.Record(Type.String(), Type.Unknown()));
const readTurn = bodyReader(
  Type.Object(
    { agent: Name, agent_id: Id, instance_key: Name, channel_id: Id, input: Type.String({ maxLength: 262_144 }) },
    closed,
  ),
);
const readStop = bodyReader(Type.Object({ reason: Type.Optional(Type.String({ maxLength: 1_000 })) }, closed));
const readRuntime = bodyReader(
  Type.Object(
    {
      ordinal: Type.Integer({ minimum: 0, maximum: 1_000_000 }),
      target: Name,
      event: Type.Optional(
        Type.Object(
          {
            ...{ id: Name, type: Name, createdAt: Name, traceId: Name, input: Text, instanceKey: Name },
            ...{ source: Facts, metadata: Facts, auth: Facts, replyTo: Facts },
          },
          closed,
        ),
      ),
      options: Type.Optional(
        Type.Object(
          {
            timeoutMs: Type.Optional(Type.Integer({ minimum: 1, maximum: 86_400_000 })),
            async: Type.Optional(Type.Boolean()),
            includeAll: Type.Optional(Type.Boolean()),
            instanceKey: Name,
            cwd: Type.Optional(Type.String({ minLength: 1, maxLength: 4_096 })),
          },
          closed,
        ),
      ),
    },
    closed,
  ),
);
/** What a turn does while it is active; the store keeps that with its agent. */
const DOING: ReadonlySet<string> = new Set(["dispatched", "running", "suspended"]);
const ENDINGS = ["success", "failed", "canceled", "timeout", "partial"];
const STATUSES: ReadonlySet<string> = new Set(["queued", "active", ...DOING, ...ENDINGS]);
const TARGETED: ReadonlySet<string> = new Set(["request", "send", "spawn"]);
const LIMIT_DEFAULT = 50;
const LIMIT_MAX = 200;
const CHANNEL_DEFAULT = "public";

export function turnRoutes(world: TurnWorld): RouteSpec[] {
  const { kernel, cursors, agents } = world;

  async function enqueue(request: ApiRequest): Promise<ApiAnswer> {
    const project_id = await projectOf(world, request);
    const order = readTurn(request.body);
    if ((order.agent === undefined) === (order.agent_id === undefined)) {
      throw new BadRequest("give agent (a name) or agent_id, one of the two", { details: { field: "agent" } });
    }
    if (agents === undefined) throw errorOf("not_implemented", "this process serves no agents");
    const idempotency_key = request.header("idempotency-key");
    const { isNew, agent_turn_id, agent_id } = await agents.enqueue({
      project_id,
      ...order,
      ...(idempotency_key === null ? {} : { idempotency_key }),
    });
    if (isNew) return { status: 202, body: { agent_turn_id, agent_id, status: "queued" } }; // T1
    const turn = await kernel.reads.turn(project_id, agent_turn_id);
    if (turn === null || !(await isSameOrder(turn, order))) {
      throw errorOf("conflict", "this Idempotency-Key was used for another request", {
        details: { field: "Idempotency-Key", agent_turn_id },
      });
    }
    return { status: 200, body: { agent_turn_id, agent_id, status: turn.turn_status } };
  }

  /** The agent is the same already; agents.enqueue refuses another. */
  async function isSameOrder(turn: Row, order: { readonly input: string; readonly channel_id?: string }) {
    const cards = await kernel.reads.boxCards(String(turn.project_id), String(turn.context_box_id), { limit: 1 });
    const isSameInput = cards[0]?.content.text === order.input;
    return isSameInput && turn.channel_id === (order.channel_id ?? CHANNEL_DEFAULT);
  }

  async function show(request: ApiRequest): Promise<ApiAnswer> {
    const project_id = request.param("project");
    const turn = await kernel.reads.turn(project_id, request.param("turn"));
    if (turn === null) throw unknownTurn(request.param("turn"));
    const { agent_turn_id, deliverable_card_id } = turn;
    const [deliverable] =
      deliverable_card_id === null ? [] : await kernel.reads.cards(project_id, [String(deliverable_card_id)]);
    const planned = await kernel.reads.callsOfTurn(project_id, String(agent_turn_id));
    const isOpen = turn.ended_at === null;
    const calls = await Promise.all(planned.map((call) => callOf(call, isOpen && call.wait_status === "waiting")));
    const why = isOpen ? { why: whyOpen(turn) } : {};
    return { status: 200, body: { ...turnDocument(turn), ...why, deliverable: deliverableOf(deliverable), calls } };

    /** T2 */
    async function callOf(call: Row, isWaiting: boolean): Promise<Record<string, unknown>> {
      const whole = isWaiting ? await kernel.reads.call(project_id, String(call.tool_call_id)) : null;
      return { ...callDocument(call), ...(whole === null ? {} : { why: whyWaiting(whole) }) };
    }
  }

  async function list(request: ApiRequest): Promise<ApiAnswer> {
    const project_id = await projectOf(world, request);
    const { status, agent_id, cursor } = request.query;
    if (status !== undefined && !STATUSES.has(status)) {
      throw new BadRequest(`status must be one of ${[...STATUSES].join(", ")}`, { details: { field: "status" } });
    }
    if (agent_id !== undefined) parseId(agent_id, "agent_id");
    const limit = readLimit(request.query.limit);
    const name = `turns/${project_id}/${status ?? ""}/${agent_id ?? ""}`;
    const before = cursor === undefined ? null : cursors.read(name, cursor);
    const rows = await turnsBefore(project_id, { status, agent_id, before, limit: limit + 1 });
    const page = rows.slice(0, limit);
    const last = page.at(-1);
    const next = rows.length > limit && last !== undefined ? cursors.write(name, String(last.agent_turn_id)) : null;
    return { status: 200, body: { turns: page.map(turnDocument), next_cursor: next } };
  }

  /** Where the store cannot filter by what a turn does, its active turns are looked through: one at most for each agent. */
  async function turnsBefore(
    projectId: string,
    wanted: { status: string | undefined; agent_id: string | undefined; before: string | null; limit: number },
  ): Promise<Row[]> {
    const { status, agent_id, limit } = wanted;
    const isDoing = status !== undefined && DOING.has(status);
    const filter = {
      ...(status === undefined ? {} : { status: isDoing ? "active" : status }),
      ...(agent_id === undefined ? {} : { agent_id }),
    };
    const found: Row[] = [];
    for (let before = wanted.before; ; ) {
      const rows = await kernel.reads.turns(projectId, { ...filter, ...(before === null ? {} : { before }), limit });
      found.push(...rows.filter((row) => !isDoing || row.turn_status === status));
      if (rows.length < limit || found.length >= limit) return found;
      before = String(rows.at(-1)?.agent_turn_id);
    }
  }

  async function stop(request: ApiRequest): Promise<ApiAnswer> {
    const { reason } = readStop(request.body ?? {});
    const order = { project_id: request.param("project"), agent_turn_id: request.param("turn") };
    const outcome = await kernel.stopTurn({ ...order, ...(reason === undefined ? {} : { reason }) });
    if (outcome.outcome === "rejected") {
      if (outcome.code === "not_found") throw unknownTurn(order.agent_turn_id);
      throw refused(outcome, outcome.status === undefined ? {} : { status: outcome.status });
    }
    return { status: 200, body: { agent_turn_id: order.agent_turn_id, status: "canceled", was: outcome.was } };
  }

  async function runtime(request: ApiRequest): Promise<ApiAnswer> {
    const operation = RUNTIME_OPERATIONS.find((each) => each === request.param("operation"));
    if (operation === undefined) throw new NotFound(`there is no operation ${request.param("operation")}`);
    const given = readRuntime(request.body);
    if (given.target === undefined && TARGETED.has(operation)) {
      throw new BadRequest(`${operation} needs target, the name of an agent`, { details: { field: "target" } });
    }
    if (agents === undefined) throw errorOf("not_implemented", "this process serves no agents");
    const hold = { project_id: request.param("project"), tool_call_id: request.param("call") };
    const capability = request.header(HEADERS.report_capability) ?? "";
    const outcome = await kernel.renewCall({ ...hold, capability, principal: request.key.key_id }); // T3
    if (outcome.outcome === "rejected") throw refused(outcome);
    const call = await kernel.reads.call(hold.project_id, hold.tool_call_id);
    if (call === null)
      throw new NotFound(`there is no call ${hold.tool_call_id} in this project`, { code: "unknown_call" });
    const answer = await agents
      .runtime(callerOf(call), operation, given as RuntimeRequest, request.stopped())
      .catch(asToolError);
    return { status: 200, body: { answer } };
  }

  const turns = "/projects/:project/turns";
  return [
    { method: "POST", path: turns, roles: WRITERS, body: "json", handle: enqueue },
    { method: "GET", path: turns, roles: READERS, query: ["status", "agent_id", "limit", "cursor"], handle: list },
    { method: "GET", path: `${turns}/:turn`, roles: READERS, handle: show },
    { method: "POST", path: `${turns}/:turn/stop`, roles: WRITERS, body: "json", handle: stop },
    {
      method: "POST",
      path: "/projects/:project/calls/:call/runtime/:operation",
      roles: EXECUTORS,
      body: "json",
      jsonDepthMax: ENVELOPE_DEPTH_MAX,
      handle: runtime,
    },
  ];
}

async function projectOf({ kernel }: TurnWorld, request: ApiRequest): Promise<string> {
  const project_id = request.param("project");
  if (request.key.project_id === null && (await kernel.reads.project(project_id)) === null)
    throw unknownProject(project_id);
  return project_id;
}

/** T4 */
function asToolError(error: unknown): never {
  if (!(error instanceof Error) || error.name !== "ToolError") throw error;
  const { code, suggestion } = error as { readonly code?: unknown; readonly suggestion?: unknown };
  const more = typeof suggestion === "string" ? { suggestion } : {};
  throw new BadRequest(error.message, { details: { code: typeof code === "string" ? code : "E_TOOL", ...more } });
}

function turnDocument(turn: Row): Record<string, unknown> {
  const { agent_turn_id, agent_id, channel_id, turn_status, trace_id, recursion_depth } = turn;
  const { parent_agent_turn_id, deliverable_card_id, error_code, error_message, created_at, ended_at } = turn;
  return {
    ...{ agent_turn_id, agent_id, channel_id, status: turn_status, trace_id, recursion_depth },
    ...{ parent_agent_turn_id, deliverable_card_id, error_code, error_message, created_at, ended_at },
  };
}

function callDocument(call: Row): Record<string, unknown> {
  const { tool_call_id, step_id, tool_name, target_subject, effect, wait_status, attempt, claimed_by } = call;
  const { lease_until, deadline_at, settled_by, result_card_id, result_status, created_at } = call;
  const { received_at, applied_at } = call;
  return {
    ...{ tool_call_id, step_id, tool_name, target_subject, effect, wait_status, attempt, claimed_by, lease_until },
    ...{ deadline_at, settled_by, result_card_id, result_status, created_at, received_at, applied_at },
  };
}

/** T2 */
function whyOpen({ turn_status, holder, open_calls, resume_deadline }: Row): string {
  if (turn_status === "queued") return "its agent works on another turn first";
  if (turn_status === "dispatched") return "no worker has taken it yet";
  if (turn_status === "running") return `the worker ${holder} is at work on it`;
  const count = Array.isArray(open_calls) ? open_calls.length : 0;
  return `it waits for ${count} call${count === 1 ? "" : "s"}, until ${resume_deadline} at the latest`;
}

/** T2 */
function whyWaiting({ local, claimed_by, batch_id, target_subject, deadline_at }: Row): string {
  if (local === true) return `its worker runs it, until ${deadline_at}`;
  if (batch_id !== null) return `the turns of its batch ${batch_id} are under way, until ${deadline_at}`;
  if (claimed_by !== null) return `${claimed_by} is working on it, until ${deadline_at}`;
  const target = String(target_subject).split(".").slice(6).join(".");
  return `no executor has taken it; it waits for ${target} until ${deadline_at}`;
}

function deliverableOf(card: CardDocument | undefined): unknown {
  if (card === undefined || !isJsonObject(card.content)) return null;
  return { card_id: card.card_id, ...card.content };
}

function callerOf(call: Row): RuntimeCallerOrder {
  const { project_id, channel_id, agent_id, agent_turn_id, step_id, tool_call_id, trace_id } = call;
  return { project_id, channel_id, agent_id, agent_turn_id, step_id, tool_call_id, trace_id } as never;
}

function readLimit(text: string | undefined): number {
  if (text === undefined) return LIMIT_DEFAULT;
  const limit = parseCanonicalInteger(text);
  if (limit !== null && limit >= 1 && limit <= LIMIT_MAX) return limit;
  throw new BadRequest(`limit must be a whole number from 1 to ${LIMIT_MAX}`, { details: { field: "limit" } });
}

function unknownTurn(turnId: string): NotFound {
  return new NotFound(`there is no turn ${turnId} in this project`);
}
