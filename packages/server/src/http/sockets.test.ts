// What only a real socket shows: bodies that never end, headers that never come, bytes that are no HTTP.

import { connect, type Socket } from "node:net";
import { gzipSync } from "node:zlib";
import { HTTP_BODY_BYTES_MAX } from "@tessera/protocol";
import { waitFor } from "@tessera/testkit";
import { describe, expect, it } from "vitest";
import { PROJECT, useServer } from "../../test/fixture.ts";
import type { Server } from "../index.ts";

const fx = useServer();
/** Far below the grace of five seconds, after which every connection is ended. */
const CLOSE_MS_MAX = 2_000;
const CLAIM = `/projects/${PROJECT}/executors/echo/claim`;

class RawClient {
  readonly socket: Socket;
  received = "";
  isClosed = false;
  constructor(server: Server) {
    this.socket = connect(Number(new URL(server.url).port), "127.0.0.1");
    this.socket.on("data", (data) => {
      this.received += data.toString("latin1");
    });
    this.socket.on("error", () => undefined);
    this.socket.on("close", () => {
      this.isClosed = true;
    });
  }

  write(...lines: string[]): void {
    this.socket.write(lines.join("\r\n"));
  }

  head(path: string, ...headers: string[]): void {
    this.write(
      `POST ${path} HTTP/1.1`,
      "Host: localhost",
      `Authorization: Bearer ${fx.keys.executor}`,
      ...headers,
      "",
      "",
    );
  }

  closed(): Promise<true> {
    return waitFor(() => this.isClosed || null, { what: `the end of the connection; received ${this.received}` });
  }

  async answered(status: number): Promise<void> {
    await waitFor(() => this.received.includes("\r\n\r\n"), { what: "an answer" });
    expect(this.received.split("\r\n")[0]).toContain(String(status));
  }
}

describe("a body over a socket", () => {
  it("H4: that says it is too large is refused before it is sent, and the connection ends", async () => {
    const client = new RawClient(fx.server);
    client.head(CLAIM, "Content-Type: application/json", `Content-Length: ${HTTP_BODY_BYTES_MAX + 1}`);
    await client.answered(413);
    client.socket.end();
    await client.closed();
    expect(client.received).toMatch(/connection: close/i);
    expect(client.received).toContain("payload_too_large");
  });

  it("H4: that never ends is cut off at the limit", async () => {
    const client = new RawClient(fx.server);
    client.head(CLAIM, "Content-Type: application/json", "Transfer-Encoding: chunked");
    const chunk = `10000\r\n${"x".repeat(0x10000)}\r\n`;
    let sent = 0;
    const more = () => {
      while (!client.isClosed && client.socket.write(chunk)) sent += 1;
    };
    client.socket.on("drain", more);
    more();
    await client.answered(413);
    await fx.clock.advance(2_000);
    await client.closed();
    expect(sent).toBeGreaterThan(HTTP_BODY_BYTES_MAX / 0x10000 - 1);
  });

  it("H4: that is shorter than it says is not waited for any longer than a slow client is", async () => {
    const server = await fx.another({ limits: { headersTimeoutMs: 200, requestTimeoutMs: 300, timeoutCheckMs: 50 } });
    const client = new RawClient(server);
    client.head(CLAIM, "Content-Type: application/json", "Content-Length: 50");
    client.socket.write("{");
    await client.answered(408);
    await client.closed();
    await server.close();
  });

  it("H4: that is not read, because the key is wrong, ends the connection too", async () => {
    const client = new RawClient(fx.server);
    client.write(`POST ${CLAIM} HTTP/1.1`, "Host: localhost", "Transfer-Encoding: chunked", "", "");
    await client.answered(401);
    await fx.clock.advance(2_000);
    await client.closed();
  });

  it("H4: that is too large does not keep an ordinary client from reading why", async () => {
    for (let n = 0; n < 5; n++) {
      const response = await fetch(`${fx.server.url}${CLAIM}`, {
        method: "POST",
        headers: { authorization: `Bearer ${fx.keys.executor}`, "content-type": "application/json" },
        body: "x".repeat(4 * HTTP_BODY_BYTES_MAX),
      });
      expect([response.status, response.headers.get("connection")]).toEqual([413, "close"]);
      await response.text();
    }
  });

  it("H6: that is a compressed bomb is refused unread", async () => {
    const client = new RawClient(fx.server);
    const bomb = gzipSync(Buffer.alloc(32 * HTTP_BODY_BYTES_MAX));
    expect(bomb.length, "small enough to be read, were it not a bomb").toBeLessThan(HTTP_BODY_BYTES_MAX / 4);
    // One byte is never sent: a body that has come whole would leave the connection as it was.
    const length = `Content-Length: ${bomb.length + 1}`;
    client.head(CLAIM, "Content-Type: application/json", "Content-Encoding: gzip", length);
    client.socket.write(bomb);
    await client.answered(413);
    await fx.clock.advance(2_000);
    await client.closed();
  });
});

describe("a client over a socket", () => {
  it("that does nothing wrong keeps its connection", async () => {
    const client = new RawClient(fx.server);
    for (const n of [1, 2, 3]) {
      client.head(CLAIM, "Content-Type: application/json", "Content-Length: 2");
      client.socket.write("{}");
      await waitFor(() => client.received.split('{"calls":[]}').length === n + 1, { what: `answer ${n}` });
    }
    expect(client.received).not.toMatch(/connection: close/i);
    expect(client.isClosed).toBe(false);
    client.socket.end();
    await client.closed();
  });

  it("H18: that sends its headers byte by byte is closed, and so is one that sends nothing", async () => {
    const server = await fx.another({ limits: { headersTimeoutMs: 400, requestTimeoutMs: 500, timeoutCheckMs: 50 } });
    const slow = new RawClient(server);
    const silent = new RawClient(server);
    const head = `POST / HTTP/1.1\r\nHost: localhost\r\nX-A: ${"a".repeat(10_000)}`;
    let sent = 0;
    // A byte comes every few milliseconds until the server has had enough of it.
    const drip = setInterval(() => {
      if (slow.received === "" && !slow.isClosed) slow.socket.write(head.charAt(sent++));
    }, 10);
    await Promise.all([slow.closed(), silent.closed()]);
    clearInterval(drip);
    expect(slow.received).toContain("408");
    expect(sent, "bytes that came one by one").toBeGreaterThan(3);
    await server.close();
  });

  for (const path of [
    "/projects/../tools",
    "/projects/%2e%2e/tools",
    "/projects/.%2e/tools",
    "/projects/p1/tools/..%2f..",
  ]) {
    it(`H10: that writes ${path} as it is gets invalid_id`, async () => {
      const client = new RawClient(fx.server);
      client.write(
        `GET ${path} HTTP/1.1`,
        "Host: localhost",
        `Authorization: Bearer ${fx.keys.admin}`,
        "Connection: close",
        "",
        "",
      );
      await client.answered(400);
      expect(client.received).toContain("invalid_id");
      await client.closed();
    });
  }

  for (const [what, line] of [
    ["a bare carriage return in a value", "X-A: a\rb"],
    ["a folded line", "X-A: a\r\n b"],
    ["a NUL in a value", "X-A: a\0b"],
    ["a space in a name", "X A: b"],
  ] as const) {
    it(`H21: that sends ${what} is answered 400`, async () => {
      const client = new RawClient(fx.server);
      client.write("GET /health HTTP/1.1", "Host: localhost", line, "", "");
      await client.answered(400);
      expect(client.received).toContain("application/problem+json");
      await client.closed();
    });
  }

  it("H16: that names no host, or two, is answered 400", async () => {
    const none = new RawClient(fx.server);
    none.write("GET /health HTTP/1.1", "", "");
    await none.answered(400);
    expect(none.received).toContain('"error_code":"bad_request"');
    const two = new RawClient(fx.server);
    two.write("GET /health HTTP/1.1", "Host: localhost", "Host: evil.example", "Connection: close", "", "");
    await two.answered(400);
    await Promise.all([none.closed(), two.closed()]);
  });

  it("with an unknown expectation is answered as if it did not, and as a problem where it is refused", async () => {
    const client = new RawClient(fx.server);
    client.write("GET /health/live HTTP/1.1", "Host: localhost", "Expect: miracles", "", "");
    await client.answered(200);
    const refused = new RawClient(fx.server);
    refused.write("GET /projects HTTP/1.1", "Host: localhost", "Expect:", "", "");
    await refused.answered(401);
    await waitFor(() => refused.received.includes('"error_code":"unauthenticated"') || null, { what: "a problem" });
    for (const { socket } of [client, refused]) socket.end();
    await Promise.all([client.closed(), refused.closed()]);
  });

  it("that sends 20 KiB of headers is answered 431", async () => {
    const client = new RawClient(fx.server);
    client.write("GET /health HTTP/1.1", "Host: localhost", `X-A: ${"a".repeat(20_000)}`, "", "");
    await client.answered(431);
    await client.closed();
  });
});

describe("closing", () => {
  it("does not wait for a connection that was opened in advance and never brought a request", async () => {
    const client = new RawClient(fx.server);
    await waitFor(() => client.socket.readyState === "open", { what: "the connection" });
    // The server has accepted it once it has answered another client.
    expect((await fetch(`${fx.server.url}/health/live`)).status).toBe(200);
    const started = performance.now();
    await fx.server.close();
    await client.closed();
    expect(performance.now() - started).toBeLessThan(CLOSE_MS_MAX);
  });

  it("answers a waiting claim at once, and takes no new request", async () => {
    let looks = 0;
    const claimCalls = async (request: Parameters<typeof fx.kernel.claimCalls>[0]) => {
      const calls = await fx.kernel.claimCalls(request);
      looks += 1;
      return calls;
    };
    const server = await fx.another({ kernel: { ...fx.kernel, claimCalls } });
    const waiting = fetch(`${server.url}${CLAIM}`, {
      method: "POST",
      headers: { authorization: `Bearer ${fx.keys.executor}`, "content-type": "application/json" },
      body: JSON.stringify({ wait_ms: 30_000 }),
    });
    await waitFor(() => looks === 1, { what: "a claim that waits" });
    await Promise.all([server.close(), server.close()]);
    const response = await waiting;
    expect([response.status, await response.json()]).toEqual([200, { calls: [] }]);
    await expect(fetch(`${server.url}/health`)).rejects.toThrow();
  });
});
