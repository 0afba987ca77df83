// A page in a browser: it may use the API from an origin that the guard lets pass, with a key, and from no other.

import { describe, expect, it } from "vitest";
import { PROJECT, useServer } from "../../test/fixture.ts";

const fx = useServer();
const ORIGIN = "http://localhost:5173";
const TURNS = `/projects/${PROJECT}/turns`;
const preflight = (origin: string, path = TURNS) =>
  fx.send("OPTIONS", path, {
    headers: {
      ...{ origin, "access-control-request-method": "POST" },
      "access-control-request-headers": "authorization, content-type, idempotency-key",
    },
  });

describe("a page of a local origin", () => {
  it("is told before it asks what it may send, without a key", async () => {
    const answer = await preflight(ORIGIN);
    expect([answer.status, answer.text]).toEqual([204, ""]);
    expect(answer.headers).toMatchObject({
      ...{ "access-control-allow-origin": ORIGIN, vary: "origin" },
      "access-control-allow-methods": "GET, POST",
    });
    const allowed = String(answer.headers["access-control-allow-headers"]).split(", ");
    expect(allowed).toEqual(expect.arrayContaining(["authorization", "content-type", "idempotency-key", "if-match"]));
    expect(answer.headers).not.toHaveProperty("access-control-allow-credentials");
  });

  it("can read answers, refusals and their headers; without a key it gets none", async () => {
    const headers = { origin: ORIGIN };
    const found = await fx.send("GET", TURNS, { key: "viewer", headers });
    const refused = await fx.send("GET", TURNS, { headers });
    expect([found.status, refused.status]).toEqual([200, 401]);
    for (const answer of [found, refused]) {
      expect(answer.headers["access-control-allow-origin"]).toBe(ORIGIN);
      expect(answer.headers["access-control-expose-headers"]).toContain("etag");
    }
  });
});

describe("every other request", () => {
  it.each(["https://evil.example", "null", "http://localhost.evil.example"])(
    "from the origin %s is refused without a word for its browser",
    async (origin) => {
      const asked = await preflight(origin);
      const sent = await fx.send("GET", TURNS, { key: "viewer", headers: { origin } });
      expect([asked.status, sent.status]).toEqual([403, 403]);
      for (const answer of [asked, sent]) expect(answer.headers).not.toHaveProperty("access-control-allow-origin");
    },
  );

  it("that is no preflight, or for no path, is answered as ever", async () => {
    expect((await fx.send("OPTIONS", TURNS, { headers: { origin: ORIGIN } })).status).toBe(405);
    expect((await preflight(ORIGIN, "/nowhere")).status).toBe(404);
    const plain = await fx.send("GET", TURNS, { key: "viewer" });
    expect(plain.headers).not.toHaveProperty("access-control-allow-origin");
  });
});
