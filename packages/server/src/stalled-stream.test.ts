import { connect } from "node:net";
import { SeededIds, VirtualClock, waitFor } from "@tessera/testkit";
import { afterEach, describe, expect, it } from "vitest";
import { buildApp } from "./build-app.ts";
import { createHostGuard } from "./host-guard.ts";
import type { RouteSpec } from "./route-spec.ts";
import { SERVER_LIMITS } from "./server-limits.ts";
import { STALL_MS } from "./stalled-stream.ts";

const clock = new VirtualClock();
const PIECE = "x".repeat(64 * 1024);
let pulled = 0;
let hasEnded = false;

async function* endless(): AsyncGenerator<string> {
  try {
    for (;;) {
      pulled += 1;
      yield PIECE;
      await new Promise((resolve) => setImmediate(resolve));
    }
  } finally {
    hasEnded = true;
  }
}

const route: RouteSpec = {
  ...{ id: "getX", tag: "turns", summary: "Get x.", method: "GET", path: "/x", roles: ["admin"] },
  ...{ answers: { 200: null }, answerType: "text/event-stream" },
  handle: async () => ({ status: 200, stream: endless() }),
};

async function open() {
  pulled = 0;
  hasEnded = false;
  const app = buildApp({
    ...{ clock, ids: new SeededIds(1), routes: [route], hosts: createHostGuard("127.0.0.1"), limits: SERVER_LIMITS },
    access: {
      admitAddress: () => undefined,
      admit: async () => ({ key_id: "k", role: "admin", project_id: null, targets: [] }),
      isStillGood: async () => true,
    },
    closing: new AbortController().signal,
    onWarning: () => undefined,
  });
  await app.listen({ host: "127.0.0.1", port: 0 });
  const address = app.server.address();
  if (address === null || typeof address === "string") throw new Error("no port");
  const client = connect(address.port, "127.0.0.1");
  client.on("error", () => undefined);
  client.write("GET /x HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n");
  closers.push(async () => {
    client.destroy();
    await app.close();
  });
  return client;
}
const closers: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0)) await close();
});

/** Nothing more was pulled for a while: what lies between the two ends is full. */
const isStuck = () => {
  let before = -1;
  return waitFor(
    () => {
      const isSame = pulled > 1 && pulled === before;
      before = pulled;
      return isSame;
    },
    { what: "a stream that is stuck", intervalMs: 100 },
  );
};

describe("a stream", () => {
  it("that its client does not read is not made any further, and is cut after a while", async () => {
    const client = await open();
    client.pause();
    await isStuck();
    expect(hasEnded).toBe(false);
    await clock.advance(2 * STALL_MS);
    await waitFor(() => hasEnded, { what: "the end of the stream" });
  });

  it("that is read, however slowly, goes on", async () => {
    const client = await open();
    client.pause();
    for (let n = 0; n < 3; n += 1) {
      await isStuck();
      await clock.advance(STALL_MS);
      const before = pulled;
      client.resume();
      await waitFor(() => pulled > before + 20, { what: "more of the stream" });
      client.pause();
    }
    expect(hasEnded).toBe(false);
  });
});
