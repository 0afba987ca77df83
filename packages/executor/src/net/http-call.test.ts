import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";
import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync } from "node:zlib";
import { systemClock } from "@tessera/engines/system";
import { errorOf } from "@tessera/protocol";
import { VirtualClock, waitFor } from "@tessera/testkit";
import { Agent } from "undici";
import { afterEach, describe, expect, it } from "vitest";
import { type Loopback, startLoopback } from "../../test/loopback.ts";
import { checkUrl, URL_POLICY_DEFAULT } from "./check-url.ts";
import { type HttpCall, httpCall } from "./http-call.ts";

let server: Loopback | null = null;
afterEach(async () => {
  await server?.close();
  server = null;
});

type Routes = Record<string, (request: IncomingMessage, response: ServerResponse) => void>;

async function serve(routes: Routes): Promise<Loopback> {
  const listener: RequestListener = (request, response) => {
    const route = routes[`${request.headers.host}${request.url}`] ?? routes[request.url ?? ""];
    if (route === undefined) response.writeHead(404).end();
    else route(request, response);
  };
  server = await startLoopback(listener);
  return server;
}

function call(overrides: Partial<HttpCall> & { readonly path?: string } = {}): HttpCall {
  if (server === null) throw new Error("start the server first");
  return {
    url: new URL(overrides.path ?? "/", "https://api.example.com"),
    method: "GET",
    headers: {},
    signal: new AbortController().signal,
    timeoutMs: 20_000,
    bytesMax: 100_000,
    dispatcher: server.dispatcher,
    allow: (url) => checkUrl(url, URL_POLICY_DEFAULT),
    redirectsMax: 3,
    clock: systemClock,
    ...overrides,
  };
}

const text = (body: Uint8Array) => Buffer.from(body).toString("utf8");

describe("httpCall", () => {
  it("answers with status, headers and body", async () => {
    await serve({
      "/": (_request, response) => {
        response.writeHead(201, "Made", { "content-type": "text/plain", "set-cookie": ["a=1", "b=2"] });
        response.end("hello");
      },
    });
    const answer = await httpCall(call());
    expect(answer).toMatchObject({
      url: "https://api.example.com/",
      status: 201,
      statusText: "Made",
      truncated: false,
    });
    expect(answer.headers).toMatchObject({ "content-type": "text/plain", "set-cookie": "a=1, b=2" });
    expect(text(answer.body)).toBe("hello");
    expect(answer.durationMs).toBeGreaterThanOrEqual(0);
  });

  it("sends method, body and headers", async () => {
    await serve({
      "/": async (request, response) => {
        let body = "";
        for await (const chunk of request) body += chunk;
        response.end(JSON.stringify({ method: request.method, body, type: request.headers["content-type"] }));
      },
    });
    const answer = await httpCall(
      call({ method: "post", body: "{}", headers: { "Content-Type": "application/json" } }),
    );
    expect(JSON.parse(text(answer.body))).toEqual({ method: "POST", body: "{}", type: "application/json" });
  });

  it("asks whether the URL is allowed before it dials", async () => {
    let hits = 0;
    await serve({
      "/": (_request, response) => {
        hits++;
        response.end();
      },
    });
    const allow = () => {
      throw errorOf("url_not_allowed", "no");
    };
    await expect(httpCall(call({ allow }))).rejects.toMatchObject({ code: "url_not_allowed" });
    await expect(httpCall(call({ url: new URL("file:///etc/passwd"), allow: () => {} }))).rejects.toMatchObject({
      code: "url_not_allowed",
    });
    expect(hits).toBe(0);
  });

  it.each([
    ["host", "evil.example"],
    ["Connection", "close"],
    ["transfer-encoding", "chunked"],
    ["Content-Length", "3"],
    ["proxy-authorization", "x"],
    ["x-forwarded-for", "127.0.0.1"],
    ["te", "trailers"],
    ["bad name", "x"],
    ["x-a\r\nx-b", "x"],
    ["", "x"],
    ["x-a", "secret\r\nX-Admin: 1"],
    ["x-a", "secret\nX: 1"],
    ["x-a", "secret\u0000"],
    ["x-a", "secret☃"],
  ])("refuses the header %j with %j and does not repeat its value", async (name, value) => {
    await serve({});
    const failure = httpCall(call({ headers: { [name]: value } }));
    await expect(failure).rejects.toMatchObject({ code: "bad_request" });
    await expect(failure).rejects.toThrowError(/^(?!.*secret)/);
  });
});

describe("redirects", () => {
  it("are followed, and the answer names where it came from", async () => {
    await serve({
      "/": (_request, response) => void response.writeHead(302, { location: "/b?x=1" }).end(),
      "/b?x=1": (_request, response) => void response.end("there"),
    });
    const answer = await httpCall(call());
    expect(answer.url).toBe("https://api.example.com/b?x=1");
    expect(text(answer.body)).toBe("there");
  });

  it.each([
    "http://169.254.169.254/latest/meta-data/",
    "https://169.254.169.254/",
    "https://[::1]/",
    "https://2130706433/",
    "http://api.example.com/",
    "https://api.example.com:22/",
    "file:///etc/passwd",
    "//localhost/",
  ])("to %s are refused", async (location) => {
    const seen: (string | undefined)[] = [];
    await serve({
      "/": (request, response) => {
        seen.push(request.headers.host);
        response.writeHead(302, { location }).end();
      },
    });
    await expect(httpCall(call())).rejects.toMatchObject({ code: "url_not_allowed" });
    expect(seen).toEqual(["api.example.com"]);
  });

  it("end after as many as allowed", async () => {
    let hits = 0;
    await serve({
      "/": (_request, response) => {
        hits++;
        response.writeHead(302, { location: "/" }).end();
      },
    });
    await expect(httpCall(call({ redirectsMax: 3 }))).rejects.toMatchObject({ code: "upstream_unavailable" });
    expect(hits).toBe(4);
  });

  it("are the answer when none may be followed", async () => {
    await serve({ "/": (_request, response) => void response.writeHead(302, { location: "https://[::1]/" }).end() });
    expect(await httpCall(call({ redirectsMax: 0 }))).toMatchObject({ status: 302 });
  });

  it.each([301, 302, 303])("with status %i turn a POST into a GET without body", async (status) => {
    await serve({
      "/": (_request, response) => void response.writeHead(status, { location: "/b" }).end(),
      "/b": async (request, response) => {
        let body = "";
        for await (const chunk of request) body += chunk;
        response.end(`${request.method} ${body} ${request.headers["content-type"]}`);
      },
    });
    const answer = await httpCall(call({ method: "POST", body: "x", headers: { "content-type": "text/plain" } }));
    expect(text(answer.body)).toBe("GET  undefined");
  });

  it.each([307, 308])("with status %i keep method and body", async (status) => {
    await serve({
      "/": (_request, response) => void response.writeHead(status, { location: "/b" }).end(),
      "/b": async (request, response) => {
        let body = "";
        for await (const chunk of request) body += chunk;
        response.end(`${request.method} ${body}`);
      },
    });
    expect(text((await httpCall(call({ method: "POST", body: "x" }))).body)).toBe("POST x");
  });

  it("drop every credential when the origin changes, and do not bring it back", async () => {
    const seen: Record<string, IncomingMessage["headers"]> = {};
    const to = (location: string) => (request: IncomingMessage, response: ServerResponse) => {
      seen[`${request.headers.host}${request.url}`] = request.headers;
      response.writeHead(302, { location }).end();
    };
    await serve({
      "api.example.com/": to("https://api.example.com/same"),
      "api.example.com/same": to("https://other.example.com/"),
      "other.example.com/": to("https://api.example.com/back"),
      "api.example.com/back": (request, response) => {
        seen.back = request.headers;
        response.end();
      },
    });
    const secrets = { authorization: "Bearer s3cret", cookie: "s3cret", "x-api-key": "s3cret", "x-custom": "s3cret" };
    await httpCall(call({ headers: { ...secrets, accept: "text/html" } }));
    expect(seen["api.example.com/same"]).toMatchObject(secrets);
    for (const later of [seen["other.example.com/"], seen.back]) {
      expect(later).toMatchObject({ accept: "text/html" });
      expect(JSON.stringify(later)).not.toContain("s3cret");
    }
  });
});

describe("the body", () => {
  it.each([
    ["gzip", gzipSync],
    ["deflate", deflateSync],
    ["deflate", deflateRawSync],
    ["br", brotliCompressSync],
  ] as const)("is unpacked from %s", async (encoding, compress) => {
    await serve({
      "/": (_request, response) =>
        void response.writeHead(200, { "content-encoding": encoding }).end(compress(Buffer.from("hällo"))),
    });
    const answer = await httpCall(call());
    expect(text(answer.body)).toBe("hällo");
    expect(answer.truncated).toBe(false);
  });

  it("may be empty under any encoding", async () => {
    await serve({ "/": (_request, response) => void response.writeHead(200, { "content-encoding": "gzip" }).end() });
    expect((await httpCall(call())).body).toHaveLength(0);
  });

  it("of exactly the limit is whole, one byte more is cut and said", async () => {
    await serve({
      "/100": (_request, response) => void response.end("x".repeat(100)),
      "/101": (_request, response) => void response.end("x".repeat(101)),
    });
    expect(await httpCall(call({ path: "/100", bytesMax: 100 }))).toMatchObject({ truncated: false });
    const cut = await httpCall(call({ path: "/101", bytesMax: 100 }));
    expect(cut.truncated).toBe(true);
    expect(cut.body).toHaveLength(100);
  });

  it("without end is cut and its connection closed", async () => {
    const loopback = await serve({
      "/": (_request, response) => {
        const more = () => {
          while (!response.destroyed && response.write(Buffer.alloc(64 * 1024)));
        };
        response.on("drain", more);
        more();
      },
    });
    const answer = await httpCall(call());
    expect(answer).toMatchObject({ status: 200, truncated: true });
    await waitFor(async () => (await loopback.connections()) === 0, { what: "the connection to be closed" });
  });

  it("that unpacks without end is cut at the limit, and refused where the limit is larger than the bomb's ratio allows", async () => {
    // 32 MiB of zeros in about 32 KiB.
    const bomb = gzipSync(Buffer.alloc(32 * 1024 * 1024));
    await serve({
      "/": (_request, response) => void response.writeHead(200, { "content-encoding": "gzip" }).end(bomb),
    });
    const cut = await httpCall(call());
    expect(cut.truncated).toBe(true);
    expect(cut.body).toHaveLength(100_000);
    await expect(httpCall(call({ bytesMax: 64 * 1024 * 1024 }))).rejects.toMatchObject({ code: "payload_too_large" });
  });

  it("that never unpacks to anything is cut on the wire", async () => {
    // Empty gzip members: 20 bytes each, no content.
    const nothing = Buffer.concat(Array<Buffer>(4_096).fill(gzipSync("")));
    await serve({
      "/": (_request, response) => {
        response.writeHead(200, { "content-encoding": "gzip" });
        const more = () => {
          while (!response.destroyed && response.write(nothing));
        };
        response.on("drain", more);
        more();
      },
    });
    const answer = await httpCall(call());
    expect(answer.truncated).toBe(true);
    expect(answer.body).toHaveLength(0);
  });

  it.each(["zstd", "gzip, gzip", "nonsense"])(
    "in the encoding %j, which was not asked for, is an error",
    async (encoding) => {
      await serve({
        "/": (_request, response) => void response.writeHead(200, { "content-encoding": encoding }).end("x"),
      });
      await expect(httpCall(call())).rejects.toMatchObject({ code: "upstream_unavailable" });
    },
  );

  it("that is not what its encoding says, or breaks off, is an error", async () => {
    await serve({
      "/lie": (_request, response) => void response.writeHead(200, { "content-encoding": "gzip" }).end("not gzip"),
      "/break": (_request, response) => {
        response.writeHead(200, { "content-length": "10" });
        response.write("12345", () => response.destroy());
      },
    });
    await expect(httpCall(call({ path: "/lie" }))).rejects.toMatchObject({ code: "upstream_unavailable" });
    await expect(httpCall(call({ path: "/break" }))).rejects.toMatchObject({ code: "upstream_unavailable" });
  });
});

describe("the time", () => {
  it.each(["/silent", "/drip"])("runs out for %s and the connection is closed", async (path) => {
    const clock = new VirtualClock();
    let hits = 0;
    const loopback = await serve({
      "/silent": () => void hits++,
      "/drip": (_request, response) => {
        hits++;
        response.writeHead(200);
        response.write("x");
      },
    });
    const failure = expect(httpCall(call({ path, clock, timeoutMs: 5_000 }))).rejects.toMatchObject({
      code: "tool_timeout",
    });
    await waitFor(() => hits === 1, { what: "the request to arrive" });
    await clock.advance(5_000);
    await failure;
    await waitFor(async () => (await loopback.connections()) === 0, { what: "the connection to be closed" });
    expect(clock.pending).toBe(0);
  });

  it("covers redirects together", async () => {
    const clock = new VirtualClock();
    let hits = 0;
    await serve({
      "/": (_request, response) => void response.writeHead(302, { location: "/slow" }).end(),
      "/slow": () => void hits++,
    });
    const failure = expect(httpCall(call({ clock, timeoutMs: 1_000 }))).rejects.toMatchObject({ code: "tool_timeout" });
    await waitFor(() => hits === 1, { what: "the second request to arrive" });
    await clock.advance(1_000);
    await failure;
  });

  it("ends when the call is canceled, before or during the exchange", async () => {
    let hits = 0;
    const loopback = await serve({ "/": () => void hits++ });
    await expect(httpCall(call({ signal: AbortSignal.abort() }))).rejects.toMatchObject({ code: "canceled" });
    expect(hits).toBe(0);
    const cancel = new AbortController();
    const failure = expect(httpCall(call({ signal: cancel.signal }))).rejects.toMatchObject({ code: "canceled" });
    await waitFor(() => hits === 1, { what: "the request to arrive" });
    cancel.abort();
    await failure;
    await waitFor(async () => (await loopback.connections()) === 0, { what: "the connection to be closed" });
  });

  it("is not waited for without a listener", async () => {
    const loopback = await serve({});
    const dispatcher = new Agent();
    const url = new URL(`http://127.0.0.1:${loopback.port}/p?token=s3cret`);
    const ask = call({ dispatcher, allow: () => {}, url });
    await loopback.close();
    server = null;
    const failure = httpCall(ask);
    await expect(failure).rejects.toMatchObject({ code: "upstream_unavailable" });
    await expect(failure).rejects.toThrowError(/^(?!.*s3cret).*ECONNREFUSED/);
    await dispatcher.destroy();
  });
});
