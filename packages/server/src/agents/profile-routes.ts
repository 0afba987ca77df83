// Profiles: what agents are made from, by name.
//
//   P1. Reading and deploying an uploaded document is the agents' own business (ports.profiles); a process without it answers
//       501 and can still list, read and remove.
//   P2. A new upload of a name makes a new box; agents' turns that began keep theirs. The ETag is the box.
//   P3. 201 says that the name means something new, 200 that it means what it meant.

import type { ProfileRow } from "@tessera/kernel";
import {
  BadRequest,
  CARD_CONTENT_BYTES_MAX,
  errorOf,
  isJsonObject,
  type JsonObject,
  NotFound,
} from "@tessera/protocol";
import Type from "typebox";
import type { Upload } from "../http/upload.ts";
import { Facts, Id, named, orNull, Text, Time } from "../routing/api-schemas.ts";
import { answerPage } from "../routing/list-page.ts";
import type { ManagementDeps } from "../routing/management-deps.ts";
import { etag, IF_MATCH, ifMatch, preconditionFailed } from "../routing/preconditions.ts";
import { pageOf, pageQuery } from "../routing/query-schemas.ts";
import { limitOf } from "../routing/query-values.ts";
import { existingProject, refused } from "../routing/refusals.ts";
import { type ApiAnswer, type ApiRequest, READERS, type RouteSpec, WRITERS } from "../routing/route-spec.ts";

const LIMIT = { max: 200, default: 200 };

const SUMMARY_FIELDS = {
  project_id: Id,
  profile_box_id: Id,
  name: Text,
  worker_target: Id,
  tags: Type.Array(Text),
  description: Text,
  updated_at: Time,
};
const ProfileSummary = named("ProfileSummary", "What agents are made from, without its document.", SUMMARY_FIELDS);
const ProfileDocument = named("Profile", "What agents are made from, with its document.", {
  ...SUMMARY_FIELDS,
  system_prompt_compiled: Text,
  profile: orNull(Facts),
});

export function profileRoutes({ kernel, cursors, ports, reading }: ManagementDeps): RouteSpec[] {
  async function documentOf(row: ProfileRow): Promise<Record<string, unknown>> {
    const cards = await kernel.reads.boxCards(row.project_id, row.profile_box_id);
    const data = cards.find((card) => card.type === "sys.profile")?.content.data;
    const profile: JsonObject | null = isJsonObject(data) ? data : null;
    const prompt = profile?.system_prompt;
    return { ...summaryOf(row), system_prompt_compiled: typeof prompt === "string" ? prompt : "", profile };
  }

  async function answerOf(projectId: string, name: string, status: number): Promise<ApiAnswer> {
    const row = await kernel.reads.profile(projectId, name);
    if (row === null) throw unknownProfile(name);
    return { status, headers: etag(row.profile_box_id), body: await documentOf(row) }; // P2
  }

  async function list(request: ApiRequest): Promise<ApiAnswer> {
    const limit = limitOf(request.query, LIMIT);
    const projectId = await existingProject(kernel, request);
    return await answerPage<ProfileRow>(cursors, request, {
      list: `profiles/${projectId}`,
      plural: "profiles",
      limit,
      placeOf: (row) => row.name,
      read: (after, count) => kernel.reads.profiles(projectId, { after: after ?? "", limit: count }),
      show: summaryOf,
    });
  }

  /** Deploys the uploaded document; for PUT, under the name of the path. */
  async function deploy(request: ApiRequest, name?: string): Promise<ApiAnswer> {
    const projectId = await existingProject(kernel, request);
    const { bytes, file } = uploadOf(request);
    const version = ifMatch(request);
    if (ports.profiles === undefined) throw errorOf("not_implemented", "this process reads no profiles"); // P1
    if (name !== undefined && version === "*" && (await kernel.reads.profile(projectId, name)) === null) {
      throw preconditionFailed();
    }
    const profile_box_id = version === null || version === "*" ? undefined : version;
    const deployed = await ports.profiles.deploy(bytes, {
      projectId,
      onCost: reading.open(request.key, projectId),
      file,
      expected: name === undefined ? undefined : { name, profile_box_id },
    });
    return await answerOf(projectId, deployed.name, deployed.outcome === "unchanged" ? 200 : 201); // P3
  }

  async function remove(request: ApiRequest): Promise<ApiAnswer> {
    const project_id = await existingProject(kernel, request);
    const name = request.param("profile");
    const outcome = await kernel.removeProfile({ project_id, name });
    if (outcome.outcome !== "rejected") return { status: 204 };
    throw outcome.code === "not_found" ? unknownProfile(name) : refused(outcome);
  }

  const profiles = "/projects/:project/profiles";
  const profile = `${profiles}/:profile`;
  const stored = { 200: ProfileDocument, 201: ProfileDocument };
  return [
    {
      id: "listProfiles",
      tag: "profiles",
      summary: "List the profiles of a project, by name, without their documents.",
      method: "GET",
      path: profiles,
      roles: READERS,
      query: pageQuery(LIMIT.max, LIMIT.default),
      answers: { 200: pageOf("profiles", ProfileSummary) },
      handle: list,
    },
    {
      id: "uploadProfile",
      tag: "profiles",
      summary: "Upload a profile as YAML, or as the field file of a form; it replaces the one of its name.",
      method: "POST",
      path: profiles,
      roles: WRITERS,
      body: "upload",
      answers: stored,
      handle: (request) => deploy(request),
    },
    {
      id: "getProfile",
      tag: "profiles",
      summary: "Read a profile with its document; its ETag is its box.",
      method: "GET",
      path: profile,
      names: ["profile"],
      roles: READERS,
      answers: { 200: ProfileDocument },
      answerBytes: CARD_CONTENT_BYTES_MAX,
      handle: async (request) => await answerOf(await existingProject(kernel, request), request.param("profile"), 200),
    },
    {
      id: "putProfile",
      tag: "profiles",
      summary: "Upload a profile under the name of the path, which its document must have.",
      method: "PUT",
      path: profile,
      names: ["profile"],
      roles: WRITERS,
      body: "upload",
      headers: IF_MATCH,
      answers: stored,
      handle: (request) => deploy(request, request.param("profile")),
    },
    {
      id: "deleteProfile",
      tag: "profiles",
      summary: "Remove a profile by its name; agents made from it keep theirs.",
      method: "DELETE",
      path: profile,
      names: ["profile"],
      roles: WRITERS,
      answers: { 204: null },
      handle: remove,
    },
  ];
}

function summaryOf(row: ProfileRow): Record<string, unknown> {
  const { project_id, profile_box_id, name, worker_target, tags, description, updated_at } = row;
  return { project_id, profile_box_id, name, worker_target, tags, description, updated_at };
}

function uploadOf(request: ApiRequest): Upload {
  if (request.body === undefined) throw new BadRequest("the request has no document", { code: "root_must_be_mapping" });
  return request.body as Upload;
}

function unknownProfile(name: string): NotFound {
  return new NotFound(`there is no profile ${name} in this project`, {
    code: "profile_not_found",
    details: { field: "name" },
  });
}
