// What doctor says about things that are and are not as they should be.

import { once } from "node:events";
import { createServer as createHttpServer } from "node:http";
import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { checkBroker, greetingChecks, storeChecks } from "./broker.ts";
import { checkNode, checkPlatform, checkPort } from "./machine.ts";
import { checkServer } from "./server.ts";
import { executorChecks, keyChecks, workerChecks } from "./work.ts";

const GREETING = {
  version: "2.12.4",
  jetstream: true,
  authRequired: true,
  tlsRequired: false,
  refusal: null,
  timeMs: null,
  isStreamFull: false,
};
const servers: Server[] = [];
const sockets: Socket[] = [];
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  for (const server of servers.splice(0)) await new Promise((resolve) => server.close(resolve));
});

async function listen(server: Server): Promise<number> {
  servers.push(server);
  server.on("connection", (socket: Socket) => sockets.push(socket));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return (server.address() as AddressInfo).port;
}

const statuses = (checks: readonly { name: string; status: string }[]) =>
  Object.fromEntries(checks.map(({ name, status }) => [name, status]));

describe("the machine", () => {
  it.each([
    ["20.9.0", "fail", "configuration"],
    ["22.17.9", "fail", "configuration"],
    ["22.18.0", "warn", null],
    ["24.0.0", "ok", null],
  ])("with Node %s is %s", (version, status, fault) => {
    expect(checkNode(version, "/bin/node")).toMatchObject({ status, fault });
  });

  it("of a kind that was not tested is named", () => {
    expect(checkPlatform("sunos")).toMatchObject({ status: "warn" });
    expect(checkPlatform("linux")).toMatchObject({ status: "ok" });
  });
});

describe("the port", () => {
  it("is free, or taken by a Tessera, by another server, or by one that does not speak HTTP", async () => {
    const health = (status: string) =>
      createHttpServer((_, answer) =>
        answer.setHeader("Content-Type", "application/json").end(JSON.stringify({ status })),
      );
    const tessera = await listen(health("ok"));
    expect(await checkPort("127.0.0.1", tessera)).toMatchObject({
      status: "warn",
      fix: expect.stringContaining("--url"),
    });
    const other = await listen(health("up"));
    expect(await checkPort("127.0.0.1", other)).toMatchObject({ status: "fail", fault: "configuration" });
    const closes = await listen(createServer((socket) => socket.destroy()));
    expect((await checkPort("127.0.0.1", closes)).found).toContain("does not answer HTTP");
    expect(await checkPort("127.0.0.1", 0)).toMatchObject({ status: "ok" });
  });
});

describe("a server", () => {
  it("that is away is unreachable; one that does not know the key is a matter of configuration", async () => {
    expect(await checkServer("http://127.0.0.1:1", "k", "default")).toMatchObject([{ fault: "unreachable" }]);
    const port = await listen(
      createHttpServer((request, answer) => {
        if (request.url === "/health")
          return answer.end(
            JSON.stringify({ status: "degraded", checks: [{ status: "degraded", says: "the bus is gone" }] }),
          );
        answer.statusCode = request.headers.authorization === "Bearer right" ? 200 : 401;
        return answer.end("{}");
      }),
    );
    const url = `http://127.0.0.1:${port}`;
    const wrong = await checkServer(url, "wrong", "default");
    expect(wrong).toMatchObject([
      { status: "warn", found: expect.stringContaining("the bus is gone") },
      { fault: "configuration" },
    ]);
    expect(statuses(await checkServer(url, "right", "default"))).toMatchObject({ key: "ok" });
    expect(statuses(await checkServer(url, undefined, "default"))).toMatchObject({ key: "warn" });
  });

  it("behind a path of a proxy is looked for there, with a slash at the end or without", async () => {
    const asked: (string | undefined)[] = [];
    const port = await listen(
      createHttpServer((request, answer) => {
        asked.push(request.url);
        answer.end(JSON.stringify({ status: "ok", checks: [] }));
      }),
    );
    for (const end of ["", "/"]) await checkServer(`http://127.0.0.1:${port}/behind${end}`, "k", "default");
    expect(new Set(asked)).toEqual(new Set(["/behind/health", "/behind/projects/default/turns?limit=1"]));
  });
});

describe("a key", () => {
  it.each([
    [200, "ok", "may read"],
    [401, "fail", "does not know the key"],
    [403, "warn", "may not read project default"],
    [503, "fail", "could not be tried: the server answered 503"],
  ])("that a server answers with %i is %s: %s", async (status, expected, says) => {
    const port = await listen(
      createHttpServer((request, answer) => {
        answer.statusCode = request.url === "/health" ? 200 : status;
        answer.end(JSON.stringify({ status: "ok", checks: [] }));
      }),
    );
    const checks = await checkServer(`http://127.0.0.1:${port}`, "k", "default");
    expect(checks.find(({ name }) => name === "key")).toMatchObject({
      status: expected,
      found: expect.stringContaining(says),
      fault: status === 503 ? "unreachable" : status === 401 ? "configuration" : null,
    });
  });
});

describe("the broker", () => {
  const vulnerable = ["warn", "CVE-2025-30215"] as const;
  const dated = ["ok", "use 2.12.3 or newer"] as const;
  it.each([
    ["2.9.10", ...vulnerable],
    ["2.10.26", ...vulnerable],
    ["2.10.27", ...dated],
    ["2.11.0", ...vulnerable],
    ["2.12.2", ...dated],
    ["2.12.3", "ok", "NATS 2.12.3"],
    ["3.0.0-beta", "ok", "NATS 3.0.0"],
  ])("of version %s is %s: %s", (version, status, says) => {
    const [check] = greetingChecks({ ...GREETING, version }, "h:4222", true);
    expect(check).toMatchObject({ status, found: expect.stringContaining(says) });
  });

  it("without JetStream fails; one that lets everybody in, or whose clock is wrong, is a warning", () => {
    const found = greetingChecks({ ...GREETING, jetstream: false, authRequired: false, timeMs: 0 }, "h:4222", false);
    expect(statuses(found)).toEqual({ nats: "ok", jetstream: "fail", login: "warn", clock: "warn" });
  });

  it("whose stream of commands is full is a warning with what to do", () => {
    const found = greetingChecks({ ...GREETING, isStreamFull: true }, "h:4222", true);
    expect(statuses(found)).toMatchObject({ streams: "warn" });
  });

  it("that refuses the user, or is none, is told", async () => {
    const port = await listen(
      createServer((socket) => {
        socket.write('INFO {"version":"2.12.4","jetstream":true,"auth_required":true}\r\n');
        socket.on("data", () => socket.end("-ERR 'Authorization Violation'\r\n"));
      }),
    );
    const refused = await checkBroker(`nats://me:secret@127.0.0.1:${port}`, { project: "default", storeId: null });
    expect(refused.at(-1)).toMatchObject({ name: "login", fault: "configuration" });
    expect(JSON.stringify(refused)).not.toContain("secret");
    expect(await checkBroker("nats://127.0.0.1:1", { project: "default", storeId: null })).toMatchObject([
      { fault: "unreachable" },
    ]);
  });
});

describe("the work", () => {
  it("that no executor takes is named by its target", () => {
    expect(executorChecks([])).toMatchObject([{ status: "ok" }]);
    const stuck = [{ target_subject: "cg.v1r4.{project_id}.{channel_id}.cmd.tool.words.count", calls: 2, seconds: 40 }];
    expect(executorChecks(stuck)).toMatchObject([{ status: "warn", found: expect.stringContaining("target words") }]);
  });

  it("that waits for a worker of which none is alive is named, too", () => {
    const waiting = [{ worker_target: "default", turns: 1 }];
    expect(workerChecks([], [])).toMatchObject([{ status: "ok" }]);
    expect(workerChecks([{ worker_target: "default", alive: 2 }], waiting)).toMatchObject([{ status: "ok" }]);
    expect(workerChecks([], waiting)).toMatchObject([
      { status: "warn", fix: expect.stringContaining("--role worker") },
    ]);
  });

  it("has keys that end soon", () => {
    const key = { key_id: "k1", role: "admin", is_ending: false, expires_at: null };
    expect(keyChecks([])).toMatchObject([{ status: "ok" }]);
    expect(keyChecks([key])).toMatchObject([{ status: "ok", found: "1 stored (admin)" }]);
    const ending = { ...key, is_ending: true, expires_at: "2030-01-02T00:00:00Z" };
    expect(keyChecks([ending])).toMatchObject([{ status: "warn", found: expect.stringContaining("k1 on 2030-01-02") }]);
  });
});

describe("the durables of a broker", () => {
  const ours = `store_${"a".repeat(32)}`;
  const theirs = `store_${"b".repeat(32)}`;

  it("are told with the store that they serve; another store's are a warning that says what this one does", () => {
    expect(storeChecks([{ durable: "d", storeId: ours }], ours)).toMatchObject([
      { status: "ok", found: `d serves ${ours}: this store` },
    ]);
    expect(storeChecks([{ durable: "d", storeId: theirs }], ours)).toMatchObject([
      { status: "warn", found: `d serves ${theirs}, and this is ${ours}: it uses a name of its own` },
    ]);
    expect(storeChecks([{ durable: "d", storeId: null }], ours)).toMatchObject([{ status: "ok" }]);
    expect(storeChecks([{ durable: "d", storeId: theirs }], null)).toMatchObject([{ status: "ok" }]);
  });
});
