// Connections over real sockets: answers that are not read, addresses that take too many, pipelining. Time is the test's.

import { EventEmitter } from "node:events";
import type { Server } from "node:http";
import { connect, type Socket } from "node:net";
import { SeededIds, VirtualClock, waitFor } from "@tessera/testkit";
import type { FastifyInstance } from "fastify";
import { afterEach, describe, expect, it } from "vitest";
import { buildApp } from "../build-app.ts";
import type { RouteSpec } from "../routing/route-spec.ts";
import { type BytesInFlight, createBytesInFlight, WAIT_MS } from "./bytes-in-flight.ts";
import { createClientAddresses } from "./client-address.ts";
import { PIPELINED_MAX, SLOWEST_BYTES_PER_S, STALL_MS, watchConnections } from "./connections.ts";
import { createHostGuard } from "./host-guard.ts";
import { SERVER_LIMITS, type ServerLimits } from "./server-limits.ts";

const MIB = 1024 * 1024;
/** More than the buffers of both ends of a connection on loopback take. */
const LARGE = "x".repeat(16 * MIB);
const PIECE = "x".repeat(64 * 1024);

interface World {
  readonly app: FastifyInstance;
  readonly port: number;
  readonly clock: VirtualClock;
  readonly bytes: BytesInFlight;
  /** Pieces of the stream that were asked for, streams that ended, large answers that were made, understated ones that were asked for. */
  readonly seen: { pulled: number; ended: number; made: number; asked: number };
  /** Answers the slow and the understated requests. */
  endSlow(): void;
}

const closers: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

async function open(limits: Partial<ServerLimits> = {}, proxies: readonly string[] = []): Promise<World> {
  const clock = new VirtualClock();
  const seen = { pulled: 0, ended: 0, made: 0, asked: 0 };
  const gate = Promise.withResolvers<void>();
  async function* endless(): AsyncGenerator<string> {
    try {
      for (;;) {
        seen.pulled += 1;
        yield PIECE;
        await new Promise((resolve) => setImmediate(resolve));
      }
    } finally {
      seen.ended += 1;
    }
  }
  const common = { tag: "turns", summary: "Get x.", method: "GET", roles: ["admin"], answers: { 200: null } } as const;
  const routes: RouteSpec[] = [
    {
      ...{ ...common, id: "getStream", path: "/stream", answerType: "text/event-stream" },
      handle: async () => ({ status: 200, stream: endless() }),
    },
    {
      ...{ ...common, id: "getLarge", path: "/large", answerBytes: LARGE.length },
      async handle() {
        seen.made += 1;
        return { status: 200, body: LARGE, headers: { "content-type": "text/plain" } };
      },
    },
    {
      ...{ ...common, id: "listLarge", path: "/understated", roles: ["viewer", "admin"] },
      async handle() {
        seen.asked += 1;
        await gate.promise;
        return { status: 200, body: LARGE, headers: { "content-type": "text/plain" } };
      },
    },
    { ...{ ...common, id: "getSmall", path: "/small" }, handle: async () => ({ status: 200, body: { is: "small" } }) },
    {
      ...{ ...common, id: "getSlow", path: "/slow" },
      async handle(request) {
        const stopped = request.stopped();
        const isStopped = new Promise((resolve) => stopped.addEventListener("abort", resolve));
        if (!stopped.aborted) await Promise.race([isStopped, gate.promise]);
        seen.ended += 1;
        return { status: 200, body: {} };
      },
    },
  ];
  // What is cut here is cut by what is tested.
  const all = { ...SERVER_LIMITS, headersTimeoutMs: 120_000, requestTimeoutMs: 120_000, ...limits };
  const bytes = createBytesInFlight(clock, all);
  const app = buildApp({
    ...{ clock, ids: new SeededIds(1), routes, hosts: createHostGuard("127.0.0.1"), limits: all, bytes },
    addresses: createClientAddresses(proxies),
    access: {
      admitAddress: () => undefined,
      async admit(_spec, { authorization }) {
        const key_id = authorization ?? "k";
        return { key_id, role: "admin", project_id: key_id.split("/")[1] ?? null, targets: [] };
      },
      admitBody: () => undefined,
      isStillGood: async () => true,
    },
    closing: new AbortController().signal,
    onWarning: () => undefined,
  });
  await app.listen({ host: "127.0.0.1", port: 0 });
  const address = app.server.address();
  if (address === null || typeof address === "string") throw new Error("no port");
  closers.push(async () => {
    app.server.closeAllConnections();
    await app.close();
  });
  return { app, port: address.port, clock, bytes, seen, endSlow: gate.resolve };
}

/** A client that reads nothing until it is told to. */
function dial({ port }: World, localAddress = "127.0.0.1"): Socket & { isClosed?: boolean } {
  const client: Socket & { isClosed?: boolean } = connect({ port, host: "127.0.0.1", localAddress });
  client.pause();
  client.on("error", () => undefined);
  client.on("close", () => {
    client.isClosed = true;
  });
  closers.push(() => void client.destroy());
  return client;
}

const get = (path: string, key = "k") => `GET ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: ${key}\r\n\r\n`;

function ask(world: World, path: string, key = "k"): Promise<Response> {
  return fetch(`http://127.0.0.1:${world.port}${path}`, { headers: { authorization: key, connection: "close" } });
}

const connectionsOf = ({ app }: World): Promise<number> =>
  new Promise((resolve, reject) => {
    app.server.getConnections((error, count) => (error === null ? resolve(count) : reject(error)));
  });
const connectionsAre = (world: World, count: number) =>
  waitFor(async () => (await connectionsOf(world)) === count, { what: `${count} connections` });

/** Nothing more was pulled for a while: what lies between the two ends is full. */
function isStuck({ seen }: World): Promise<unknown> {
  let before = -1;
  return waitFor(
    () => {
      const isSame = seen.pulled > 1 && seen.pulled === before;
      before = seen.pulled;
      return isSame;
    },
    { what: "a stream that is stuck", intervalMs: 100 },
  );
}

/** Past the first look that sees it wait, and the one that sees it waited too long. */
const tooLong = async ({ clock }: World) => await clock.advance(STALL_MS + 10_000);

describe("a stream", () => {
  it("that its client does not read is not made any further, and is cut after a while", async () => {
    const world = await open();
    dial(world).write(get("/stream"));
    await isStuck(world);
    expect(world.seen.ended).toBe(0);
    await tooLong(world);
    await waitFor(() => world.seen.ended === 1, { what: "the end of the stream" });
    await connectionsAre(world, 0);
    expect(world.bytes.held()).toBe(0);
  });

  it("that is read goes on, with pauses that are shorter than the limit", async () => {
    const world = await open();
    const client = dial(world);
    client.write(get("/stream"));
    for (let n = 0; n < 3; n += 1) {
      await isStuck(world);
      await world.clock.advance(STALL_MS - 5_000);
      const before = world.seen.pulled;
      client.resume();
      await waitFor(() => world.seen.pulled > before + 20, { what: "more of the stream" });
      client.pause();
    }
    expect(world.seen.ended).toBe(0);
  });

  it("behind another request on its connection ends when the connection does", async () => {
    const world = await open();
    const client = dial(world);
    client.write(get("/slow") + get("/stream"));
    await waitFor(() => world.seen.pulled > 0, { what: "the stream to begin" });
    client.destroy();
    await waitFor(() => world.seen.ended === 2, { what: "the end of both" });
    expect(world.bytes.held()).toBe(0);
  });
});

describe("an answer that is not read", () => {
  it("is cut, and gives its memory back", async () => {
    const world = await open();
    dial(world).write(get("/large"));
    await waitFor(() => world.seen.made === 1, { what: "the answer" });
    await waitFor(() => world.bytes.held() === LARGE.length, { what: "its bytes to count" });
    await tooLong(world);
    await connectionsAre(world, 0);
    await waitFor(() => world.bytes.held() === 0, { what: "no bytes" });
  });

  it("is cut also when its client takes a little now and then", async () => {
    const world = await open();
    const client = dial(world);
    client.on("readable", () => undefined); // read by the test
    client.write(get("/large"));
    await waitFor(() => world.seen.made === 1, { what: "the answer" });
    for (let n = 0; n < 20 && (await connectionsOf(world)) > 0; n += 1) {
      await waitFor(() => client.readableLength > 1_024 || client.isClosed === true, { what: "something to read" });
      client.read(1_024);
      await world.clock.advance(5_000);
    }
    await connectionsAre(world, 0);
  });

  it.each([
    { bytesPerS: SLOWEST_BYTES_PER_S - 1_024, isCut: true },
    { bytesPerS: SLOWEST_BYTES_PER_S + 1_024, isCut: false },
  ])("of which $bytesPerS bytes are taken in a second is cut: $isCut", async ({ bytesPerS, isCut }) => {
    const clock = new VirtualClock();
    const server = new EventEmitter();
    const watch = watchConnections(server as Server, {
      ...{ clock, addresses: createClientAddresses(), limits: SERVER_LIMITS },
    });
    closers.push(() => watch.close());
    const socket = Object.assign(new EventEmitter(), {
      ...{ remoteAddress: "192.0.2.1", bytesWritten: LARGE.length, writableLength: LARGE.length, destroyed: false },
      destroy() {
        this.destroyed = true;
      },
    });
    server.emit("connection", socket);
    for (let s = 0; s < 5 * (STALL_MS / 1_000) && !socket.destroyed; s += 1) {
      await clock.advance(1_000);
      socket.writableLength -= bytesPerS;
    }
    expect(socket.destroyed).toBe(isCut);
  });

  it("and is taken steadily goes through whole", async () => {
    const world = await open();
    const client = dial(world);
    client.on("readable", () => undefined); // read by the test
    client.write(get("/large"));
    let taken = 0;
    while (taken < LARGE.length) {
      await waitFor(() => client.readableLength > 0 || client.isClosed === true, { what: "more", intervalMs: 1 });
      expect(client.isClosed).toBeUndefined();
      for (let piece = client.read(); piece !== null; piece = client.read()) taken += piece.length;
      await world.clock.advance(1_000);
    }
    await waitFor(() => world.bytes.held() === 0, { what: "no bytes" });
    expect(await connectionsOf(world)).toBe(1);
  });

  it("is made only as often as the bytes of its key allow; others are served, and so is the key when it reads", async () => {
    const bytesPerKeyMax = 3 * LARGE.length;
    const world = await open({ bytesPerKeyMax });
    const clients = Array.from({ length: 20 }, () => dial(world));
    for (const client of clients) client.write(get("/large", "viewer/p1"));
    await waitFor(() => world.seen.made === 3, { what: "three answers" });
    await waitFor(() => world.clock.pending > 1, { what: "the others to wait" });
    expect(world.bytes.held()).toBeLessThanOrEqual(bytesPerKeyMax);
    await waitFor(async () => (await connectionsOf(world)) === 20, { what: "all connections" });
    const refused = ask(world, "/large", "viewer/p1");
    await waitFor(
      async () => {
        await world.clock.advance(WAIT_MS);
        return await Promise.race([refused, null]);
      },
      { what: "a refusal" },
    );
    const { status, headers } = await refused;
    expect([status, headers.get("retry-after")]).toEqual([429, "2"]);
    expect(await (await refused).json()).toMatchObject({ error_code: "rate_limited", error_detail: { full: "key" } });
    expect(world.seen.made).toBe(3);
    expect((await (await ask(world, "/large", "viewer/p2")).text()).length).toBe(LARGE.length);
    for (const client of clients) client.resume();
    await waitFor(() => world.bytes.held() === 0, { what: "everything to be read" });
    expect((await ask(world, "/small", "viewer/p1")).status).toBe(200);
  });

  it("whose size its route did not say is refused where there is no room for it, and the bound of its key holds", async () => {
    const bytesPerKeyMax = 3.5 * LARGE.length;
    const world = await open({ bytesPerKeyMax });
    const clients = Array.from({ length: 20 }, () => dial(world));
    const statuses: string[] = [];
    let heldMax = 0;
    for (const client of clients) {
      client.once("data", (data) => {
        client.pause();
        heldMax = Math.max(heldMax, world.bytes.held());
        statuses.push(data.toString("latin1", 9, 12));
      });
      client.write(get("/understated", "viewer/p1"));
      client.resume();
    }
    await waitFor(() => world.seen.asked === 20, { what: "twenty requests" });
    world.endSlow();
    await waitFor(() => statuses.length === 20, { what: "twenty answers" });
    expect(statuses.filter((status) => status === "429")).toHaveLength(17);
    expect(heldMax).toBeLessThanOrEqual(bytesPerKeyMax);
    expect((await ask(world, "/small", "viewer/p2")).status).toBe(200);
    for (const client of clients) client.resume();
    await waitFor(() => world.bytes.held() === 0, { what: "everything to be read" });
    expect((await (await ask(world, "/understated", "viewer/p1")).text()).length).toBe(LARGE.length);
  });

  it("holds no more than the bound of all, whatever keys and projects ask, and leaves the reserve to newcomers", async () => {
    const world = await open({ bytesMax: 5 * LARGE.length, bytesPerAddressMax: 5 * LARGE.length });
    for (let n = 0; n < 12; n += 1) dial(world).write(get("/large", `k${n}/p${n % 2}`));
    await waitFor(() => world.seen.made === 4, { what: "four answers" });
    await waitFor(() => world.clock.pending > 8, { what: "the others to wait" });
    expect(world.bytes.held()).toBe(4 * LARGE.length);
    expect((await (await ask(world, "/large", "new/p9")).text()).length).toBe(LARGE.length);
    expect(world.seen.made).toBe(5);
  });
});

describe("requests that do not wait for answers", () => {
  it("are bounded on one connection, and the one too many ends it", async () => {
    const world = await open();
    const client = dial(world);
    let received = "";
    client.on("data", (data) => {
      received += data.toString("latin1");
    });
    client.resume();
    client.write(get("/slow") + get("/small").repeat(PIPELINED_MAX + 5));
    await waitFor(() => world.bytes.held() > 0, { what: "requests" });
    expect((await ask(world, "/small")).status).toBe(200);
    expect(received).toBe(""); // the first is still waiting: what follows it is not said yet
    world.endSlow();
    await waitFor(() => client.isClosed, { what: "the end of the connection" });
    const statuses = [...received.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => Number(status));
    expect(statuses).toEqual([...Array.from({ length: PIPELINED_MAX }, () => 200), 429]);
  });

  it("are cut off when they never end, though their refusals are not read", async () => {
    const world = await open();
    const client = dial(world);
    const some = get("/nothing/here").repeat(16);
    const more = () => {
      while (client.write(some));
    };
    client.on("drain", more);
    more();
    await waitFor(() => client.bytesWritten > PIPELINED_MAX * some.length, { what: "many requests" });
    await tooLong(world);
    await connectionsAre(world, 0);
  });
});

describe("connections of one address", () => {
  const idle = async (world: World, count: number, localAddress?: string) => {
    const clients = Array.from({ length: count }, () => dial(world, localAddress));
    for (const client of clients) client.resume();
    return clients;
  };

  it("that do nothing give way near the bound, and others are served", async () => {
    const world = await open({ connectionsMax: 40, connectionsPerAddressMax: 1_000 });
    const clients = await idle(world, 60, "127.0.0.7");
    await waitFor(() => clients.filter(({ isClosed }) => isClosed === true).length >= 22, { what: "some to be ended" });
    for (let n = 0; n < 30; n += 1) expect((await ask(world, "/small")).status).toBe(200);
    expect(await connectionsOf(world)).toBeLessThanOrEqual(40);
  });

  it("that brought a good key are ended after those that did not", async () => {
    const world = await open({ connectionsMax: 40 });
    const known = dial(world, "127.0.0.7");
    let received = "";
    known.on("data", (data) => {
      received += data.toString("latin1");
    });
    known.resume();
    known.write(get("/small"));
    await waitFor(() => received.includes("small"), { what: "an answer" });
    await idle(world, 60, "127.0.0.7");
    for (let n = 0; n < 10; n += 1) expect((await ask(world, "/small")).status).toBe(200);
    expect(known.isClosed).toBeUndefined();
    received = "";
    known.write(get("/small"));
    await waitFor(() => received.includes("small"), { what: "another answer on the same connection" });
  });

  it("are bounded, however busy they are; those of a trusted proxy only in all", async () => {
    for (const [proxies, served] of [
      [[], 5],
      [["127.0.0.0/8"], 8],
    ] as const) {
      const world = await open({ connectionsPerAddressMax: 5 }, proxies);
      const clients = await idle(world, 8, "127.0.0.7");
      for (const client of clients) client.write(get("/slow"));
      await waitFor(() => clients.filter(({ isClosed }) => isClosed === true).length === 8 - served, {
        what: "the surplus to be ended",
      });
      await connectionsAre(world, served);
      expect((await ask(world, "/small")).status).toBe(200);
    }
  });
});

it("a request without a connection, injected before the server closes, is answered after it has", async () => {
  const { app, seen, endSlow } = await open();
  const injected = app.inject({ url: "/understated", headers: { host: "127.0.0.1", authorization: "k" } });
  await waitFor(() => seen.asked === 1, { what: "the request to be at work" });
  const closing = app.close();
  await waitFor(() => !app.server.listening, { what: "the server to close" });
  endSlow();
  expect((await injected).statusCode).toBe(200);
  await closing;
});
