import { request } from "undici";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type Loopback, startLoopback } from "../../test/loopback.ts";
import { createGuardedAgent, type ResolvedAddress } from "./guarded-agent.ts";
import { isPublicAddress } from "./public-address.ts";

const LOOPBACK: ResolvedAddress = { address: "127.0.0.1", family: 4 };
const PUBLIC: ResolvedAddress = { address: "8.8.8.8", family: 4 };

let server: Loopback;
let hits = 0;

beforeEach(async () => {
  hits = 0;
  server = await startLoopback((_request, response) => {
    hits++;
    response.setHeader("connection", "close").end("secret");
  });
});
afterEach(() => server.close());

function get(url: string, agent: ReturnType<typeof createGuardedAgent>) {
  return request(url, { dispatcher: agent }).finally(() => agent.destroy());
}

describe("createGuardedAgent", () => {
  it.each(["127.0.0.1", "[::1]", "[::ffff:127.0.0.1]"])("does not dial the literal address %s", async (host) => {
    const agent = createGuardedAgent();
    await expect(get(`http://${host}:${server.port}/`, agent)).rejects.toMatchObject({ code: "url_not_allowed" });
    expect(hits).toBe(0);
  });

  it("does not dial a name that resolves inside", async () => {
    const agent = createGuardedAgent({ resolve: async () => [LOOPBACK] });
    await expect(get(`http://rebind.example:${server.port}/`, agent)).rejects.toMatchObject({
      code: "url_not_allowed",
    });
    expect(hits).toBe(0);
  });

  it("does not dial a name of which one address is inside, whatever their order", async () => {
    for (const addresses of [
      [PUBLIC, LOOPBACK],
      [LOOPBACK, PUBLIC],
    ]) {
      const agent = createGuardedAgent({ resolve: async () => addresses });
      await expect(get(`http://mixed.example:${server.port}/`, agent)).rejects.toMatchObject({
        code: "url_not_allowed",
      });
    }
    expect(hits).toBe(0);
  });

  it("asks the resolver once per dial and dials that answer, so that a rebinding resolver wins nothing", async () => {
    // The first answer is one the guard allows and the server listens on; every later one is inside and refused.
    const answers: ResolvedAddress[][] = [[{ address: "127.0.0.1", family: 4 }], [{ address: "127.0.0.2", family: 4 }]];
    const asked: string[] = [];
    const agent = createGuardedAgent({
      resolve: async (hostname) => {
        asked.push(hostname);
        return answers[Math.min(asked.length, answers.length) - 1] ?? [];
      },
      isAllowed: (address) => address === "127.0.0.1" || isPublicAddress(address),
    });
    const first = await request(`http://rebind.example:${server.port}/`, { dispatcher: agent });
    expect(await first.body.text()).toBe("secret");
    expect(asked).toHaveLength(1);

    const second = request(`http://rebind.example:${server.port}/`, { dispatcher: agent });
    await expect(second).rejects.toMatchObject({ code: "url_not_allowed" });
    expect(asked).toHaveLength(2);
    expect(hits).toBe(1);
    await agent.destroy();
  });

  it("says that a name without address was not found", async () => {
    const agent = createGuardedAgent({ resolve: async () => [] });
    await expect(get("http://nothing.example/", agent)).rejects.toMatchObject({ code: "ENOTFOUND" });
  });

  it("discloses nothing about the address it refused", async () => {
    const agent = createGuardedAgent({ resolve: async () => [{ address: "10.9.8.7", family: 4 }] });
    await expect(get("http://inside.example/", agent)).rejects.toThrowError(/^(?!.*10\.9\.8\.7).*not public/);
  });
});
