import { SeededIds, VirtualClock } from "@tessera/testkit";
import { describe, expect, it } from "vitest";
import { buildApp } from "./build-app.ts";
import { createHostGuard } from "./host-guard.ts";
import type { RouteSpec } from "./route-spec.ts";
import { SERVER_LIMITS } from "./server-limits.ts";

function app(routes: readonly RouteSpec[] = []) {
  return buildApp({
    clock: new VirtualClock(),
    ids: new SeededIds(1),
    routes,
    access: {
      admitAddress: () => undefined,
      admit: async () => ({ key_id: "k", role: "admin", project_id: null, targets: [] }),
    },
    hosts: createHostGuard("127.0.0.1"),
    limits: SERVER_LIMITS,
    closing: new AbortController().signal,
    onWarning: () => undefined,
  });
}

const spec: RouteSpec = {
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

  it("whose answer cannot be sent ends as a problem, not as a hanging request", async () => {
    const broken = app([{ ...spec, handle: async () => ({ status: 200, body: { big: 1n } }) }]);
    const response = await broken.inject({ method: "GET", url: "/x" });
    expect(response.statusCode).toBe(500);
    expect(response.json()).toMatchObject({ error_code: "internal_error" });
  });
});
