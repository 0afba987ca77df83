// GET …/events: what comes, what a client that comes back gets, how many may listen, and when it ends.

import { waitFor } from "@tessera/testkit";
import { afterEach, describe, expect, it } from "vitest";
import { type EventReader, readEvents } from "../../test/event-reader.ts";
import { OTHER, PROJECT, useServer } from "../../test/fixture.ts";
import type { Server } from "../index.ts";
import { HEARTBEAT_MS, KEY_CHECK_MS } from "./event-stream.ts";

const fx = useServer();
const EVENTS = `/projects/${PROJECT}/events`;
const readers: EventReader[] = [];
afterEach(() => {
  for (const reader of readers.splice(0)) reader.close();
});

async function listen(
  query = "",
  options: { key?: string; headers?: Readonly<Record<string, string>>; server?: Server } = {},
): Promise<EventReader> {
  const { key = "viewer", headers = {}, server = fx.server } = options;
  const reader = await readEvents(server, `${EVENTS}${query}`, { key: fx.keys[key] ?? "", headers });
  readers.push(reader);
  return reader;
}

/** Moves time until it holds: looks at the store, heartbeats and checks all go by the clock. */
const until = (holds: () => boolean) =>
  waitFor(
    async () => {
      await fx.clock.advance(250);
      return holds();
    },
    { what: "the stream to get there" },
  );
const seqs = (reader: EventReader) => reader.events.map(({ id }) => Number(id));
const turnsOf = (reader: EventReader) => new Set(reader.events.map(({ data }) => data.agent_turn_id));
const stored = async (after = 0) => (await fx.kernel.reads.eventsAfter(PROJECT, after)).map(({ seq }) => seq);

describe("the stream of events", () => {
  it("begins now, and carries each event of the store with its number and kind", async () => {
    await fx.suspended();
    const last = (await stored()).at(-1) ?? 0;
    const reader = await listen();
    expect(reader.status).toBe(200);
    expect(reader.headers.get("content-type")).toBe("text/event-stream; charset=utf-8");
    expect(reader.headers.get("cache-control")).toBe("no-store");
    const [call] = await fx.suspended();
    const expected = await stored(last);
    await until(() => reader.events.length >= expected.length);
    expect(seqs(reader)).toEqual(expected);
    expect(turnsOf(reader)).toEqual(new Set([call?.agent_turn_id]));
    const [first] = reader.events;
    const [row] = await fx.kernel.reads.eventsAfter(PROJECT, last, 1);
    expect(first).toEqual({ id: String(row?.seq), event: row?.kind, data: row });
    expect(reader.text()).toMatch(/^retry: \d+\n\n/);
  });

  it("tells the past from the beginning, or from where a client left off, without a gap and without a repetition", async () => {
    for (let n = 0; n < 3; n += 1) await fx.suspended();
    const all = await stored();
    const whole = await listen("?after=0");
    await until(() => whole.events.length >= all.length);
    expect(seqs(whole)).toEqual(all);
    whole.close();
    const middle = all[Math.floor(all.length / 2)] ?? 0;
    const resumed = await listen("?after=0", { headers: { "last-event-id": String(middle) } }); // the header counts
    const byQuery = await listen(`?after=${middle}`);
    await fx.suspended();
    const rest = await stored(middle);
    await until(() => resumed.events.length >= rest.length && byQuery.events.length >= rest.length);
    expect(seqs(resumed)).toEqual(rest);
    expect(seqs(byQuery)).toEqual(rest);
  });

  it("can be of one agent or of one turn", async () => {
    const [one] = await fx.suspended();
    const [two] = await fx.suspended();
    const byTurn = await listen(`?after=0&agent_turn_id=${one?.agent_turn_id}`);
    const byAgent = await listen(`?after=0&agent_id=${two?.agent_id}`);
    await until(() => byTurn.events.length > 0 && byAgent.events.length > 0);
    expect(turnsOf(byTurn)).toEqual(new Set([one?.agent_turn_id]));
    expect(turnsOf(byAgent)).toEqual(new Set([two?.agent_turn_id]));
  });

  it("is looked up once for all listeners of a project, and not at all without one", async () => {
    let looks = 0;
    const reads = {
      ...fx.kernel.reads,
      eventsAfter: (...order: Parameters<typeof fx.kernel.reads.eventsAfter>) => {
        looks += 1;
        return fx.kernel.reads.eventsAfter(...order);
      },
    };
    const server = await fx.another({ kernel: { ...fx.kernel, reads } });
    const listeners = await Promise.all(Array.from({ length: 8 }, () => listen("", { server })));
    const before = (await stored()).at(-1) ?? 0;
    // Each has read the past once, and found none.
    await waitFor(() => looks >= 8, { what: "every listener to have read the past" });
    looks = 0;
    await fx.clock.advance(2_500);
    expect(looks).toBeGreaterThan(5);
    expect(looks).toBeLessThan(15);
    await fx.suspended();
    const expected = await stored(before);
    await until(() => listeners.every(({ events }) => events.length >= expected.length));
    for (const listener of listeners) expect(seqs(listener)).toEqual(expected);
    for (const listener of listeners) listener.close();
    await Promise.all(listeners.map(({ ended }) => ended));
    await waitFor(
      async () => {
        looks = 0;
        await fx.clock.advance(1_000);
        return looks === 0;
      },
      { what: "the end of looking" },
    );
    await server.close();
  });

  it("shows that it is alive while nothing happens", async () => {
    const reader = await listen();
    await fx.clock.advance(HEARTBEAT_MS - 1_000);
    expect(reader.comments).toEqual([]);
    await until(() => reader.comments.length === 1);
  });

  it("goes on when the store was away for a moment", async () => {
    let isAway = false;
    const reads = {
      ...fx.kernel.reads,
      async eventsAfter(...order: Parameters<typeof fx.kernel.reads.eventsAfter>) {
        if (isAway) throw new Error("away");
        return await fx.kernel.reads.eventsAfter(...order);
      },
    };
    const server = await fx.another({ kernel: { ...fx.kernel, reads } });
    const reader = await listen("", { server });
    const last = (await stored()).at(-1) ?? 0;
    await until(() => true);
    isAway = true;
    await fx.suspended();
    await fx.clock.advance(1_000);
    isAway = false;
    const expected = await stored(last);
    await until(() => reader.events.length >= expected.length);
    expect(seqs(reader)).toEqual(expected);
    reader.close();
    await server.close();
  });

  it("ends when its key is revoked, and when the server closes", async () => {
    await fx.key("leaver", { role: "viewer", project_id: PROJECT });
    const server = await fx.another();
    const [leaving, staying] = [await listen("", { key: "leaver", server }), await listen("", { server })];
    let hasLeft = false;
    void leaving.ended.then(() => {
      hasLeft = true;
    });
    await fx.kernel.revokeApiKey({ key_id: fx.keyIds.leaver ?? "" });
    await fx.clock.advance(KEY_CHECK_MS);
    await until(() => hasLeft);
    await Promise.all([server.close(), staying.ended]);
  });

  it("is refused with a cursor or a filter that is none, in an unknown project, and to an executor", async () => {
    const ask = (url: string, key: string, headers = {}) => fx.send("GET", url, { key, headers });
    for (const query of ["after=-1", "after=x", "after=1.5", "agent_id=a.b", "agent_turn_id=", "kind=state"]) {
      expect((await ask(`${EVENTS}?${query}`, "viewer")).status, query).toBe(400);
    }
    expect((await ask(EVENTS, "viewer", { "last-event-id": "abc" })).status).toBe(400);
    expect((await ask("/projects/p_none/events", "admin")).status).toBe(404);
    expect((await ask(`/projects/${OTHER}/events`, "viewer")).status).toBe(404);
    expect((await ask(EVENTS, "executor")).status).toBe(403);
  });
});

describe("H17: too many streams", () => {
  it("of 10,000 opens the first hold, the rest is told 429, and everybody else is served", {
    timeout: 60_000,
  }, async () => {
    const server = await fx.another({ limits: { streamsMax: 7, streamsPerKeyMax: 4 } });
    const held = [];
    for (let n = 0; n < 4; n += 1) held.push(await listen("", { server }));
    expect(held.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
    const statuses = new Map<number, number>();
    for (let n = 0; n < 10_000; n += 1) {
      const { status } = await fx.send("GET", EVENTS, { key: "viewer" }, server);
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
    }
    expect([...statuses]).toEqual([[429, 10_000]]);
    const refused = await fx.send("GET", EVENTS, { key: "viewer" }, server);
    expect(refused.headers["retry-after"]).toBe("5");
    expect(refused.body.error_code).toBe("rate_limited");
    // A tool list with the same key, and a stream with another: unaffected.
    expect((await fx.send("GET", `/projects/${PROJECT}/tools`, { key: "viewer" }, server)).status).toBe(200);
    const others = [await listen("", { server, key: "operator" }), await listen("", { server, key: "operator" })];
    expect(others.map(({ status }) => status)).toEqual([200, 200]);
    // One place is left, and it is for a tenant that has none.
    expect((await fx.send("GET", EVENTS, { key: "operator" }, server)).status).toBe(429);
    const newcomer = await listen("", { server, key: "admin" });
    expect(newcomer.status).toBe(200);
    expect((await fx.send("GET", EVENTS, { key: "admin" }, server)).status).toBe(429);
    held[0]?.close();
    others[0]?.close();
    await waitFor(async () => (await listen("", { server })).status === 200, { what: "a place that was given back" });
    await server.close();
  });

  it("one project cannot take all places with many keys", async () => {
    const server = await fx.another({ limits: { streamsMax: 10, streamsPerProjectMax: 3, streamsPerKeyMax: 2 } });
    const own = [await listen("", { server }), await listen("", { server })];
    own.push(await listen("", { server, key: "operator" }), await listen("", { server, key: "operator" }));
    expect(own.map(({ status }) => status)).toEqual([200, 200, 200, 429]);
    expect((await listen("", { server, key: "admin" })).status).toBe(200); // a key of all projects counts alone
    own[0]?.close();
    const isFree = async () => (await listen("", { server, key: "operator" })).status === 200;
    await waitFor(isFree, { what: "the place that was given back" });
    await server.close();
  });

  it("a client that goes gives its place back, whenever it goes", async () => {
    const server = await fx.another({ limits: { streamsPerKeyMax: 1 } });
    for (let n = 0; n < 5; n += 1) {
      const reader = await waitFor(
        async () => {
          const next = await listen("", { server });
          return next.status === 200 ? next : null;
        },
        { what: "the place of the one before" },
      );
      reader.close();
    }
    // Gone before the answer.
    const gone = new AbortController();
    const asked = fetch(`${server.url}${EVENTS}`, {
      headers: { authorization: `Bearer ${fx.keys.viewer}` },
      signal: gone.signal,
    }).catch(() => null);
    gone.abort();
    await asked;
    await waitFor(async () => (await listen("", { server })).status === 200, { what: "its place" });
    await server.close();
  });
});
