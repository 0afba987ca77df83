// Health of a process: answered without a key, at any rate of requests.

import { describe, expect, it } from "vitest";
import { useServer } from "../../test/fixture.ts";
import type { Health } from "../ports.ts";

const fx = useServer();
const PATHS = ["/health", "/health/live", "/health/ready"];

async function served(health: () => Promise<Health>, statuses: Record<string, unknown>): Promise<void> {
  const server = await fx.another({ ports: { health } });
  const seen: Record<string, unknown> = {};
  for (const path of PATHS) {
    const { status, body } = await fx.send("GET", path, {}, server);
    seen[path] = [status, body.status];
  }
  expect(seen).toEqual(statuses);
  await server.close();
}

describe("health", () => {
  it("is ok without a key, and without anything to check", async () => {
    for (const path of PATHS) {
      const { status, body } = await fx.send("GET", path);
      expect([status, body.status]).toEqual([200, "ok"]);
    }
  });

  it("degraded still takes requests; unready does not, and lives", async () => {
    const bus = { name: "bus", status: "degraded", says: "the broker is away; the sweeper rings" } as const;
    await served(async () => ({ status: "degraded", checks: [bus] }), {
      "/health": [200, "degraded"],
      "/health/live": [200, "ok"],
      "/health/ready": [200, "degraded"],
    });
    const store = { name: "store", status: "unready", says: "the database is away" } as const;
    await served(async () => ({ status: "unready", checks: [store] }), {
      "/health": [503, "unready"],
      "/health/live": [200, "ok"],
      "/health/ready": [503, "unready"],
    });
  });

  it("whose checks fail is unready, and says nothing of the fault", async () => {
    const server = await fx.another({
      ports: {
        async health() {
          throw new Error("connect ECONNREFUSED postgres://tess:secret@10.0.0.1");
        },
      },
    });
    const answer = await fx.send("GET", "/health", {}, server);
    expect(answer.status).toBe(503);
    expect(answer.text).not.toMatch(/secret|10\.0|ECONN/);
    await server.close();
  });

  it("is looked at once in a second, however many ask", async () => {
    let looks = 0;
    const server = await fx.another({
      ports: {
        async health() {
          looks += 1;
          return { status: "ok", checks: [] };
        },
        version: "1.2.3",
      },
    });
    const ask = () => fx.send("GET", "/health", {}, server);
    await Promise.all(Array.from({ length: 20 }, ask));
    expect(looks).toBe(1);
    await fx.clock.advance(1_000);
    expect((await ask()).body).toEqual({ status: "ok", checks: [], version: "1.2.3" });
    expect(looks).toBe(2);
    await server.close();
  });
});
