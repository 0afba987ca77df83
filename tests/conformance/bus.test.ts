// The bus suite on every adapter, and what only one of them promises: how each comes back after its server's worst days.
//
// The servers are real. Every fault is proved before its cure is awaited: the process is dead, the stream is not found.

import { rmSync } from "node:fs";
import { join } from "node:path";
import { JetStreamApiError, type JetStreamManager, jetstreamManager } from "@nats-io/jetstream";
import { connect, headers as natsHeaders } from "@nats-io/transport-node";
import { openMemoryBus } from "@tessera/engines/memory-bus";
import { openNatsBus } from "@tessera/engines/nats";
import { openPostgresBus } from "@tessera/engines/postgres-bus";
import type { Bus } from "@tessera/kernel/ports";
import { busConformance, FaultyBus, freePort, type NatsServer, startNats } from "@tessera/testkit";
import pg from "pg";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, inject, onTestFinished, test } from "vitest";
import { eventually, listen, newScope, type Scope, textOf } from "../../packages/testkit/src/bus-conformance.ts";

const TEST_MS = 30_000;

busConformance("the memory bus", { open: () => openMemoryBus() });

describe("PostgreSQL", { timeout: TEST_MS }, () => {
  const url = inject("postgresUrl");
  const open = (): Promise<Bus> => openPostgresBus({ url });

  busConformance("the postgres bus", { open, openSecond: open });

  test("a bus whose backend was terminated listens and publishes again by itself", async () => {
    const scope = newScope();
    // A name of its own, so that only this test's backend is hit.
    const applicationName = scope.durable("bus");
    const bus = await openPostgresBus({
      url: `${url}${url.includes("?") ? "&" : "?"}application_name=${applicationName}`,
    });
    onTestFinished(() => bus.close());
    const heard = await listen(bus, scope.all());
    await bus.publish([scope.message("run", "before")]);
    await heard.count(1);
    const client = new pg.Client(url);
    await client.connect();
    // Asked from before it happens: it may be over soon.
    const lost = eventually(() => expect(bus.health().connected).toBe(false));
    const { rows } = await client.query(
      "select pg_terminate_backend(pid) as gone from pg_stat_activity where application_name = $1",
      [applicationName],
    );
    await client.end();
    expect(rows).toEqual([{ gone: true }]);
    await lost;
    await eventually(() => expect(bus.health()).toEqual({ connected: true, connections: 2, warnings: [] }));
    await bus.publish([scope.message("run", "after")]);
    await heard.until("after");
  });

  test("a bus that is opened without a server is not connected and refuses to publish", async () => {
    const warnings: string[] = [];
    const away = `postgres://postgres@127.0.0.1:${await freePort()}/postgres`;
    const bus = await openPostgresBus({ url: away, onWarning: (warning) => warnings.push(warning) });
    const scope = newScope();
    await bus.subscribe(scope.all(), () => {});
    expect(bus.health().connected).toBe(false);
    expect(warnings[0]).toContain("ECONNREFUSED");
    await expect(bus.publish([scope.message("run", "1")])).rejects.toMatchObject({ kind: "disconnected" });
    await bus.close();
  });

  test("a notification that is none of ours is ignored with a warning, the same for all", async () => {
    const warnings: string[] = [];
    const channelPrefix = newScope().durable("bus");
    const bus = await openPostgresBus({ url, channelPrefix, onWarning: (warning) => warnings.push(warning) });
    onTestFinished(() => bus.close());
    const heard = await listen(bus, { pattern: "cg.v1r4.*.*.evt.agent.*.task", durable: "d" });
    const client = new pg.Client(url);
    await client.connect();
    for (const payload of [
      "",
      "{}",
      "1 tcg.v1r4.p.c.evt.agent.a.task\n[]\n",
      "1 tno subject\n{}\n",
      "2 tnor this\n{}\n",
    ]) {
      await client.query("select pg_notify($1, $2)", [`${channelPrefix}_evt_agent_0`, payload]);
    }
    await client.end();
    await eventually(() => expect(warnings).toHaveLength(5));
    expect(new Set(warnings).size).toBe(1);
    expect(heard.deliveries).toHaveLength(0);
  });
});

describe("NATS", { timeout: TEST_MS }, () => {
  const open = (): Promise<Bus> => openNatsBus({ servers: inject("natsUrl") });

  busConformance("the NATS bus", { open, openSecond: open });

  describe("with a broker that has bad days", () => {
    let broker: NatsServer;
    let bus: Bus;
    let scope: Scope;
    let warnings: string[];

    beforeAll(async () => {
      broker = await startNats();
    });
    afterAll(() => broker.stop());
    beforeEach(async () => {
      warnings = [];
      scope = newScope();
      bus = await openNatsBus({ servers: broker.url, onWarning: (warning) => warnings.push(warning) });
    });
    afterEach(() => bus.close());

    /** An operator's access, past the bus. */
    async function admin<T>(work: (jsm: JetStreamManager) => Promise<T>): Promise<T> {
      const nc = await connect({ servers: broker.url });
      try {
        return await work(await jetstreamManager(nc));
      } finally {
        await nc.close();
      }
    }
    const streamMadeAt = (): Promise<string> => admin(async (jsm) => (await jsm.streams.info("cg_cmd_v1r4")).created);
    const durableExists = (): Promise<boolean> =>
      admin((jsm) =>
        jsm.consumers.info("cg_cmd_v1r4", scope.durable()).then(
          () => true,
          (error: unknown) => {
            if (error instanceof JetStreamApiError) return false;
            throw error;
          },
        ),
      );

    test("a broker that is away at the start is joined when it comes, with all subscriptions", async () => {
      const late = await startNats();
      onTestFinished(() => late.stop());
      await killed(late);
      const early = await openNatsBus({ servers: late.url });
      onTestFinished(() => early.close());
      expect(early.health().connected).toBe(false);
      await expect(early.publish([scope.message("run", "too early")])).rejects.toMatchObject({ kind: "disconnected" });
      const heard = await listen(early, scope.all());
      const chunks = await listen(early, { pattern: scope.subject("chunk", "str"), durable: "" });
      await late.start();
      await eventually(() => expect(early.health().connected).toBe(true));
      await early.publish([scope.message("run", "1")]);
      await heard.count(1);
      await eventually(async () => {
        await early.publish([scope.message("chunk", "1", "str")]);
        expect(chunks.deliveries.length).toBeGreaterThan(0);
      });
    });

    test("a killed broker: publishing is refused at once, and after its restart what it kept and what is new arrive", async () => {
      const heard = await listen(bus, scope.all());
      const absent = await listen(bus, scope.all("absent"));
      await absent.stop();
      await bus.publish([scope.message("run", "before")]);
      await heard.count(1);
      await killed(broker);
      await eventually(() => expect(bus.health().connected).toBe(false));
      await expect(bus.publish([scope.message("run", "away")])).rejects.toMatchObject({ kind: "disconnected" });
      await broker.start();
      await eventually(() => expect(bus.health().connected).toBe(true));
      await bus.publish([scope.message("run", "after")]);
      await heard.until("after");
      const returned = await listen(bus, scope.all("absent"));
      await returned.until("after");
      expect(returned.texts()).toEqual(["before", "after"]);
    });

    test("a broker that lost its store gets its streams and durables again", async () => {
      const heard = await listen(bus, scope.all());
      await bus.publish([scope.message("run", "before")]);
      await heard.count(1);
      const made = await streamMadeAt();
      await killed(broker);
      rmSync(join(broker.directory, "jetstream"), { recursive: true });
      await broker.start();
      await eventually(() => expect(bus.health().connected).toBe(true));
      await eventually(async () => expect(await streamMadeAt()).not.toBe(made));
      await eventually(async () => expect(await durableExists()).toBe(true));
      await bus.publish([scope.message("run", "after")]);
      await heard.until("after");
    });

    test("a deleted stream is made again while the connection lasts", async () => {
      const heard = await listen(bus, scope.all());
      await bus.publish([scope.message("run", "before")]);
      await heard.count(1);
      const made = await streamMadeAt();
      expect(await admin((jsm) => jsm.streams.delete("cg_cmd_v1r4"))).toBe(true);
      await eventually(async () => expect(await streamMadeAt()).not.toBe(made));
      await eventually(async () => expect(await durableExists()).toBe(true));
      await bus.publish([scope.message("run", "after")]);
      await heard.until("after");
      expect(heard.texts()).toEqual(["before", "after"]);
    });

    test("a deleted durable is made again and goes on behind what was heard", async () => {
      const heard = await listen(bus, scope.all());
      await bus.publish([scope.message("run", "before")]);
      await heard.count(1);
      expect(await admin((jsm) => jsm.consumers.delete("cg_cmd_v1r4", scope.durable()))).toBe(true);
      await bus.publish([scope.message("run", "while it was gone")]);
      await eventually(async () => expect(await durableExists()).toBe(true));
      await bus.publish([scope.message("run", "after")]);
      await heard.until("after");
      expect(heard.texts()).toEqual(["before", "while it was gone", "after"]);
    });

    test("a message that fails every time is ended on the broker and reported", async () => {
      const heard = await listen(bus, scope.all(), () => {
        throw new Error("injected");
      });
      await bus.publish([scope.message("run", "poison")]);
      await heard.count(3);
      await eventually(() => expect(warnings.some((text) => text.includes("gave up a message"))).toBe(true));
      await eventually(async () => {
        const info = await admin((jsm) => jsm.consumers.info("cg_cmd_v1r4", scope.durable()));
        expect([info.num_ack_pending, info.num_pending]).toEqual([0, 0]);
      });
    });

    test("an outdated broker is named in the health, and reported once", async () => {
      const aboutVersion = (text: string): boolean => text.includes("CVE-2025-30215");
      expect(bus.health().warnings.filter(aboutVersion)).toHaveLength(1);
      expect(warnings.filter(aboutVersion)).toHaveLength(1);
    });

    test("a durable's name is made fit for the broker, and two names stay two", async () => {
      const { pattern } = scope.all();
      const dotted = await listen(bus, { pattern, durable: `${scope.durable()}.a b/*>` });
      const other = await listen(bus, { pattern, durable: `${scope.durable()}.a b/>*` });
      await bus.publish([scope.message("run", "1")]);
      await Promise.all([dotted.count(1), other.count(1)]);
    });

    test("a durable whose pattern changed with a release hears the new one", async () => {
      const earlier = await openNatsBus({ servers: broker.url });
      await listen(earlier, { pattern: scope.subject("old"), durable: scope.durable() });
      await earlier.close();
      const heard = await listen(bus, { pattern: scope.subject("new"), durable: scope.durable() });
      await bus.publish([scope.message("old", "old"), scope.message("new", "new")]);
      await heard.until("new");
      expect(heard.texts()).toEqual(["new"]);
      expect(warnings.some((text) => text.includes("now subscribes to"))).toBe(true);
    });

    test("a v1r3 subscription gets streams of its own", async () => {
      const pattern = scope.all().pattern.replace("v1r4", "v1r3");
      const heard = await listen(bus, { pattern, durable: scope.durable("old") });
      const message = scope.message("run", "old");
      await bus.publish([{ ...message, subject: message.subject.replace("v1r4", "v1r3") }]);
      await heard.count(1);
    });

    test("a header that a foreign client repeats arrives as one entry", async () => {
      const heard = await listen(bus, scope.all());
      const nc = await connect({ servers: broker.url });
      const block = natsHeaders();
      block.append("X-Twice", "first");
      block.append("X-Twice", "second");
      nc.publish(scope.subject("run"), "1", { headers: block });
      await nc.drain();
      await heard.count(1);
      expect({ ...heard.deliveries[0]?.headers }).toEqual({ "X-Twice": "first\nsecond" });
    });
  });

  test("a role that may only pull from its durable works with what others made", async () => {
    const scope = newScope();
    const durable = scope.durable();
    const config = `authorization { users = [
      { user: kernel, password: k }
      { user: tool, password: t, permissions: {
        publish: ["$JS.API.CONSUMER.MSG.NEXT.cg_cmd_v1r4.${durable}", "$JS.ACK.cg_cmd_v1r4.${durable}.>"]
        subscribe: ["_INBOX_tool.>"] } } ] }`;
    const guarded = await startNats({ config });
    onTestFinished(() => guarded.stop());
    const kernel = await openNatsBus({ servers: guarded.url, user: "kernel", pass: "k" });
    onTestFinished(() => kernel.close());
    await (await listen(kernel, scope.all())).stop();

    const warnings: string[] = [];
    const login = { user: "tool", pass: "t", inboxPrefix: "_INBOX_tool" };
    const tool = await openNatsBus({ servers: guarded.url, ...login, onWarning: (text) => warnings.push(text) });
    onTestFinished(() => tool.close());
    const heard = await listen(tool, scope.all(), (delivery) => {
      if (delivery.deliveries === 1) delivery.nak();
    });
    await kernel.publish([scope.message("run", "1")]);
    await heard.count(2);
    // What it may not publish is refused by the broker, after the fact; an operator hears of it.
    await tool.publish([scope.message("run", "forged")]);
    await eventually(() => expect(warnings.some((text) => text.includes("Permissions Violation"))).toBe(true));
    expect(heard.deliveries.map(textOf)).toEqual(["1", "1"]);
  });
});

/** Kills the broker hard and proves that it answers no more. */
async function killed(broker: NatsServer): Promise<void> {
  const { pid } = broker;
  await broker.kill();
  expect(() => process.kill(pid, 0)).toThrow("ESRCH");
  await expect(connect({ servers: broker.url, reconnect: false })).rejects.toThrow();
}

describe("the faulty bus", () => {
  const faults = { drop: 0.2, duplicate: 0.2, reorder: 0.2, publishError: 0.1 };

  async function sendThrough(seed: number): Promise<{ counts: FaultyBus["counts"]; texts: string[]; thrown: number }> {
    const bus = new FaultyBus(await openMemoryBus(), { seed, ...faults });
    const scope = newScope();
    const heard = await listen(bus, scope.all());
    let thrown = 0;
    for (let index = 0; index < 200; index++) {
      await bus.publish([scope.message("run", `${index}`)]).catch((error: unknown) => {
        expect(error).toMatchObject({ kind: "disconnected" });
        thrown += 1;
      });
    }
    await bus.heal();
    const { counts } = bus;
    await bus.publish([scope.message("run", "healed")]);
    await heard.until("healed");
    await bus.close();
    return { counts, texts: heard.texts(), thrown };
  }

  test("injects every fault, counts each, and repeats itself from its seed", async () => {
    const first = await sendThrough(7);
    for (const count of Object.values({ ...first.counts, delayed: 1 })) expect(count).toBeGreaterThan(0);
    expect(first.thrown).toBe(first.counts.failedLost + first.counts.failedSent);
    const sent = 201 - first.counts.dropped - first.counts.failedLost;
    expect(new Set(first.texts).size).toBe(sent);
    expect(await sendThrough(7)).toEqual(first);
    expect((await sendThrough(8)).texts).not.toEqual(first.texts);
  });

  test("delays by its clock and behaves once healed", async () => {
    const due: (() => void)[] = [];
    const clock = {
      after(_ms: number, task: () => void) {
        due.push(task);
        return { cancel: () => {} };
      },
    };
    const bus = new FaultyBus(await openMemoryBus(), { seed: 1, delayMs: [10, 20], clock });
    onTestFinished(() => bus.close());
    const scope = newScope();
    const heard = await listen(bus, scope.all());
    await bus.publish([scope.message("run", "late")]);
    await bus.heal();
    await bus.publish([scope.message("run", "in time")]);
    await heard.count(1);
    for (const task of due) task();
    await heard.until("late");
    expect(heard.texts()).toEqual(["in time", "late"]);
    expect(bus.counts.delayed).toBe(1);
  });
});
