import { SeededIds, VirtualClock } from "@tessera/testkit";
import { describe, expect, it } from "vitest";
import { buildApp } from "./build-app.ts";
import { createHostGuard } from "./http/host-guard.ts";
import { SERVER_LIMITS } from "./http/server-limits.ts";
import type { RouteSpec } from "./routing/route-spec.ts";

function app(routes: readonly RouteSpec[] = []) {
  return buildApp({
    clock: new VirtualClock(),
    ids: new SeededIds(1),
    routes,
    access: {
      admitAddress: () => undefined,
      admit: async () => ({ key_id: "k", role: "admin", project_id: null, targets: [] }),
      admitBody: () => undefined,
      isStillGood: async () => true,
    },
    hosts: createHostGuard("127.0.0.1"),
    limits: SERVER_LIMITS,
    closing: new AbortController().signal,
    onWarning: () => undefined,
  });
}

const spec: RouteSpec = {
  id: "getX",
  tag: "health",
  summary: "Get x.",
  answers: { 200: null },
  method: "GET",
  path: "/x",
  roles: ["admin"],
  handle: async () => ({ status: 200, body: {} }),
};

describe("a route", () => {
  it("that does not say who may use it cannot be registered", async () => {
    expect(() => app().get("/open", async () => "hello")).toThrow(/does not say who may use it/);
    await expect(app([{ ...spec, roles: [] }]).ready()).rejects.toThrow(/does not say who may use it/);
    await app([spec]).ready();
  });

  it("with a verb behind its id is told from the one without, and each says its own methods", async () => {
    const seen: string[] = [];
    const noting = (method: RouteSpec["method"], path: string): RouteSpec => ({
      ...spec,
      method,
      path,
      async handle(request) {
        seen.push(`${method} ${path} ${request.param("tool")}`);
        return { status: 200, body: {} };
      },
    });
    const both = app([noting("GET", "/tools/:tool"), noting("POST", "/tools/:tool::call")]);
    const ask = async (method: "GET" | "POST", url: string) => (await both.inject({ method, url })).statusCode;
    expect(await ask("GET", "/tools/abc")).toBe(200);
    expect(await ask("POST", "/tools/abc:call")).toBe(200);
    expect(await ask("POST", "/tools/abc%3Acall")).toBe(200);
    expect(seen).toEqual(["GET /tools/:tool abc", "POST /tools/:tool::call abc", "POST /tools/:tool::call abc"]);
    const wrong = await both.inject({ method: "POST", url: "/tools/abc" });
    expect([wrong.statusCode, wrong.headers.allow]).toEqual([405, "GET"]);
    const put = await both.inject({ method: "PUT", url: "/tools/abc:call" });
    expect([put.statusCode, put.headers.allow]).toEqual([405, "POST"]);
    for (const url of ["/tools/abc:calls", "/tools/a:b:call", "/tools/abc:"]) {
      expect(await ask("POST", url)).toBeGreaterThanOrEqual(404);
    }
  });

  it("can answer piece by piece, with headers of its own", async () => {
    async function* pieces() {
      yield "a";
      yield "b";
    }
    const streaming: RouteSpec = {
      ...spec,
      answerType: "text/event-stream",
      handle: async () => ({ status: 200, headers: { "x-own": "1" }, stream: pieces() }),
    };
    const response = await app([streaming]).inject({ method: "GET", url: "/x" });
    expect(response.body).toBe("ab");
    expect(response.headers["content-type"]).toBe("text/event-stream; charset=utf-8");
    expect(response.headers["x-own"]).toBe("1");
  });

  it("whose answer cannot be sent ends as a problem, not as a hanging request", async () => {
    const broken = app([{ ...spec, handle: async () => ({ status: 200, body: { big: 1n } }) }]);
    const response = await broken.inject({ method: "GET", url: "/x" });
    expect(response.statusCode).toBe(500);
    expect(response.json()).toMatchObject({ error_code: "internal_error" });
  });
});
