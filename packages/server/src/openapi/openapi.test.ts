// The OpenAPI document: valid, complete, and the same as what is served.

import { Validator } from "@seriousme/openapi-schema-validator";
import Type from "typebox";
import { describe, expect, it } from "vitest";
import { useServer } from "../../test/fixture.ts";
import { describeRoutes } from "../routing/route-table.ts";
import { llmsText } from "./llms-text.ts";
import { openApiDocument } from "./openapi.ts";

const fx = useServer();
const routes = await describeRoutes();
const document = openApiDocument(routes, { version: "1.2.3", serverUrl: "http://127.0.0.1:8099" });
// biome-ignore lint/suspicious/noExplicitAny: a document is read field by field
const whole = document as any;
const VERBS = ["get", "post", "put", "patch", "delete"];
// biome-ignore lint/suspicious/noExplicitAny: a document is read field by field
const operations: { path: string; method: string; operation: any }[] = Object.entries(whole.paths).flatMap(
  ([path, item]) =>
    Object.entries(item as object)
      .filter(([method]) => VERBS.includes(method))
      .map(([method, operation]) => ({ path, method, operation })),
);

/** Every operation that the API promises (docs/design.md#public-surface). */
const PROMISED = [
  ...["getHealth", "getLive", "getReady", "getOpenApi", "getLlmsText"],
  ...["listProjects", "createProject", "getProject", "updateProject", "deleteProject", "bootstrapProject"],
  ...["listProfiles", "uploadProfile", "getProfile", "putProfile", "deleteProfile"],
  ...["listTools", "uploadTools", "getTool", "putTool", "deleteTool", "callTool", "sendUiAction"],
  ...["listAgents", "createAgent", "getAgent"],
  ...["listHeads", "listSteps", "listExecutionEdges", "listIdentityEdges"],
  ...["getBox", "listBoxCards", "readBoxes", "getCard", "readCards"],
  ...["enqueueTurn", "listTurns", "getTurn", "listTurnFailures", "stopTurn", "streamEvents", "resetAgent"],
  ...["getReport", "listDeadLetters", "listAudit"],
  ...["createKey", "listKeys", "revokeKey", "verifyStore", "listStoreAudit", "godCallPmo", "godStop"],
  ...["claimCalls", "openCall", "heartbeatCall", "putResultCard", "reportCall", "callRuntime"],
];

describe("the OpenAPI document", () => {
  it("is valid OpenAPI 3.1", async () => {
    const validator = new Validator();
    const result = await validator.validate(structuredClone(document));
    expect(result.errors ?? []).toEqual([]);
    expect(result.valid).toBe(true);
    expect(validator.version).toBe("3.1");
  });

  it("has every promised operation once, and every route of the table", () => {
    const ids = operations.map(({ operation }) => operation.operationId);
    expect([...ids].sort()).toEqual([...PROMISED].sort());
    expect(routes.map(({ id }) => id).sort()).toEqual([...PROMISED].sort());
  });

  it("says of every operation who may use it, by known roles", () => {
    for (const { operation } of operations) {
      const roles = operation["x-tessera-roles"];
      if (roles === "anyone") expect(operation.tags).toEqual(["health"]);
      else expect(roles.length, operation.operationId).toBeGreaterThan(0);
      for (const role of roles === "anyone" ? [] : roles) {
        expect(["viewer", "operator", "executor", "admin"]).toContain(role);
      }
    }
  });

  it("describes every operation by a sentence, and every parameter that is not an id of the path", () => {
    for (const { operation } of operations) {
      expect(operation.summary, operation.operationId).toMatch(/^[A-Z][^\n]{8,160}\.$/);
      for (const parameter of operation.parameters ?? []) {
        if (parameter.in === "path") expect(parameter.schema.pattern).toMatch(/^\^/);
        else expect(parameter.description, `${operation.operationId} ${parameter.name}`).toMatch(/\S{2}/);
      }
    }
  });

  it("describes every answer that has a body, and every body, by a schema", () => {
    for (const { operation } of operations) {
      const success = Object.entries(operation.responses).filter(([status]) => status.startsWith("2"));
      expect(success.length, operation.operationId).toBeGreaterThan(0);
      for (const [status, response] of success) {
        const { content } = response as { content?: Record<string, { schema: object }> };
        if (status === "204") expect(content).toBeUndefined();
        else expect(Object.values(content ?? {})[0]?.schema, operation.operationId).toBeTypeOf("object");
      }
    }
    for (const route of routes.filter(({ body }) => body === "json")) expect(route.bodySchema, route.id).toBeDefined();
  });

  it("has names for what the client gives names to, and refers to nothing that is not there", () => {
    const names = Object.keys(whole.components.schemas);
    for (const name of [
      "Turn",
      "TurnSummary",
      "Call",
      "Wait",
      "Tool",
      "Card",
      "Project",
      "Event",
      "Problem",
      "Health",
    ]) {
      expect(names).toContain(name);
    }
    for (const [, name] of JSON.stringify(document).matchAll(/#\/components\/schemas\/([A-Za-z]+)/g)) {
      expect(names).toContain(name);
    }
  });

  it("writes a verb behind an id as it is called", () => {
    expect(whole.paths).toHaveProperty(["/projects/{project}/tools/{tool}:call"]);
    expect(JSON.stringify(Object.keys(whole.paths))).not.toContain("::");
  });

  it("refuses two schemas of one name that differ", () => {
    const [route] = routes;
    if (route === undefined) throw new Error("no route");
    const other = {
      ...route,
      path: "/other",
      answers: { 200: Type.Object({ other: Type.Null() }, { $id: "Health" }) },
    };
    expect(() => openApiDocument([route, other], { version: "1" })).toThrow(/Health/);
  });

  it("is served to anyone, and is the document of what is served", async () => {
    const { status, headers, body } = await fx.send("GET", "/openapi.json");
    expect(status).toBe(200);
    expect(headers["content-type"]).toBe("application/json; charset=utf-8");
    const served = openApiDocument(fx.server.routes, { version: "0.0.0" });
    expect(body).toEqual(JSON.parse(JSON.stringify(served)));
  });
});

describe("/llms.txt", () => {
  it("names every operation with its path", async () => {
    const { status, headers, text } = await fx.send("GET", "/llms.txt");
    expect(status).toBe(200);
    expect(headers["content-type"]).toBe("text/plain; charset=utf-8");
    for (const route of fx.server.routes) expect(text).toContain(`- ${route.id}: ${route.method} /`);
    expect(llmsText(routes)).toContain("POST /projects/{project}/tools/{tool}:call");
    expect(text).not.toMatch(/\/:[a-z]/);
  });
});
