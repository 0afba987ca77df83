// Bad requests, row by row of docs/reference/security.md#h-http (H1 to H16, H21): one structured answer each, and no row of the
// store changes.

import { ERROR_MESSAGE_CHARS_MAX, HTTP_BODY_BYTES_MAX } from "@tessera/protocol";
import { describe, expect, it } from "vitest";
import { LEAK, OTHER, PROJECT, type RequestOptions, timed, useServer } from "../../test/fixture.ts";

const fx = useServer();
const CLAIM = `/projects/${PROJECT}/executors/echo/claim`;
const TOOLS = `/projects/${PROJECT}/tools`;

interface Row {
  readonly row: string;
  readonly what: string;
  readonly method?: string;
  readonly url?: string;
  readonly request: RequestOptions;
  readonly status: number;
  readonly code: string;
}

const json = (text: string): RequestOptions => ({
  key: "executor",
  headers: { "content-type": "application/json" },
  payload: text,
});
const deep = (levels: number) => `${'{"a":'.repeat(levels - 1)}{}${"}".repeat(levels - 1)}`;
const withHost = (headers: Readonly<Record<string, string>>): RequestOptions => ({
  key: "executor",
  headers,
  json: {},
});

// biome-ignore format: one row per line
const ROWS: readonly Row[] = [
  { row: "H2", what: "a viewer's key on POST", request: { key: "viewer", json: {} }, status: 403, code: "forbidden" },
  { row: "H2", what: "an operator's key on the edge", request: { key: "operator", json: {} }, status: 403, code: "forbidden" },
  { row: "H2", what: "an executor's key on the registry", method: "GET", url: TOOLS, request: { key: "executor" }, status: 403, code: "forbidden" },
  { row: "H2", what: "an executor's key for another target", request: { key: "stranger", json: {} }, status: 403, code: "forbidden" },
  { row: "H4", what: "a body of one byte too many", request: json(`"${"x".repeat(HTTP_BODY_BYTES_MAX - 1)}"`), status: 413, code: "payload_too_large" },
  { row: "H5", what: "JSON as text/plain", request: { key: "executor", headers: { "content-type": "text/plain" }, payload: "{}" }, status: 415, code: "unsupported_media_type" },
  { row: "H5", what: "YAML on a JSON route", request: { key: "executor", headers: { "content-type": "application/yaml" }, payload: "{}" }, status: 415, code: "unsupported_media_type" },
  { row: "H5", what: "JSON on the upload route", url: TOOLS, request: { key: "operator", json: {} }, status: 415, code: "unsupported_media_type" },
  { row: "H5", what: "a body without a type", request: { key: "executor", headers: { "content-length": "2" }, payload: "{}" }, status: 415, code: "unsupported_media_type" },
  { row: "H5", what: "YAML on a route without a body", url: `/projects/${PROJECT}/bootstrap`, request: { key: "operator", headers: { "content-type": "application/yaml" }, payload: "{}" }, status: 415, code: "unsupported_media_type" },
  { row: "H6", what: "a gzip body", request: { key: "executor", headers: { "content-encoding": "gzip" }, json: {} }, status: 413, code: "payload_too_large" },
  { row: "H6", what: "an unknown coding", request: { key: "executor", headers: { "content-encoding": "rot13" }, json: {} }, status: 415, code: "unsupported_media_type" },
  { row: "H7", what: "JSON 65 deep", request: json(deep(65)), status: 400, code: "too_deep" },
  { row: "H7", what: "JSON 100,000 deep", request: json(deep(100_000)), status: 400, code: "too_deep" },
  { row: "H8", what: "a duplicate key", request: json('{"max":1,"max":2}'), status: 400, code: "bad_request" },
  { row: "H8", what: "the role given twice", url: "/keys", request: { ...json('{"role":"viewer","role":"admin"}'), key: "admin" }, status: 400, code: "bad_request" },
  { row: "H9", what: "__proto__", request: json('{"__proto__":{"max":1}}'), status: 400, code: "forbidden_key" },
  { row: "H9", what: "__proto__ by escape", request: json('{"\\u005f_proto__":1}'), status: 400, code: "forbidden_key" },
  { row: "H9", what: "text that is no JSON", request: json('{"max":1'), status: 400, code: "invalid_json" },
  { row: "H9", what: "a list as the body", request: json("[]"), status: 400, code: "invalid_payload" },
  { row: "H9", what: "bytes that are no UTF-8", request: { ...json(""), payload: Buffer.from([0x22, 0xc3, 0x28, 0x22]) }, status: 400, code: "invalid_encoding" },
  { row: "H11", what: "limit=-1", method: "GET", url: `${TOOLS}?limit=-1`, request: { key: "viewer" }, status: 400, code: "bad_request" },
  { row: "H11", what: "limit=1e9", method: "GET", url: `${TOOLS}?limit=1e9`, request: { key: "viewer" }, status: 400, code: "bad_request" },
  { row: "H11", what: "limit=201", method: "GET", url: `${TOOLS}?limit=201`, request: { key: "viewer" }, status: 400, code: "bad_request" },
  { row: "H11", what: "limit=NaN", method: "GET", url: `${TOOLS}?limit=NaN`, request: { key: "viewer" }, status: 400, code: "bad_request" },
  { row: "H11", what: "a limit given twice", method: "GET", url: `${TOOLS}?limit=1&limit=2`, request: { key: "viewer" }, status: 400, code: "bad_request" },
  { row: "H11", what: "an invented cursor", method: "GET", url: `${TOOLS}?cursor=YQ.AAAAAAAAAAAAAAAAAAAAAA`, request: { key: "viewer" }, status: 400, code: "bad_request" },
  { row: "H12", what: "an unknown query parameter", method: "GET", url: `${TOOLS}?sort=id;drop%20table`, request: { key: "viewer" }, status: 400, code: "bad_request" },
  { row: "H12", what: "a filter that is SQL", method: "GET", url: `/projects/${PROJECT}/turns?status=id;drop%20table`, request: { key: "viewer" }, status: 400, code: "bad_request" },
  { row: "H15", what: "OPTIONS", method: "OPTIONS", request: { key: "executor" }, status: 405, code: "method_not_allowed" },
  { row: "H15", what: "HEAD", method: "HEAD", url: TOOLS, request: { key: "viewer" }, status: 405, code: "" },
  { row: "H15", what: "TRACE", method: "TRACE", request: { key: "executor" }, status: 405, code: "method_not_allowed" },
  { row: "H15", what: "PUT", method: "PUT", url: TOOLS, request: { key: "operator" }, status: 405, code: "method_not_allowed" },
  { row: "H15", what: "an overridden method, which stays what it is", method: "GET", url: CLAIM, request: { key: "executor", headers: { "x-http-method-override": "POST" } }, status: 405, code: "method_not_allowed" },
  { row: "H15", what: "a path that does not exist", method: "GET", url: "/nothing/here", request: { key: "admin" }, status: 404, code: "not_found" },
  { row: "H16", what: "Host: evil", request: withHost({ host: "evil.example" }), status: 421, code: "origin_not_allowed" },
  { row: "H16", what: "Host: localhost.evil", request: withHost({ host: "localhost.evil.example" }), status: 421, code: "origin_not_allowed" },
  { row: "H16", what: "a Host with a user in it", request: withHost({ host: "localhost@evil.example" }), status: 421, code: "origin_not_allowed" },
  { row: "H16", what: "Origin: evil", request: withHost({ origin: "https://evil.example" }), status: 403, code: "origin_not_allowed" },
  { row: "H16", what: "Origin: null", request: withHost({ origin: "null" }), status: 403, code: "origin_not_allowed" },
  { row: "H16", what: "Origin: file", request: withHost({ origin: "file://localhost" }), status: 403, code: "origin_not_allowed" },
];

describe("a bad request", () => {
  for (const { row, what, method = "POST", url = CLAIM, request, status, code } of ROWS) {
    it(`${row}: ${what} is answered ${status} ${code}`, async () => {
      const before = await fx.everything();
      const { answer, cpuMs } = await timed(() => fx.send(method, url, request));
      expect(cpuMs).toBeLessThan(1_000);
      expect(answer.status, answer.text).toBe(status);
      expect(answer.headers["x-request-id"]).toMatch(/^req_/);
      if (code !== "") {
        expect(answer.headers["content-type"]).toMatch(/^application\/problem\+json/);
        expect(answer.body).toMatchObject({ status, error_code: code, type: `urn:tessera:error:${code}` });
        expect(answer.body.request_id).toBe(answer.headers["x-request-id"]);
        expect(answer.body.error_message.length).toBeLessThanOrEqual(ERROR_MESSAGE_CHARS_MAX);
        expect(answer.body.detail).toBe(answer.body.error_message);
        expect(answer.text).not.toMatch(LEAK);
      }
      if (status === 405) expect(String(answer.headers.allow)).toMatch(/^[A-Z]+(, [A-Z]+)*$/);
      expect(await fx.everything()).toBe(before);
    });
  }

  it("H1: no, a malformed, an unknown, an expired and a revoked key get the same 401", async () => {
    await fx.key("expired", { role: "admin", expires_in_ms: 1 });
    await fx.clock.advance(2);
    const revoked = await fx.key("revoked", { role: "admin" });
    await fx.kernel.revokeApiKey({ key_id: fx.keyIds.revoked ?? "" });
    const answers = [];
    for (const key of [
      undefined,
      "",
      "Bearer",
      "Bearer ",
      "Basic YTpi",
      "Bearer tsk_x",
      `Bearer ${revoked.slice(0, -5)}AAAAA`,
      `Bearer ${"x".repeat(5_000)}`,
      "expired",
      "revoked",
    ]) {
      const answer = await fx.send("POST", CLAIM, { ...(key === undefined ? {} : { key }), json: {} });
      expect(answer.headers["www-authenticate"]).toBe("Bearer");
      const { request_id, ...body } = answer.body;
      answers.push({ status: answer.status, body });
    }
    expect(answers[0]).toMatchObject({ status: 401, body: { error_code: "unauthenticated" } });
    for (const answer of answers) expect(answer).toEqual(answers[0]);
  });

  it("H3: a key of p1 finds nothing in p2, and is told what it is told about a project that does not exist", async () => {
    const ask = async (project: string) => {
      const answer = await fx.send("GET", `/projects/${project}/tools`, { key: "viewer" });
      return JSON.stringify({ ...answer.body, request_id: "" }).replaceAll(project, "P");
    };
    expect(await ask(OTHER)).toBe(await ask("p_none"));
    expect((await fx.send("GET", `/projects/${OTHER}/tools`, { key: "viewer" })).status).toBe(404);
    expect((await fx.send("GET", `/projects/${OTHER}/tools`, { key: "admin" })).status).toBe(200);
    expect((await fx.send("GET", "/projects/p_none/tools", { key: "admin" })).status).toBe(404);
    expect((await fx.send("POST", "/projects/p_none/executors/echo/claim", { key: "admin", json: {} })).status).toBe(
      404,
    );
    // Even a role that may not write learns nothing about the other project.
    expect((await fx.send("POST", `/projects/${OTHER}/tools`, { key: "viewer" })).status).toBe(404);
  });

  for (const id of [
    "..%2fx",
    "a%2fb",
    "x".repeat(65),
    "x".repeat(2_000),
    "a.b",
    "*",
    "%00",
    "%F0%9F%98%80",
    "CON",
    "",
  ]) {
    it(`H10: the id ${JSON.stringify(id.slice(0, 70))} is refused wherever it stands`, async () => {
      for (const url of [
        `/projects/${id}/tools`,
        `/projects/${PROJECT}/tools/${id}`,
        `/projects/${PROJECT}/calls/${id}/report`,
        `/projects/${PROJECT}/executors/${id}/claim`,
      ]) {
        const isRead = url.includes("tools");
        const answer = await fx.send(isRead ? "GET" : "POST", url, { key: "admin", ...(isRead ? {} : { json: {} }) });
        expect({ url, status: answer.status, code: answer.body.error_code }).toEqual({
          url,
          status: 400,
          code: "invalid_id",
        });
      }
    });
  }

  it("H10: a path that cannot be decoded is refused as a problem", async () => {
    const answer = await fx.send("GET", "/projects/%zz/tools", { key: "admin" });
    expect(answer).toMatchObject({ status: 400, body: { error_code: "bad_request" } });
    expect(answer.headers["x-request-id"]).toBe(answer.body.request_id);
  });

  it("H11: a cursor leads on through the list, and counts for its own list only", async () => {
    for (const name of ["page_a", "page_b", "page_c"]) {
      for (const project_id of [PROJECT, OTHER]) {
        const target_subject = "cg.v1r4.{project_id}.{channel_id}.cmd.tool.x.y";
        await fx.kernel.putTool({ project_id, tool_name: name, target_subject, after_execution: "suspend" });
      }
    }
    const names: string[] = [];
    let cursor: string | null = "";
    let first = "";
    while (cursor !== null) {
      const answer = await fx.send("GET", `${TOOLS}?limit=1${cursor === "" ? "" : `&cursor=${cursor}`}`, {
        key: "viewer",
      });
      expect(answer.status).toBe(200);
      names.push(...answer.body.tools.map((tool: { tool_name: string }) => tool.tool_name));
      cursor = answer.body.next_cursor;
      if (first === "" && cursor !== null) first = cursor;
    }
    expect(names).toEqual(["page_a", "page_b", "page_c"]);
    for (const tampered of [`${first}A`, first.slice(1), first.replace(".", ""), first.replace(".", "%3D."), "."]) {
      expect((await fx.send("GET", `${TOOLS}?cursor=${tampered}`, { key: "viewer" })).status).toBe(400);
    }
    expect((await fx.send("GET", `/projects/${OTHER}/tools?cursor=${first}`, { key: "admin" })).status).toBe(400);
  });

  it("names the field of a body that it does not know, or that does not fit", async () => {
    for (const [body, field] of [
      [{ max: 0 }, "max"],
      [{ max: 65 }, "max"],
      [{ max: 1.5 }, "max"],
      [{ wait_ms: 30_001 }, "wait_ms"],
      [{ executor: "" }, "executor"],
      [{ executor: 5 }, "executor"],
      [{ lease_ms: 5 }, "lease_ms"],
      [{ [`f${"x".repeat(5_000)}`]: 1 }, "f"],
    ] as const) {
      const answer = await fx.send("POST", CLAIM, { key: "executor", json: body });
      expect(answer).toMatchObject({ status: 400, body: { error_code: "bad_request" } });
      expect(answer.body.error_detail.field.startsWith(field)).toBe(true);
      expect(answer.text.length).toBeLessThan(1_000);
    }
  });

  it("H16: loopback names, and those that the operator allows, may be in Host and Origin", async () => {
    const server = await fx.another({ allowedHosts: ["Tessera.Example"] });
    for (const headers of [
      { host: "localhost:8099" },
      { host: "[::1]:8099" },
      { host: "127.0.0.1", origin: "http://localhost:5173" },
      { host: "tessera.example", origin: "https://tessera.example" },
    ]) {
      expect((await fx.send("GET", "/health", { headers }, server)).status).toBe(200);
    }
    expect((await fx.send("GET", "/health", { headers: { host: "tessera.example" } })).status).toBe(421);
    await server.close();
  });
});

describe("the server", () => {
  it("says that it lives without a key", async () => {
    expect(await fx.send("GET", "/health")).toMatchObject({ status: 200, body: { status: "ok" } });
  });

  it("answers a flood with 429 and Retry-After, by key and by address, and leaves the neighbour alone", async () => {
    const tight = { perSecond: 10, burst: 5 };
    const server = await fx.another({ limits: { key: tight } });
    const ask = (key: string) => fx.send("GET", TOOLS, { key }, server);
    const statuses = [];
    for (let n = 0; n < 8; n++) statuses.push((await ask("viewer")).status);
    expect(statuses).toEqual([200, 200, 200, 200, 200, 429, 429, 429]);
    const limited = await ask("viewer");
    expect(limited.headers["retry-after"]).toBe("1");
    expect(limited.body.error_code).toBe("rate_limited");
    expect((await ask("operator")).status).toBe(200);
    await fx.clock.advance(1_000);
    expect((await ask("viewer")).status).toBe(200);
    await server.close();

    const guarded = await fx.another({ limits: { address: { perSecond: 1, burst: 2 } } });
    const guess = () => fx.send("GET", TOOLS, { key: "Bearer tsk_guess" }, guarded);
    expect([(await guess()).status, (await guess()).status, (await guess()).status]).toEqual([401, 401, 429]);
    await guarded.close();
  });

  it("reads no more bytes of bodies for a key or a project than they have to spend, and leaves the neighbour alone", async () => {
    const limits = {
      bodyBytesPerKey: { perSecond: 1_000, burst: 10_000 },
      bodyBytesPerProject: { perSecond: 1_000, burst: 15_000 },
    };
    const server = await fx.another({ limits });
    const url = `/projects/${PROJECT}/cards/batch`;
    const ask = (key: string, chars: number) =>
      fx.send("POST", url, { key, json: { card_ids: ["x".repeat(chars)] } }, server);
    expect((await ask("viewer", 9_000)).status).toBe(400); // read, and refused for its id
    const limited = await ask("viewer", 5_000);
    expect([limited.status, limited.body.error_code]).toEqual([429, "rate_limited"]);
    expect(Number(limited.headers["retry-after"])).toBeGreaterThan(3);
    expect((await ask("viewer", 100)).status).toBe(400);
    expect((await ask("operator", 5_000)).status).toBe(400);
    expect((await ask("operator", 3_000)).status).toBe(429); // their project has spent it
    expect((await ask("admin", 9_000)).status).toBe(400);
    await fx.clock.advance(5_000);
    expect((await ask("viewer", 4_500)).status).toBe(400);
    await server.close();
  });

  it("counts by the client that a trusted proxy names, in limits and in the audit, and believes no other address", async () => {
    const limits = { address: { perSecond: 1, burst: 2 } };
    const from = (server: typeof fx.server, said: string) =>
      fx.send("GET", TOOLS, { key: "Bearer tsk_guess", headers: { "x-forwarded-for": said } }, server);
    const behind = await fx.another({ limits, trustedProxies: ["127.0.0.0/8"] });
    const seen = [];
    for (const said of ["198.51.100.1", "198.51.100.1", "198.51.100.1", "9.9.9.9, 198.51.100.1", "198.51.100.2"]) {
      seen.push((await from(behind, said)).status);
    }
    expect(seen).toEqual([401, 401, 429, 429, 401]);
    const made = await fx.send(
      "POST",
      "/projects",
      {
        key: "admin",
        headers: { "x-forwarded-for": "198.51.100.3" },
        json: { project_id: "proxied", title: "Proxied", owner_id: "me" },
      },
      behind,
    );
    expect(made.status).toBe(201);
    await behind.close(); // the note is written
    const audit = await fx.send("GET", "/projects/proxied/observability/audit", { key: "admin" });
    const note = audit.body.entries.find((entry: { kind: string }) => entry.kind === "api.createProject");
    expect(note.detail.address).toBe("198.51.100.3");

    const open = await fx.another({ limits });
    const statuses = [];
    for (const said of ["198.51.100.1", "198.51.100.2", "198.51.100.3"]) statuses.push((await from(open, said)).status);
    expect(statuses).toEqual([401, 401, 429]);
    await open.close();
  });

  it("answers 503 with Retry-After when the database is away, and tells neither SQL nor address", async () => {
    const { DatabaseError } = await import("@tessera/kernel");
    const away = async () => {
      throw new DatabaseError("unavailable", "connect ECONNREFUSED 10.1.2.3:5432 while running select l0.secret()");
    };
    const server = await fx.another({ kernel: { ...fx.kernel, reads: { ...fx.kernel.reads, project: away } } });
    const answer = await fx.send("GET", TOOLS, { key: "viewer" }, server);
    expect(answer).toMatchObject({ status: 503, body: { error_code: "storage_error" } });
    expect(answer.headers["retry-after"]).toBe("1");
    expect(answer.text).not.toMatch(/ECONNREFUSED|10\.1|select/);
    expect(fx.warnings.at(-1)).toMatch(new RegExp(`${answer.body.request_id}.*ECONNREFUSED`));
    await server.close();
  });

  it("answers 500 with nothing but the code when it is at fault itself", async () => {
    const broken = async () => {
      throw new TypeError("cannot read properties of tsk_secret");
    };
    const server = await fx.another({ kernel: { ...fx.kernel, reads: { ...fx.kernel.reads, project: broken } } });
    const answer = await fx.send("GET", TOOLS, { key: "viewer" }, server);
    expect(answer).toMatchObject({ status: 500, body: { error_code: "internal_error" } });
    expect(answer.text).not.toMatch(/tsk_secret|TypeError/);
    await server.close();
  });
});
