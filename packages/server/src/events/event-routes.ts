// GET …/events: what happens in a project, as it happens.
//
//   E1. Streams stay open, so they are counted like requests that wait (waiting-places.ts), in places of their own. One too many
//       is told 429 and no other client notices.
//   E2. Without a cursor a stream begins with what happens after the request was accepted.
//   E3. A client that comes back says Last-Event-ID by itself and repeats its address, so the header counts before `after`.

import type { Kernel } from "@tessera/kernel";
import type { Clock } from "@tessera/kernel/ports";
import { BadRequest, parseCanonicalInteger, parseId } from "@tessera/protocol";
import Type from "typebox";
import type { ServerLimits } from "../http/server-limits.ts";
import type { Holder } from "../http/shares.ts";
import { createWaitingPlaces } from "../http/waiting-places.ts";
import { Id, named, oneOf, orNull, Text, Time } from "../routing/api-schemas.ts";
import { idQuery } from "../routing/query-schemas.ts";
import { existingProject } from "../routing/refusals.ts";
import { type ApiAnswer, type ApiRequest, READERS, type RouteSpec } from "../routing/route-spec.ts";
import type { EventFeeds } from "./event-feed.ts";
import { type EventStreamOrder, eventStream } from "./event-stream.ts";

export interface EventDeps {
  readonly kernel: Pick<Kernel, "authenticate"> & {
    readonly reads: Pick<Kernel["reads"], "project" | "eventsAfter" | "lastEventSeq">;
  };
  readonly feeds: EventFeeds;
  readonly clock: Clock;
  readonly limits: Pick<ServerLimits, "streamsMax" | "streamsPerProjectMax" | "streamsPerKeyMax">;
  /** Whether the key of this request still counts. */
  isKeyGood(request: ApiRequest): Promise<boolean>;
}

const RETRY_AFTER_S = 5;
const EventDocument = named("Event", "What happened to a turn: its state changed, or it has ended.", {
  seq: Type.Integer({ minimum: 1 }),
  agent_id: Id,
  agent_turn_id: Id,
  kind: oneOf(["state", "task"]),
  status: Text,
  turn_epoch: Type.Integer({ minimum: 0 }),
  step_id: orNull(Id),
  payload: orNull(Type.Record(Type.String(), Type.Unknown())),
  created_at: Time,
});

export function eventRoutes(world: EventDeps): RouteSpec[] {
  const { kernel, limits } = world;
  const places = createWaitingPlaces(
    { all: limits.streamsMax, perProject: limits.streamsPerProjectMax, perKey: limits.streamsPerKeyMax },
    { message: "too many event streams are open at the same time; close one, or wait", retryAfterS: RETRY_AFTER_S },
  );

  async function* counted(holder: Holder, order: EventStreamOrder): AsyncGenerator<string> {
    try {
      yield* eventStream(world, order);
    } finally {
      places.leave(holder);
    }
  }

  async function begin(request: ApiRequest, said: number | null): Promise<number> {
    const projectId = await existingProject(kernel, request);
    return said ?? (await kernel.reads.lastEventSeq(projectId)); // E2
  }

  async function stream(request: ApiRequest): Promise<ApiAnswer> {
    const { agent_id, agent_turn_id } = request.query;
    if (agent_id !== undefined) parseId(agent_id, "agent_id");
    if (agent_turn_id !== undefined) parseId(agent_turn_id, "agent_turn_id");
    const said = cursorOf(request);
    const project_id = request.param("project");
    places.enter(request); // E1: before the store is asked for anything
    const after = await begin(request, said).catch((error: unknown) => {
      places.leave(request);
      throw error;
    });
    const stopped = request.stopped();
    const events = counted(request, {
      ...{ project_id, after, agent_id, agent_turn_id, stopped },
      isKeyGood: () => world.isKeyGood(request),
    });
    // Begun at once, so that it gives its place back also when the client goes before anything is sent.
    const { value: first } = await events.next();
    const end = () => void events.return(undefined);
    if (stopped.aborted) end();
    else stopped.addEventListener("abort", end);
    return { status: 200, stream: begun(String(first), events) };
  }

  return [
    {
      id: "streamEvents",
      tag: "turns",
      summary: "Follow what happens in a project, as server-sent events that can be resumed.",
      method: "GET",
      path: "/projects/:project/events",
      roles: READERS,
      headers: { "Last-Event-ID": "The id of the last event that was seen; it counts before `after`." },
      query: {
        after: Type.Integer({
          minimum: 0,
          description: "The seq of the last event that was seen; 0 from the beginning, absent from now on.",
        }),
        agent_id: idQuery("Only events of this agent."),
        agent_turn_id: idQuery("Only events of this turn."),
      },
      answers: { 200: EventDocument },
      answerType: "text/event-stream",
      handle: stream,
    },
  ];
}

async function* begun(first: string, rest: AsyncGenerator<string>): AsyncGenerator<string> {
  yield first;
  yield* rest;
}

/** E3 */
function cursorOf(request: ApiRequest): number | null {
  const header = request.header("last-event-id");
  const text = header ?? request.query.after;
  if (text === undefined) return null;
  const cursor = parseCanonicalInteger(text);
  if (cursor !== null && cursor >= 0) return cursor;
  const field = header === null ? "after" : "Last-Event-ID";
  throw new BadRequest(`${field} must be the seq of an event, or 0`, { details: { field } });
}
