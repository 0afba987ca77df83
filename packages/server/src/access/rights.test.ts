// Who may do what, for every operation of the OpenAPI document and every kind of key. Nothing here names a route: a new one is
// tested as soon as it is in the document, and fails if it does not say who may use it.

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { OTHER, PROJECT } from "../../test/fixture.ts";
import { useManagement } from "../../test/management-fixture.ts";
import { openApiDocument } from "../openapi/openapi.ts";
import { describeRoutes } from "../routing/route-table.ts";

const fx = useManagement();

interface Operation {
  readonly id: string;
  readonly method: string;
  readonly path: string;
  readonly roles: readonly string[] | "anyone";
}

const document = openApiDocument(await describeRoutes(), { version: "1" }) as {
  readonly paths: Readonly<Record<string, Readonly<Record<string, { operationId: string; "x-tessera-roles": never }>>>>;
};
const operations: readonly Operation[] = Object.entries(document.paths)
  .flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]) => ({
      ...{ id: operation.operationId, method: method.toUpperCase(), path, roles: operation["x-tessera-roles"] },
    })),
  )
  // It takes its own keys with it.
  .sort((a, b) => Number(a.id === "deleteProject") - Number(b.id === "deleteProject"));

/**
 * Who may do what, written down a second time: the document is made from the table that the server goes by, so
 * a wrong row there is in both. A red pin asks whether the change is meant.
 */
const RIGHTS: Readonly<Record<string, readonly string[]>> = {
  anyone: ["getHealth", "getLive", "getLlmsText", "getOpenApi", "getReady"],
  "executor admin": ["callRuntime", "claimCalls", "heartbeatCall", "openCall", "putResultCard", "reportCall"],
  "viewer operator admin": [
    ...["getAgent", "getBox", "getCard", "getProfile", "getProject", "getReport", "getTool", "getTurn"],
    ...["listAgents", "listBoxCards", "listDeadLetters", "listExecutionEdges", "listHeads", "listIdentityEdges"],
    ...[
      "listProfiles",
      "listProjects",
      "listSteps",
      "listTools",
      "listTurns",
      "readBoxes",
      "readCards",
      "streamEvents",
    ],
  ],
  "operator admin": [
    ...[
      "bootstrapProject",
      "callTool",
      "createAgent",
      "deleteProfile",
      "deleteTool",
      "enqueueTurn",
      "putProfile",
      "sendUiAction",
    ],
    ...["listTurnFailures", "putTool", "resetAgent", "stopTurn", "updateProject", "uploadProfile", "uploadTools"],
  ],
  admin: [
    ...[
      "createKey",
      "createProject",
      "deleteProject",
      "godCallPmo",
      "godStop",
      "listAudit",
      "listKeys",
      "listStoreAudit",
    ],
    ...["revokeKey", "verifyStore"],
  ],
};

/** Administrators of one project may not do these: they are about all projects. */
const ALL_PROJECTS_ONLY = new Set(["createProject", "verifyStore", "listStoreAudit"]);

/** Whose key each is: the role, and whether it reaches PROJECT. */
const KEYS: readonly { name: string; role: string; reach: "all" | "own" | "other" }[] = [
  { name: "viewer2", role: "viewer", reach: "other" },
  { name: "operator2", role: "operator", reach: "other" },
  { name: "executor_2", role: "executor", reach: "other" },
  { name: "admin2", role: "admin", reach: "other" },
  { name: "viewer", role: "viewer", reach: "own" },
  { name: "operator", role: "operator", reach: "own" },
  { name: "executor", role: "executor", reach: "own" },
  { name: "allViewer", role: "viewer", reach: "all" },
  { name: "admin1", role: "admin", reach: "own" },
  { name: "admin", role: "admin", reach: "all" },
];

beforeAll(async () => {
  await fx.key("viewer2", { role: "viewer", project_id: OTHER });
  await fx.key("executor_2", { role: "executor", project_id: OTHER, targets: ["echo"] });
  await fx.key("admin2", { role: "admin", project_id: OTHER });
});
const streams = new AbortController();
afterAll(() => streams.abort());

function urlOf({ path }: Operation): string {
  return path
    .replace("{project}", PROJECT)
    .replace("{target}", "echo")
    .replace(/\{[a-z]+\}/g, "none");
}

/** Through a socket, without a body: a key that may use the route gets the refusal of the missing body. A stream is left open until the end. */
async function ask(operation: Operation, key?: string): Promise<{ status: number; code: string }> {
  const authorization = key === undefined ? {} : { authorization: `Bearer ${fx.keys[key]}` };
  const response = await fetch(`${fx.server.url}${urlOf(operation)}`, {
    method: operation.method,
    headers: authorization,
    signal: streams.signal,
  });
  const isProblem = response.headers.get("content-type")?.startsWith("application/problem+json") === true;
  const code = isProblem ? ((await response.json()) as { error_code: string }).error_code : "";
  if (!isProblem) void response.body?.cancel();
  return { status: response.status, code };
}

function expected({ id, path, roles }: Operation, { role, reach }: (typeof KEYS)[number]): string {
  if (roles === "anyone") return "served";
  if (path.includes("{project}") && reach === "other") return "404 not_found";
  if (!roles.includes(role)) return "403 forbidden";
  return reach !== "all" && ALL_PROJECTS_ONLY.has(id) ? "403 forbidden" : "served";
}

describe("every operation of the document", () => {
  it("is for the keys that are pinned here", () => {
    const pinned = Object.entries(RIGHTS).flatMap(([who, ids]) => ids.map((id) => `${id}: ${who}`));
    const said = operations.map(({ id, roles }) => `${id}: ${roles === "anyone" ? roles : roles.join(" ")}`);
    expect(said.toSorted()).toEqual(pinned.toSorted());
  });

  it("says who may use it, and is a route that is served", () => {
    expect(operations.length).toBeGreaterThan(50);
    const served = new Set(fx.server.routes.map(({ id }) => id));
    for (const { id, roles } of operations) {
      expect(roles === "anyone" || roles?.length > 0, id).toBe(true);
      expect(served.has(id), id).toBe(true);
    }
    expect(served.size).toBe(operations.length);
  });

  it.each(operations.map((operation) => [operation.id, operation] as const))(
    "%s needs a key, unless it is for anyone",
    async (_, operation) => {
      const { status, code } = await ask(operation);
      if (operation.roles === "anyone") expect(status).toBe(200);
      else expect({ status, code }).toEqual({ status: 401, code: "unauthenticated" });
    },
  );

  it.each(operations.map((operation) => [operation.id, operation] as const))(
    "%s serves exactly the keys that it is for",
    async (_, operation) => {
      const seen: Record<string, string> = {};
      const wanted: Record<string, string> = {};
      for (const key of KEYS) {
        const { status, code } = await ask(operation, key.name);
        const isRefused = status === 401 || (status === 403 && code === "forbidden");
        wanted[key.name] = expected(operation, key);
        const isNotThere = wanted[key.name]?.startsWith("404") === true;
        seen[key.name] =
          isRefused || isNotThere ? `${status} ${code}` : status >= 500 && status !== 501 ? `${status}` : "served";
      }
      expect(seen).toEqual(wanted);
    },
  );
});
