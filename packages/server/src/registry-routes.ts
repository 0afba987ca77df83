// The tool registry: upload, list, get, remove.
//
//   G1. A document is read whole before anything is stored; then each definition is appended by its digest (design D11), so
//       that sending it again after a failure in the middle ends in the same registry.
//   G2. 201 says that something was stored, 200 that all of it was there already.

import type { Kernel } from "@tessera/kernel";
import type { Row } from "@tessera/kernel/ports";
import { BadRequest, NotFound, parseCanonicalInteger } from "@tessera/protocol";
import type { PageCursors } from "./page-cursor.ts";
import { HttpRefusal } from "./problem.ts";
import { refused, unknownProject } from "./refusals.ts";
import { type ApiAnswer, type ApiRequest, READERS, type RouteSpec, WRITERS } from "./route-spec.ts";
import type { ToolDocuments } from "./tool-documents.ts";
import type { Upload } from "./upload.ts";

export interface RegistryWorld {
  readonly kernel: Pick<Kernel, "putTool" | "removeTool"> & {
    readonly reads: Pick<Kernel["reads"], "project" | "tool" | "toolsAfter" | "toolByDigest">;
  };
  readonly tools: ToolDocuments;
  readonly cursors: PageCursors;
}

const PAGE_MAX = 200;
const DIGEST = /^[0-9a-f]{64}$/;

export function registryRoutes({ kernel, tools, cursors }: RegistryWorld): RouteSpec[] {
  async function projectOf(request: ApiRequest): Promise<string> {
    const projectId = request.param("project");
    if ((await kernel.reads.project(projectId)) === null) throw unknownProject(projectId);
    return projectId;
  }

  async function upload(request: ApiRequest): Promise<ApiAnswer> {
    const projectId = await projectOf(request);
    const { bytes, file } = uploadOf(request);
    const { definitions, ignored } = await tools.parse(bytes, { projectId, ...(file === undefined ? {} : { file }) });
    const stored: unknown[] = [];
    let isNew = false;
    for (const definition of definitions) {
      const outcome = await kernel.putTool({ ...definition, project_id: projectId }); // G1
      if (outcome.outcome === "rejected") throw refused(outcome);
      isNew ||= outcome.outcome === "accepted";
      stored.push({ project_id: projectId, ...definition, digest: outcome.digest, version: outcome.version });
    }
    return { status: isNew ? 201 : 200, body: { tools: stored, ignored } }; // G2
  }

  async function list(request: ApiRequest): Promise<ApiAnswer> {
    const limit = limitOf(request.query.limit);
    const projectId = await projectOf(request);
    const name = `tools/${projectId}`;
    const after = request.query.cursor === undefined ? "" : cursors.read(name, request.query.cursor);
    const rows = await kernel.reads.toolsAfter(projectId, after, limit + 1);
    const page = rows.slice(0, limit);
    const last = page.at(-1);
    const hasMore = rows.length > limit && last !== undefined;
    return {
      status: 200,
      body: { tools: page, next_cursor: hasMore ? cursors.write(name, String(last.tool_name)) : null },
    };
  }

  async function get(request: ApiRequest): Promise<ApiAnswer> {
    const { digest } = request.query;
    if (digest !== undefined && !DIGEST.test(digest)) {
      throw new BadRequest("digest must be 64 hexadecimal digits", { details: { field: "digest" } });
    }
    const projectId = await projectOf(request);
    const toolName = request.param("tool");
    const row: Row | null =
      digest === undefined
        ? await kernel.reads.tool(projectId, toolName)
        : await kernel.reads.toolByDigest(projectId, toolName, digest);
    if (row === null) throw unknownTool(toolName);
    return { status: 200, body: row };
  }

  async function remove(request: ApiRequest): Promise<ApiAnswer> {
    const toolName = request.param("tool");
    const projectId = await projectOf(request);
    if (tools.isReservedName(toolName)) {
      throw new BadRequest(`${toolName} is a tool of Tessera's own`, { code: "reserved_name" });
    }
    const outcome = await kernel.removeTool({ project_id: projectId, tool_name: toolName });
    if (outcome.outcome !== "rejected") return { status: 204 };
    if (outcome.code === "not_found") throw unknownTool(toolName);
    if (outcome.code === "conflict") {
      throw new HttpRefusal("conflict", `${toolName} has calls that are still open; remove it when they are done`);
    }
    throw refused(outcome);
  }

  const tool = "/projects/:project/tools/:tool";
  return [
    { method: "POST", path: "/projects/:project/tools", roles: WRITERS, body: "upload", handle: upload },
    { method: "GET", path: "/projects/:project/tools", roles: READERS, query: ["limit", "cursor"], handle: list },
    { method: "GET", path: tool, roles: READERS, query: ["digest"], handle: get },
    { method: "DELETE", path: tool, roles: WRITERS, handle: remove },
  ];
}

function uploadOf(request: ApiRequest): Upload {
  if (request.body === undefined) throw new BadRequest("the request has no document", { code: "root_must_be_mapping" });
  return request.body as Upload;
}

function limitOf(text: string | undefined): number {
  if (text === undefined) return PAGE_MAX;
  const limit = parseCanonicalInteger(text);
  if (limit === null || limit < 1 || limit > PAGE_MAX) {
    throw new BadRequest(`limit must be a whole number from 1 to ${PAGE_MAX}`, { details: { field: "limit" } });
  }
  return limit;
}

function unknownTool(toolName: string): NotFound {
  return new NotFound(`there is no tool ${toolName} in this project`, { details: { field: "tool_name" } });
}
