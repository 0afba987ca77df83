// The roster of a project: agents by id.
//
//   A1. An agent is made once: a second POST of its id is a conflict, whatever it says.
//   A2. An agent and its state come into being together, so `init_state: false` is refused.
//   A3. What the request does not say comes from the profile: worker target, tags, the name to show.

import { randomBytes } from "node:crypto";
import type { AgentRecord, ProfileRow, Row } from "@tessera/kernel";
import { BadRequest, CHANNEL_DEFAULT, errorOf, NotFound, parseId } from "@tessera/protocol";
import Type, { type Static } from "typebox";
import { bodyReader } from "../http/request-body.ts";
import { closed, Facts, Id, named, oneOf, orNull, Text, Time } from "../routing/api-schemas.ts";
import { answerPage } from "../routing/list-page.ts";
import type { ManagementDeps } from "../routing/management-deps.ts";
import { idQuery, pageOf, pageQuery } from "../routing/query-schemas.ts";
import { given, idIn, limitOf, textIn } from "../routing/query-values.ts";
import { existingProject, refused, unknownProject } from "../routing/refusals.ts";
import { type ApiAnswer, type ApiRequest, READERS, type RouteSpec, WRITERS } from "../routing/route-spec.ts";

const LIMIT = { max: 500, default: 200 };
const EDGE_ID_BYTES = 16;
const Name = Type.String({ minLength: 1, maxLength: 128 });

const NewAgent = Type.Object(
  {
    agent_id: Id,
    profile_box_id: Type.Optional(Id),
    profile_name: Type.Optional(Name),
    worker_target: Type.Optional(Id),
    tags: Type.Optional(Type.Array(Name, { maxItems: 64, uniqueItems: true })),
    display_name: Type.Optional(Name),
    owner_agent_id: Type.Optional(Id),
    metadata: Type.Optional(Facts),
    init_state: Type.Optional(
      Type.Boolean({ default: true, description: "Only true: an agent always has its state." }),
    ),
    channel_id: Type.Optional(Id),
  },
  closed,
);
type NewAgent = Static<typeof NewAgent>;
const AgentDocument = named("Agent", "An agent of the roster: an instance of a profile, or one of its own.", {
  project_id: Id,
  agent_id: Id,
  profile_box_id: orNull(Id),
  worker_target: Id,
  tags: Type.Array(Text),
  display_name: orNull(Text),
  owner_agent_id: orNull(Id),
  status: oneOf(["active", "inactive"]),
  metadata: Facts,
  created_at: Time,
  last_seen_at: orNull(Time),
});
const readNew = bodyReader(NewAgent);
/** A few texts have the pattern of an id and are none (I2 in protocol's ids.ts). */
const ID_FIELDS = ["agent_id", "worker_target", "channel_id"] as const;

export function agentRoutes({ kernel, cursors }: ManagementDeps): RouteSpec[] {
  const { reads } = kernel;

  async function agentAt(projectId: string, agentId: string): Promise<Row> {
    const row = await reads.agent(projectId, agentId);
    if (row === null) throw unknownAgent(agentId, "agent_id");
    return row;
  }

  async function list(request: ApiRequest): Promise<ApiAnswer> {
    const filter = given({ worker_target: idIn(request.query, "worker_target"), tag: textIn(request.query, "tag") });
    const limit = limitOf(request.query, LIMIT);
    const projectId = await existingProject(kernel, request);
    return await answerPage<Row>(cursors, request, {
      list: `agents/${projectId}/${JSON.stringify(filter)}`,
      plural: "agents",
      limit,
      placeOf: (row) => String(row.agent_id),
      read: (after, count) => reads.agents(projectId, { ...filter, after: after ?? "", limit: count }),
      show: documentOf,
    });
  }

  async function create(request: ApiRequest): Promise<ApiAnswer> {
    const wanted = await readNew(request.body);
    for (const field of ID_FIELDS) if (wanted[field] !== undefined) parseId(wanted[field], field);
    if (wanted.init_state === false) throw refuse("init_state", "an agent always has its state"); // A2
    const project_id = await existingProject(kernel, request);
    const { agent_id, owner_agent_id, channel_id = CHANNEL_DEFAULT } = wanted;
    const origin = await originOf(project_id, wanted);
    const worker_target = wanted.worker_target ?? origin.profile?.worker_target;
    if (worker_target === undefined) {
      throw new BadRequest("give worker_target, or a profile that has one", {
        code: "worker_target_missing",
        details: { field: "worker_target" },
      });
    }
    if (owner_agent_id !== undefined && (await reads.agent(project_id, owner_agent_id)) === null) {
      throw unknownAgent(owner_agent_id, "owner_agent_id");
    }
    const record: AgentRecord = {
      ...given({ profile_box_id: origin.profile_box_id, owner_agent_id, metadata: wanted.metadata as never }),
      ...given({
        tags: wanted.tags ?? origin.profile?.tags,
        display_name: wanted.display_name ?? origin.profile?.name,
      }), // A3
      project_id,
      agent_id,
      worker_target,
      only_new: true, // A1
      identity_edge: { edge_id: `edge_${randomBytes(EDGE_ID_BYTES).toString("hex")}`, action: "create", channel_id },
    };
    const outcome = await kernel.putAgent(record);
    if (outcome.outcome === "rejected") {
      if (outcome.code === "conflict") throw agentExists(agent_id);
      if (outcome.code !== "not_found") throw refused(outcome);
      throw origin.profile_box_id === undefined ? unknownProject(project_id) : unknownBox(origin.profile_box_id);
    }
    return { status: 201, body: documentOf(await agentAt(project_id, agent_id)), made: { agent: agent_id } };
  }

  /** The box that an agent is made from, and the profile it belongs to today. */
  async function originOf(projectId: string, { profile_name, profile_box_id }: NewAgent): Promise<Origin> {
    if (profile_name === undefined) {
      if (profile_box_id === undefined) return {};
      if ((await reads.box(projectId, profile_box_id)) === null) throw unknownBox(profile_box_id);
      const profile = await reads.profileByBox(projectId, profile_box_id);
      return profile === null ? { profile_box_id } : { profile_box_id, profile };
    }
    const profile = await reads.profile(projectId, profile_name);
    if (profile === null) {
      throw new NotFound(`there is no profile ${profile_name} in this project`, {
        code: "profile_not_found",
        details: { field: "profile_name" },
      });
    }
    if (profile_box_id !== undefined && profile_box_id !== profile.profile_box_id) {
      throw errorOf("profile_mismatch", `${profile_box_id} is not the box of the profile ${profile_name}`, {
        details: { field: "profile_box_id" },
      });
    }
    return { profile_box_id: profile.profile_box_id, profile };
  }

  const agents = "/projects/:project/agents";
  return [
    {
      id: "listAgents",
      tag: "agents",
      summary: "List the agents of a project, by id.",
      method: "GET",
      path: agents,
      roles: READERS,
      handle: list,
      query: {
        worker_target: idQuery("Only agents that this kind of worker runs."),
        tag: Type.String({ description: "Only agents with this tag." }),
        ...pageQuery(LIMIT.max, LIMIT.default),
      },
      answers: { 200: pageOf("agents", AgentDocument) },
    },
    {
      id: "createAgent",
      tag: "agents",
      summary: "Add an agent to the roster, from a profile or with a worker target of its own.",
      method: "POST",
      path: agents,
      roles: WRITERS,
      handle: create,
      body: "json",
      bodySchema: NewAgent,
      answers: { 201: AgentDocument },
    },
    {
      id: "getAgent",
      tag: "agents",
      summary: "Read an agent of the roster.",
      method: "GET",
      path: `${agents}/:agent`,
      roles: READERS,
      answers: { 200: AgentDocument },
      handle: async (request) => ({
        status: 200,
        body: documentOf(await agentAt(await existingProject(kernel, request), request.param("agent"))),
      }),
    },
  ];
}

interface Origin {
  readonly profile_box_id?: string;
  readonly profile?: ProfileRow;
}

function documentOf(row: Row): Record<string, unknown> {
  const { project_id, agent_id, profile_box_id, worker_target, tags, display_name, owner_agent_id } = row;
  const { status, metadata, created_at, last_seen_at } = row;
  return {
    ...{ project_id, agent_id, profile_box_id, worker_target, tags, display_name, owner_agent_id },
    ...{ status, metadata, created_at, last_seen_at },
  };
}

function refuse(field: string, message: string): BadRequest {
  return new BadRequest(message, { details: { field } });
}

function agentExists(agentId: string) {
  return errorOf("conflict", `there is an agent ${agentId} already`, { details: { field: "agent_id" } });
}

function unknownAgent(agentId: string, field: string): NotFound {
  return new NotFound(`there is no agent ${agentId} in this project`, { code: "agent_not_found", details: { field } });
}

function unknownBox(boxId: string): NotFound {
  return new NotFound(`there is no box ${boxId} in this project`, {
    code: "profile_box_missing",
    details: { field: "profile_box_id" },
  });
}
