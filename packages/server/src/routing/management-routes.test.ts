// What holds for every management route: limits, cursors and filters, projects that are not there or not the key's.

import { describe, expect, it } from "vitest";
import { OTHER, PROJECT } from "../../test/fixture.ts";
import { useManagement } from "../../test/management-fixture.ts";
import { SERVER_LIMITS } from "../http/server-limits.ts";
import { managementRoutes } from "./management-routes.ts";
import { paramsOf, type RouteSpec } from "./route-spec.ts";

const fx = useManagement();
const nothing = {} as never;
const ROUTES = await managementRoutes({
  ...{ kernel: nothing, cursors: nothing, tools: nothing, clock: nothing, places: nothing, reading: nothing },
  ...{ limits: SERVER_LIMITS, ports: { isGodEnabled: true } },
});
/** The path with an id at each of its places, `x1` where none is given. */
const urlOf = ({ path }: RouteSpec, ids: Readonly<Record<string, string>>) =>
  path
    .replaceAll("::", "\n")
    .replace(/:([a-z]+)/g, (_all, name: string) => ids[name] ?? "x1")
    .replaceAll("\n", ":");
const named = (routes: readonly RouteSpec[]) => routes.map((route) => [route.id, route] as const);
const LISTS = ROUTES.filter((route) => route.query?.cursor !== undefined && !route.path.includes(":box"));

describe("the table", () => {
  it("has every operation once, with a sentence and schemas for what it takes and answers", () => {
    const ids = ROUTES.map((route) => route.id);
    expect(ids).toEqual([...new Set(ids)]);
    for (const route of ROUTES) {
      expect(route.summary).toMatch(/^[A-Z].*\.$/);
      expect(Object.keys(route.answers).length).toBeGreaterThan(0);
      expect(route.body === "json").toBe(route.bodySchema !== undefined);
    }
  });
});

describe.each(named(LISTS))("%s", (_id, route) => {
  const get = (query: string) => fx.send("GET", `${urlOf(route, { project: PROJECT })}?${query}`, { key: "admin" });

  it.each(["-1", "0", "1e9", "NaN", "1.5", "", "100000"])("refuses limit=%s", async (limit) => {
    const answer = await get(`limit=${limit}`);
    expect([answer.status, answer.body.error_detail]).toEqual([400, { field: "limit" }]);
  });

  it("refuses a cursor that it did not write, a filter and an order that it does not know", async () => {
    const cursor = await get("cursor=eHg.AAAAAAAAAAAAAAAAAAAAAA");
    expect([cursor.status, cursor.body.error_detail]).toEqual([400, { field: "cursor" }]);
    expect((await get("sort=id;drop%20table")).status).toBe(400);
    expect((await get("limit=1&limit=2")).status).toBe(400);
  });
});

describe.each(named(ROUTES.filter((route) => route.path.includes(":project"))))("%s", (_id, route) => {
  const send = (project: string, key: string) =>
    fx.send(route.method, urlOf(route, { project }), {
      key,
      ...(route.body === "json" ? { json: {} } : {}),
      ...(route.body === "upload" ? { payload: "a: 1", headers: { "content-type": "application/yaml" } } : {}),
    });

  it("answers a project of another key like one that does not exist", async () => {
    const [foreign, absent] = [await send(OTHER, "admin1"), await send("nowhere", "admin1")];
    expect([foreign.status, absent.status]).toEqual([404, 404]);
    expect(foreign.body.error_message).toBe(absent.body.error_message.replace("nowhere", OTHER));
  });

  it("refuses ids that are none, by their names", async () => {
    for (const name of paramsOf(route.path)) {
      const isName = route.names?.includes(name) === true;
      const url = urlOf(route, { project: PROJECT, [name]: isName ? "a%0Ab" : "a%2Eb" });
      const answer = await fx.send(route.method, url, { key: "admin" });
      const expected = isName ? [400, "bad_request", name] : [400, "invalid_id"];
      const field = isName ? [answer.body.error_detail?.field] : [];
      expect([answer.status, answer.body.error_code, ...field]).toEqual(expected);
    }
  });
});
