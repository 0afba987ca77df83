// The ports of the simulation: each fault does what its name says, and only while faults are on.

import { type Bus, type Database, DatabaseError, type Row } from "@tessera/kernel/ports";
import { describe, expect, it } from "vitest";
import { EventLog } from "./event-log.ts";
import { type FaultKind, FaultPlan } from "./fault-plan.ts";
import { SimRandom } from "./random.ts";
import { SimScheduler } from "./scheduler.ts";
import { SimBroker } from "./sim-bus.ts";
import { simDatabase } from "./sim-database.ts";
import { SimProcess } from "./sim-process.ts";

const SUBJECT = "cg.v1r4.p.c.cmd.tool.echo.run";
const MESSAGE = { subject: SUBJECT, headers: {}, data: new Uint8Array() };
const SUBSCRIPTION = { pattern: "cg.v1r4.*.*.cmd.tool.echo.>", durable: "echo" };

function fixture(only: readonly FaultKind[]) {
  const random = new SimRandom(7);
  const log = new EventLog();
  const scheduler = new SimScheduler(random, log);
  const faults = new FaultPlan(random, only);
  const world = { random, log, scheduler, faults };
  const process = (name: string) => new SimProcess(scheduler, { name, role: name, rate: 1 });
  const runUntil = async (ms: number) => {
    while (scheduler.nowMs < ms && (await scheduler.step()));
  };
  return { world, scheduler, faults, process, runUntil };
}

/** A store in which every statement finds nothing. */
function storeOf(onQuery: (values: readonly unknown[]) => void): Database {
  const unused = () => Promise.reject(new Error("the simulation runs single statements only"));
  return {
    capabilities: { engine: "postgres", batchesInFlight: 1, roles: false },
    query: async <R extends Row>(_text: string, values: readonly unknown[] = []): Promise<R[]> => {
      onQuery(values);
      return [];
    },
    script: unused,
    transaction: unused,
    close: async () => undefined,
  };
}

describe("the database of the simulation", () => {
  /** Asks many times; answers how often the statement ran and what came of each. */
  async function askMany(kind: FaultKind, isHealed = false) {
    const { world, faults, process, runUntil } = fixture([kind]);
    if (isHealed) faults.heal();
    let ran = 0;
    const store = storeOf(() => {
      ran += 1;
    });
    const database = simDatabase(world, store, process("p"));
    const answers: string[] = [];
    for (let n = 0; n < 300; n++) {
      database.query("select 1 from t").then(
        () => answers.push("ok"),
        (error: unknown) => answers.push(error instanceof DatabaseError ? error.kind : "other"),
      );
    }
    await runUntil(60_000);
    const count = (answer: string) => answers.filter((each) => each === answer).length;
    return { ran, answers, count, injected: faults.counts.get(kind) ?? 0 };
  }

  it("loses an answer after the commit, or the statement before it, and says the same", async () => {
    const after = await askMany("store.lost_after");
    expect([after.ran, after.count("connection_lost")]).toEqual([300, after.injected]);
    const before = await askMany("store.lost_before");
    expect([before.ran, before.count("connection_lost")]).toEqual([300 - before.injected, before.injected]);
    expect(Math.min(after.injected, before.injected)).toBeGreaterThan(0);
  });

  it("repeats what was refused and harmless, as the adapters do", async () => {
    const { ran, count, injected } = await askMany("store.retryable");
    expect([ran, count("ok")]).toEqual([300, 300]);
    expect(injected).toBeGreaterThan(0);
  });

  it("does nothing of it once it is healed", async () => {
    const { ran, count } = await askMany("store.lost_before", true);
    expect([ran, count("ok")]).toEqual([300, 300]);
  });

  it("never answers a process that died meanwhile", async () => {
    const { world, process, runUntil } = fixture([]);
    const victim = process("victim");
    const store = storeOf(() => undefined);
    let isAnswered = false;
    void simDatabase(world, store, victim)
      .query("select 1")
      .finally(() => {
        isAnswered = true;
      });
    victim.kill();
    await runUntil(1_000);
    expect(isAnswered).toBe(false);
  });

  it("passes the kernel the time at which a statement runs, not the one at which it was asked", async () => {
    const { world, scheduler, process, runUntil } = fixture(["store.slow"]);
    const client = process("client");
    const late: boolean[] = [];
    const store = storeOf(([at]) => {
      expect(at).toBe(client.clock.databaseTime()?.toISOString());
      late.push(scheduler.nowMs > 10);
    });
    const database = simDatabase(world, store, client);
    for (let n = 0; n < 200; n++) void database.query("select 1", [client.clock.databaseTime()?.toISOString()]);
    await runUntil(60_000);
    expect(new Set(late)).toEqual(new Set([true, false]));
  });
});

describe("the bus of the simulation", () => {
  async function heardBy(bus: Bus, name: string, heard: string[], answer: "ack" | "none" = "ack"): Promise<void> {
    await bus.subscribe(SUBSCRIPTION, (delivery) => {
      heard.push(`${name}${delivery.deliveries}`);
      if (answer === "none") return new Promise(() => undefined);
      return delivery.ack();
    });
  }

  it("gives a message to one member, and again to some member when it is not answered", async () => {
    const { world, process, runUntil } = fixture([]);
    const broker = new SimBroker(world);
    const heard: string[] = [];
    await heardBy(broker.busOf(process("a")), "a", heard, "none");
    void broker.busOf(process("publisher")).publish([MESSAGE]);
    await runUntil(200_000);
    expect(heard).toEqual(["a1", "a2", "a3"]);
  });

  it("keeps messages without a receiver, unless it is wiped", async () => {
    for (const isWiped of [false, true]) {
      const { world, process, runUntil } = fixture([]);
      const broker = new SimBroker(world);
      const first = process("first");
      const heard: string[] = [];
      await heardBy(broker.busOf(first), "first", heard);
      first.kill();
      void broker.busOf(process("publisher")).publish([MESSAGE]);
      await runUntil(100);
      if (isWiped) broker.wipe();
      await heardBy(broker.busOf(process("second")), "second", heard);
      await runUntil(1_000);
      expect(heard).toEqual(isWiped ? [] : ["second1"]);
    }
  });

  it("was wiped only if there was something to forget: kept, on its way, or not answered yet", async () => {
    for (const answer of ["ack", "none"] as const) {
      const { world, process, runUntil } = fixture([]);
      const broker = new SimBroker(world);
      await heardBy(broker.busOf(process("member")), "member", [], answer);
      expect(broker.wipe()).toBe(false);
      void broker.busOf(process("publisher")).publish([MESSAGE]);
      expect(broker.wipe()).toBe(true);
      void broker.busOf(process("publisher")).publish([MESSAGE]);
      await runUntil(100);
      expect(broker.wipe()).toBe(answer === "none");
      expect(broker.wipe()).toBe(false);
    }
  });

  it("has reordered a message when a later one has overtaken it, and a lone one never", async () => {
    for (const count of [1, 100]) {
      const { world, faults, process, runUntil } = fixture(["bus.reorder"]);
      const broker = new SimBroker(world);
      const heard: string[] = [];
      await broker.busOf(process("member")).subscribe(SUBSCRIPTION, ({ data, ack }) => {
        heard.push(new TextDecoder().decode(data));
        return ack();
      });
      const publisher = broker.busOf(process("publisher"));
      const sent = Array.from({ length: count }, (_, n) => String(n));
      for (const text of sent) void publisher.publish([{ ...MESSAGE, data: new TextEncoder().encode(text) }]);
      await runUntil(1_000);
      expect(heard.toSorted()).toEqual(sent.toSorted());
      const overtaken = heard.filter((text, at) => heard.slice(0, at).some((other) => Number(other) > Number(text)));
      const reordered = faults.counts.get("bus.reorder") ?? 0;
      if (count === 1) expect(reordered).toBe(0);
      else expect(reordered).toBeGreaterThan(0);
      expect(reordered).toBeLessThanOrEqual(overtaken.length);
    }
  });

  it("refuses to publish for a process that is cut off, and reaches it only later", async () => {
    const { world, process, runUntil } = fixture([]);
    const broker = new SimBroker(world);
    const cut = process("cut");
    const heard: string[] = [];
    await heardBy(broker.busOf(cut), "cut", heard);
    cut.busCutUntilMs = 20_000;
    const refused = expect(broker.busOf(cut).publish([MESSAGE])).rejects.toMatchObject({ kind: "disconnected" });
    void broker.busOf(process("publisher")).publish([MESSAGE]);
    await runUntil(40_000);
    await refused;
    expect(heard).toEqual(["cut2"]);
  });
});
