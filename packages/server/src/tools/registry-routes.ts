// The tool registry: upload, list, get, replace, remove.
//
//   G1. A document is read whole before anything is stored; then each definition is appended by its digest
//       (docs/design.md#definitions-are-versioned), so that sending it again after a failure in the middle ends in the same
//       registry. The audit names those that were stored.
//   G2. 201 says that something was stored, 200 that all of it was there already. PUT: 201 where there was no such tool.
//   G3. The ETag of a tool is the digest of its definition. PUT takes a document with that one tool, and If-Match.

import type { Kernel } from "@tessera/kernel";
import type { Row } from "@tessera/kernel/ports";
import {
  BadRequest,
  CARD_CONTENT_BYTES_MAX,
  cutMessage,
  errorOf,
  NotFound,
  parseCanonicalInteger,
} from "@tessera/protocol";
import Type from "typebox";
import { LARGE_ANSWER_BYTES } from "../http/bytes-in-flight.ts";
import type { ReadingBudget } from "../http/reading-budget.ts";
import type { Upload } from "../http/upload.ts";
import type { ParsedToolDocument, ToolDocuments } from "../ports.ts";
import { Anything, Facts, Id, named, oneOf, Text, Time } from "../routing/api-schemas.ts";
import type { PageCursors } from "../routing/page-cursor.ts";
import { etag, IF_MATCH, ifMatch, preconditionFailed } from "../routing/preconditions.ts";
import { HttpRefusal, PartlyDone } from "../routing/problem.ts";
import { pageOf, pageQuery } from "../routing/query-schemas.ts";
import { existingProject, refused } from "../routing/refusals.ts";
import { type ApiAnswer, type ApiRequest, READERS, type RouteSpec, WRITERS } from "../routing/route-spec.ts";

export interface RegistryDeps {
  readonly kernel: Pick<Kernel, "putTool" | "removeTool"> & {
    readonly reads: Pick<Kernel["reads"], "project" | "tool" | "toolsAfter" | "toolByDigest">;
  };
  readonly tools: ToolDocuments;
  readonly cursors: PageCursors;
  readonly reading: ReadingBudget;
}

const PAGE_MAX = 200;
const DIGEST = /^[0-9a-f]{64}$/;
/** As many others may change a tool between reading and writing it before a writer who only wants it to exist is sent away. */
const TRIES_MAX = 5;
/** An audit entry is small; an upload may define hundreds of tools. */
const NOTED_CHARS_MAX = 2_000;

const ignoredKeys = Type.Array(Anything, { description: "Keys of the document that mean nothing here." });

const Tool = named("Tool", "The definition of a tool of a project.", {
  project_id: Id,
  tool_name: Id,
  description: Text,
  parameters: Facts,
  target_subject: Text,
  after_execution: oneOf(["suspend", "terminate"]),
  options: Facts,
  digest: Type.String({ description: "Names the definition by what it says; it is the ETag." }),
  version: Type.Integer({ minimum: 1 }),
  created_at: Type.Optional(Time),
  removed: Type.Optional(Type.Boolean()),
  ignored: Type.Optional(ignoredKeys),
});
const UploadAnswer = Type.Object({ tools: Type.Array(Tool), ignored: ignoredKeys });

export function registryRoutes({ kernel, tools, cursors, reading }: RegistryDeps): RouteSpec[] {
  function parse(request: ApiRequest, projectId: string) {
    const { bytes, file } = uploadOf(request);
    const onCost = reading.open(request.key, projectId);
    return tools.parse(bytes, { projectId, onCost, file });
  }

  async function upload(request: ApiRequest): Promise<ApiAnswer> {
    const projectId = await existingProject(kernel, request);
    const { definitions, ignored } = await parse(request, projectId);
    const stored: unknown[] = [];
    const changed: string[] = [];
    const made = () => ({ tools: cutMessage(changed.join(" "), NOTED_CHARS_MAX) });
    try {
      for (const definition of definitions) {
        const outcome = await kernel.putTool({ ...definition, project_id: projectId }); // G1
        if (outcome.outcome === "rejected") throw refused(outcome);
        if (outcome.outcome === "accepted") changed.push(definition.tool_name);
        stored.push(toolDocument(projectId, definition, outcome));
      }
    } catch (error) {
      throw changed.length === 0 ? error : new PartlyDone(error, made());
    }
    return { status: changed.length > 0 ? 201 : 200, body: { tools: stored, ignored }, made: made() }; // G2
  }

  /** G3 */
  async function put(request: ApiRequest): Promise<ApiAnswer> {
    const projectId = await existingProject(kernel, request);
    const toolName = request.param("tool");
    const { definitions, ignored } = await parse(request, projectId);
    const [definition] = definitions;
    if (definition === undefined || definitions.length > 1 || definition.tool_name !== toolName) {
      const names = definitions.map(({ tool_name }) => tool_name).join(", ");
      throw new BadRequest(`the document must define ${toolName} and nothing else; it defines ${names || "nothing"}`, {
        details: { field: "tool_name" },
      });
    }
    for (let tries = 1; ; tries += 1) {
      const current = await kernel.reads.tool(projectId, toolName);
      const expected = expectedDigest(request, current);
      const outcome = await kernel.putTool({
        ...definition,
        project_id: projectId,
        expected_digest: expected,
      });
      if (outcome.outcome !== "rejected") {
        return {
          status: current === null ? 201 : 200,
          headers: etag(outcome.digest),
          body: { ...toolDocument(projectId, definition, outcome), ignored },
        };
      }
      // `*` asks only that there is one: another client's change is no reason to refuse.
      const isRepeatable = outcome.code === "precondition_failed" && ifMatch(request) === "*";
      if (!isRepeatable) throw refused(outcome);
      if (tries === TRIES_MAX) throw errorOf("conflict", `others keep changing the tool ${toolName}; try again`);
    }
  }

  async function list(request: ApiRequest): Promise<ApiAnswer> {
    const limit = limitOf(request.query.limit);
    const projectId = await existingProject(kernel, request);
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
    const projectId = await existingProject(kernel, request);
    const toolName = request.param("tool");
    const row: Row | null =
      digest === undefined
        ? await kernel.reads.tool(projectId, toolName)
        : await kernel.reads.toolByDigest(projectId, toolName, digest);
    if (row === null) throw unknownTool(toolName);
    return { status: 200, headers: etag(String(row.digest)), body: row };
  }

  async function remove(request: ApiRequest): Promise<ApiAnswer> {
    const toolName = request.param("tool");
    const projectId = await existingProject(kernel, request);
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

  const all = "/projects/:project/tools";
  const one = `${all}/:tool`;
  return [
    {
      id: "uploadTools",
      tag: "tools",
      summary: "Upload a document that defines tools.",
      method: "POST",
      path: all,
      roles: WRITERS,
      body: "upload",
      answers: { 201: UploadAnswer, 200: UploadAnswer },
      handle: upload,
    },
    {
      id: "listTools",
      answerBytes: LARGE_ANSWER_BYTES,
      tag: "tools",
      summary: "List the tools of a project by name.",
      method: "GET",
      path: all,
      roles: READERS,
      query: pageQuery(PAGE_MAX, PAGE_MAX),
      answers: { 200: pageOf("tools", Tool) },
      handle: list,
    },
    {
      id: "getTool",
      tag: "tools",
      summary: "Read the definition of a tool.",
      method: "GET",
      path: one,
      roles: READERS,
      query: { digest: Type.String({ pattern: DIGEST.source, description: "Of an earlier definition." }) },
      answers: { 200: Tool },
      answerBytes: CARD_CONTENT_BYTES_MAX,
      handle: get,
    },
    {
      id: "putTool",
      tag: "tools",
      summary: "Create or replace one tool by a document that defines it.",
      method: "PUT",
      path: one,
      roles: WRITERS,
      body: "upload",
      headers: { ...IF_MATCH, "If-None-Match": "* where the tool must not exist yet." },
      answers: { 200: Tool, 201: Tool },
      handle: put,
    },
    {
      id: "deleteTool",
      tag: "tools",
      summary: "Remove a tool that has no open calls.",
      method: "DELETE",
      path: one,
      roles: WRITERS,
      answers: { 204: null },
      handle: remove,
    },
  ];
}

function toolDocument(
  project_id: string,
  { description = "", parameters = {}, options = {}, ...rest }: ParsedToolDocument["definitions"][number],
  { digest, version }: { readonly digest: string; readonly version: number },
) {
  return { project_id, ...rest, description, parameters, options, digest, version };
}

/**
 * What the kernel must find when it writes: undefined for anything, null for nothing. The kernel judges it again in its
 * transaction, so that of two writers who read the same definition one is told.
 */
function expectedDigest(request: ApiRequest, current: Row | null): string | null | undefined {
  const free = request.header("if-none-match");
  if (free !== null && free !== "*") {
    throw new BadRequest("If-None-Match must be *", { details: { field: "If-None-Match" } });
  }
  const expected = ifMatch(request);
  const digest = current === null ? null : String(current.digest);
  if (free !== null && digest !== null) throw preconditionFailed();
  if (expected === null) return free === null ? undefined : null;
  if (digest === null || (expected !== "*" && expected !== digest)) throw preconditionFailed();
  return digest;
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
