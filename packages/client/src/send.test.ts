import { createServer } from "node:net";
import { TesseraError } from "@tessera/protocol/errors";
import { describe, expect, it, onTestFinished } from "vitest";
import { KEY, methodsFor, openDouble, sendJson, sendProblem, testTimers } from "../test/api-double.ts";
import { ApiError } from "./api-error.ts";

const THING = { project: "p", thing: "t" };

async function failureOf(work: Promise<unknown>): Promise<ApiError> {
  const error: unknown = await work.then(
    () => new Error("it worked"),
    (reason: unknown) => reason,
  );
  if (error instanceof ApiError) return error;
  throw error;
}

describe("a call", () => {
  it("sends the key and resolves with the body", async () => {
    const double = await openDouble((_, response) => sendJson(response, 200, { ok: 1 }));
    expect(await methodsFor(`${double.url}/prefix/`).getThing(THING)).toEqual({ ok: 1 });
    expect(double.heard).toMatchObject([
      { method: "GET", url: "/prefix/projects/p/things/t", headers: { authorization: `Bearer ${KEY}` } },
    ]);
  });

  it("resolves with text, and with nothing where nothing is answered", async () => {
    const double = await openDouble(({ url }, response) =>
      response.writeHead(url === "/text" ? 200 : 204).end("hello"),
    );
    const methods = methodsFor(double.url);
    expect(await methods.getText()).toBe("hello");
    expect(await methods.uploadThing({ project: "p", body: "a: 1" })).toBeUndefined();
    expect(double.heard[1]).toMatchObject({ body: "a: 1", headers: { "content-type": "application/yaml" } });
  });

  it("throws a problem with all that it says", async () => {
    const double = await openDouble((_, response) => sendProblem(response, 409, "conflict"));
    const error = await failureOf(methodsFor(double.url).getThing(THING));
    expect(error).toMatchObject({
      status: 409,
      code: "conflict",
      message: "it is conflict",
      details: { field: "x" },
      requestId: "req_1",
      retryAfterMs: null,
    });
  });

  it("throws an error of Tessera, which knows the catalogue and says whether repeating may help", async () => {
    const double = await openDouble((_, response) => sendProblem(response, 409, "store_in_use"));
    const error: unknown = await failureOf(methodsFor(double.url).getThing(THING));
    expect(TesseraError.is(error) && ApiError.is(error)).toBe(true);
    expect(error).toBeInstanceOf(TesseraError);
    expect(error).toMatchObject({ name: "ApiError", code: "store_in_use", retry: "never", http: 409 });
    expect(ApiError.is(new TesseraError("not_found", "x"))).toBe(false);
  });

  it("tells a code that only a newer server knows by the code of its status, and keeps it", async () => {
    const double = await openDouble((_, response) => sendProblem(response, 409, "of_next_year"));
    const error = await failureOf(methodsFor(double.url).getThing(THING));
    expect(error).toMatchObject({ code: "conflict", details: { field: "x", error_code: "of_next_year" } });
  });

  it("says that the address may be wrong when something else answers", async () => {
    const double = await openDouble(({ url }, response) =>
      response.writeHead(url.includes("/p/") ? 200 : 404, { "content-type": "text/html" }).end("<html>"),
    );
    const methods = methodsFor(double.url);
    const wrong = await failureOf(methods.getThing(THING));
    expect(wrong).toMatchObject({ status: 200, code: "protocol_violation" });
    expect(wrong.message).toContain("text/html, not with JSON; is this the address of a Tessera API?");
    const missing = await failureOf(methods.getThing({ project: "q", thing: "t" }));
    expect(missing).toMatchObject({ status: 404, code: "not_found" });
    expect(missing.message).toContain("is this the address of a Tessera API?");
  });

  it("does not follow a redirect with the key", async () => {
    const other = await openDouble((_, response) => sendJson(response, 200, {}));
    const double = await openDouble((_, response) => response.writeHead(302, { location: other.url }).end());
    const error = await failureOf(methodsFor(double.url).getThing(THING));
    expect(error).toMatchObject({ status: 302, code: "protocol_violation" });
    expect(other.heard).toEqual([]);
  });
});

describe("trying again", () => {
  it("waits as long as the server says, for a GET", async () => {
    const double = await openDouble((_, response, count) =>
      count <= 2
        ? sendProblem(response, count === 1 ? 429 : 503, "rate_limited", { "retry-after": String(count) })
        : sendJson(response, 200, { count }),
    );
    const timers = testTimers();
    expect(await methodsFor(double.url, timers).getThing(THING)).toEqual({ count: 3 });
    expect(timers.pauses).toEqual([1_000, 2_000]);
  });

  it("ends after as many tries as the client was given", async () => {
    const double = await openDouble((_, response) =>
      sendProblem(response, 503, "shutting_down", { "retry-after": "1" }),
    );
    const error = await failureOf(methodsFor(double.url, testTimers(), 1).getThing(THING));
    expect(error).toMatchObject({ status: 503, code: "shutting_down", retryAfterMs: 1_000 });
    expect(double.heard).toHaveLength(2);
  });

  it.each([
    ["a POST without a key", { body: {} }, 503, "1", 1],
    ["a POST with a key", { body: {}, idempotencyKey: "k" }, 503, "1", 3],
    ["503 without Retry-After", { body: {}, idempotencyKey: "k" }, 503, "", 1],
    ["another status", { body: {}, idempotencyKey: "k" }, 500, "1", 1],
    ["a pause that is too long", { body: {}, idempotencyKey: "k" }, 503, "31", 1],
  ])("%s", async (_, args, status, after, tries) => {
    const headers: Record<string, string> = after === "" ? {} : { "retry-after": after };
    const double = await openDouble((__, response) => sendProblem(response, status, "storage_error", headers));
    await failureOf(methodsFor(double.url).makeThing({ project: "p", ...args }));
    expect(double.heard).toHaveLength(tries);
  });

  it("happens for a GET whose connection is cut, also in the middle of the answer", async () => {
    const double = await openDouble((_, response, count) => {
      if (count === 1) response.destroy();
      else if (count === 2) {
        response.writeHead(200, { "content-length": "100" });
        response.write("{", () => response.destroy());
      } else sendJson(response, 200, { count });
    });
    const timers = testTimers();
    expect(await methodsFor(double.url, timers).getThing(THING)).toEqual({ count: 3 });
    expect(timers.pauses).toEqual([100, 200]);
  });

  it("does not happen for a POST whose connection is cut", async () => {
    const double = await openDouble((_, response) => response.destroy());
    const error = await failureOf(methodsFor(double.url).makeThing({ project: "p", body: {} }));
    expect(error).toMatchObject({ status: 0, code: "upstream_unavailable" });
    expect(double.heard).toHaveLength(1);
  });
});

describe("a server that cannot be reached", () => {
  it("is named with what was tried, and without the key", async () => {
    const double = await openDouble(() => undefined);
    await double.close();
    const error = await failureOf(methodsFor(double.url, testTimers(), 0).getThing({ ...THING, limit: 1 }));
    expect(error.message).toBe(
      `cannot reach ${double.url} (GET /projects/p/things/t): nothing listens there; is the server running? (ECONNREFUSED)`,
    );
    expect(JSON.stringify([error.message, String(error.cause), error.stack])).not.toContain(KEY);
  });

  it("is told apart from an unknown name", async () => {
    const error = await failureOf(methodsFor("http://no-such-host.invalid", testTimers(), 0).getThing(THING));
    expect(error.message).toMatch(/^cannot reach http:\/\/no-such-host\.invalid .*name of the host/);
  });

  it("is told apart from a server that does not speak TLS", async () => {
    const double = await openDouble((_, response) => sendJson(response, 200, {}));
    const error = await failureOf(methodsFor(double.url.replace("http:", "https:"), testTimers(), 0).getThing(THING));
    expect(error.message).toContain("try http instead of https");
  });

  it("is told apart from one that does not speak HTTP", async () => {
    const server = createServer((socket) => socket.end("SSH-2.0-x\r\n"));
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => void server.close());
    const { port } = server.address() as { port: number };
    const error = await failureOf(methodsFor(`http://127.0.0.1:${port}`, testTimers(), 0).getThing(THING));
    expect(error).toMatchObject({ status: 0, code: "upstream_unavailable" });
    expect(error.message).toContain("does not speak this protocol");
  });
});

describe("a call that takes too long", () => {
  it("ends with what was asked for, and is not repeated", async () => {
    const double = await openDouble(() => undefined);
    const methods = methodsFor(double.url, testTimers({ isLate: true }));
    const error = await failureOf(methods.getThing({ ...THING, timeoutMs: 60_001 }));
    expect(error).toMatchObject({ status: 0, code: "timeout" });
    expect(error.message).toBe(`GET ${double.url}/projects/p/things/t was not answered within 60001 ms`);
  });

  it("ends with the reason of the signal that aborts it, also during a pause", async () => {
    const stop = new AbortController();
    const reason = new Error("enough");
    const double = await openDouble((_, response) => sendProblem(response, 503, "x", { "retry-after": "1" }));
    const timers = { ...testTimers(), after: () => ({ cancel: () => undefined }) };
    const work = methodsFor(double.url, timers).getThing({ ...THING, signal: stop.signal });
    await expect.poll(() => double.heard.length, { timeout: 10_000 }).toBe(1);
    stop.abort(reason);
    await expect(work).rejects.toBe(reason);
  });
});
