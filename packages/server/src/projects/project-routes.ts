// Projects: list, make, read, change, remove.
//
//   P1. A key of one project sees that one and no other, and makes none (R4 in route-spec.ts).
//   P2. A change reads what is there and writes all of it with the revision it read, so that two changes at once never mix:
//       with If-Match the second is told, without it the second is applied on top of the first.

import { randomBytes } from "node:crypto";
import type { ProjectRow } from "@tessera/kernel";
import { errorOf, parseId } from "@tessera/protocol";
import Type, { type Static } from "typebox";
import { bodyReader } from "../http/request-body.ts";
import { Count, closed, Id, named, oneOf, orNull, Text, Time } from "../routing/api-schemas.ts";
import { answerPage } from "../routing/list-page.ts";
import type { ManagementDeps } from "../routing/management-deps.ts";
import { etag, IF_MATCH, ifMatch, preconditionFailed } from "../routing/preconditions.ts";
import { HttpRefusal } from "../routing/problem.ts";
import { pageOf, pageQuery } from "../routing/query-schemas.ts";
import { limitOf } from "../routing/query-values.ts";
import { existingProject, refused, unknownProject } from "../routing/refusals.ts";
import { ADMINS, type ApiAnswer, type ApiRequest, READERS, type RouteSpec, WRITERS } from "../routing/route-spec.ts";

const LIMIT = { max: 200, default: 100 };
const ID_BYTES = 6;
/** Two writers that meet take turns; more than this many in a row are told to try again. */
const TRIES_MAX = 5;
const STATUSES = ["active", "inactive", "archived"] as const;
const Title = Type.String({ minLength: 1, maxLength: 200 });

const NewProject = Type.Object(
  {
    project_id: Type.Optional(Id),
    title: Title,
    owner_id: Type.String({ minLength: 1, maxLength: 128 }),
    bootstrap: Type.Optional(
      Type.Boolean({ default: true, description: "What a project starts with is built in: both values do the same." }),
    ),
  },
  closed,
);
const ProjectChange = Type.Object(
  { title: Type.Optional(Title), status: Type.Optional(oneOf(STATUSES)) },
  { ...closed, minProperties: 1 },
);
const ProjectDocument = named("Project", "A project: what its agents, tools, turns and keys belong to.", {
  project_id: Id,
  title: Text,
  owner_id: orNull(Text),
  status: oneOf([...STATUSES, "deleting"]),
  revision: Count,
  created_at: Time,
  updated_at: Time,
});

const readNew = bodyReader(NewProject);
const readChange = bodyReader(ProjectChange);

export function projectRoutes({ kernel, cursors }: ManagementDeps): RouteSpec[] {
  async function projectAt(projectId: string): Promise<ProjectRow> {
    const row = (await kernel.reads.project(projectId)) as ProjectRow | null;
    if (row === null) throw unknownProject(projectId);
    return row;
  }

  const list = async (request: ApiRequest): Promise<ApiAnswer> => {
    const { project_id } = request.key;
    return await answerPage<ProjectRow>(cursors, request, {
      list: `projects/${project_id ?? ""}`,
      plural: "projects",
      limit: limitOf(request.query, LIMIT),
      placeOf: (row) => row.project_id,
      read: (after, limit) => kernel.reads.projects({ project_id: project_id ?? undefined, after, limit }), // P1
      show: documentOf,
    });
  };

  async function create(request: ApiRequest): Promise<ApiAnswer> {
    if (request.key.project_id !== null)
      throw new HttpRefusal("forbidden", "a key of one project cannot make projects");
    const {
      title,
      owner_id,
      project_id = `proj_${randomBytes(ID_BYTES).toString("hex")}`,
    } = await readNew(request.body);
    parseId(project_id, "project_id");
    const outcome = await kernel.putProject({ project_id, title, owner_id, expected_revision: null });
    if (outcome.outcome === "rejected") {
      if (outcome.code !== "precondition_failed") throw refused(outcome);
      throw errorOf("conflict", `there is a project ${project_id} already`, { details: { field: "project_id" } });
    }
    return { ...answerOf(await projectAt(project_id)), status: 201, made: { project: project_id } };
  }

  async function change(request: ApiRequest): Promise<ApiAnswer> {
    const wanted = (await readChange(request.body)) as Static<typeof ProjectChange>;
    const version = ifMatch(request);
    const projectId = request.param("project");
    for (let tries = 1; ; tries += 1) {
      const row = await projectAt(projectId);
      if (version !== null && version !== "*" && version !== versionOf(row)) throw preconditionFailed();
      if (row.status === "deleting") throw errorOf("conflict", `the project ${projectId} is being removed`);
      const { title = row.title, status = row.status } = wanted;
      const outcome = await kernel.putProject({
        project_id: projectId,
        title,
        status: status as (typeof STATUSES)[number],
        expected_revision: row.revision, // P2
      });
      if (outcome.outcome !== "rejected") return answerOf(await projectAt(projectId));
      if (outcome.code !== "precondition_failed") throw refused(outcome);
      if (version !== null && version !== "*") throw preconditionFailed();
      if (tries === TRIES_MAX) throw errorOf("conflict", `others keep changing the project ${projectId}; try again`);
    }
  }

  async function remove(request: ApiRequest): Promise<ApiAnswer> {
    const projectId = request.param("project");
    const outcome = await kernel.deleteProject(projectId);
    if (outcome.outcome !== "rejected") return { status: 204 };
    if (outcome.code === "not_found") throw unknownProject(projectId);
    if (outcome.code === "conflict") {
      throw errorOf("conflict", `${projectId} has turns that have not ended; stop them or wait, then remove it`);
    }
    throw refused(outcome);
  }

  async function bootstrap(request: ApiRequest): Promise<ApiAnswer> {
    await existingProject(kernel, request);
    return { status: 202, body: { status: "ok" } };
  }

  const projects = "/projects";
  const project = "/projects/:project";
  return [
    {
      tag: "projects",
      id: "listProjects",
      method: "GET",
      path: projects,
      roles: READERS,
      handle: list,
      summary: "List the projects that the key reaches, by id.",
      query: pageQuery(LIMIT.max, LIMIT.default),
      answers: { 200: pageOf("projects", ProjectDocument) },
    },
    {
      tag: "projects",
      id: "createProject",
      method: "POST",
      path: projects,
      roles: ADMINS,
      handle: create,
      summary: "Make a project; only for an administrator of all projects.",
      body: "json",
      bodySchema: NewProject,
      answers: { 201: ProjectDocument },
    },
    {
      tag: "projects",
      id: "getProject",
      method: "GET",
      path: project,
      roles: READERS,
      summary: "Read a project; its ETag is its revision.",
      answers: { 200: ProjectDocument },
      handle: async (request) => answerOf(await projectAt(request.param("project"))),
    },
    {
      tag: "projects",
      id: "updateProject",
      method: "PATCH",
      path: project,
      roles: WRITERS,
      handle: change,
      summary: "Change the title or the status of a project.",
      body: "json",
      bodySchema: ProjectChange,
      headers: IF_MATCH,
      answers: { 200: ProjectDocument },
    },
    {
      tag: "projects",
      id: "deleteProject",
      method: "DELETE",
      path: project,
      roles: ADMINS,
      handle: remove,
      summary: "Remove a project that has no turn under way, with everything in it.",
      answers: { 204: null },
    },
    {
      tag: "projects",
      id: "bootstrapProject",
      method: "POST",
      path: `${project}/bootstrap`,
      roles: WRITERS,
      handle: bootstrap,
      summary: "Make sure that a project has its defaults; internal tools are built in, so nothing is written.",
      answers: { 202: Type.Object({ status: Text }) },
    },
  ];
}

const versionOf = (row: ProjectRow): string => `r${row.revision}`;

function answerOf(row: ProjectRow): ApiAnswer {
  return { status: 200, headers: etag(versionOf(row)), body: documentOf(row) };
}

function documentOf(row: ProjectRow): Record<string, unknown> {
  const { project_id, title, owner_id, status, revision, created_at, updated_at } = row;
  return { project_id, title, owner_id, status, revision, created_at, updated_at };
}
