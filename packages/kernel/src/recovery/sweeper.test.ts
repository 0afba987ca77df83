// The rounds of one sweep, with a store that answers what the test sets.

import { VirtualClock } from "@tessera/testkit";
import { describe, expect, it } from "vitest";
import { Slots } from "../batching/batcher.ts";
import type { SweepAnswer } from "../moves/outcomes.ts";
import { type Bus, type Database, DatabaseError } from "../ports.ts";
import { createSweep } from "./sweeper.ts";

const ROUNDS_MAX = 50;
const nothing: SweepAnswer = { wakes: [], more: false };

/** `answer` is asked with the name of the function and how often it was asked before. */
function swept(
  answer: (name: string, before: number) => SweepAnswer,
  watch: (before: number) => object = () => ({ may: true, needed: true, ended: [] }),
) {
  const asked = new Map<string, number>();
  const held = new Map<string, Promise<void>>();
  const announced: unknown[] = [];
  const warnings: string[] = [];
  const clock = new VirtualClock();
  let connections = 1;
  let health = {};
  const query = async (text: string) => {
    const name = /l0\.(\w+)/.exec(text)?.[1] ?? text;
    const before = asked.get(name) ?? 0;
    asked.set(name, before + 1);
    await held.get(name);
    if (name === "end_holders") return [{ answer: watch(before) }];
    return [{ answer: answer(name, before) }];
  };
  const sweep = createSweep({
    database: { query, capabilities: { roles: true } } as Database,
    bus: { health: () => ({ connected: true, connections, ...health }) } as Bus,
    announcer: { announce: (said: unknown) => void announced.push(said) } as never,
    killPoints: { at: async () => undefined },
    slots: new Slots(1, clock),
    clock,
    onWarning: (warning) => void warnings.push(warning),
  });
  const hold = (name: string) => {
    const { promise, resolve } = Promise.withResolvers<void>();
    held.set(name, promise);
    return resolve;
  };
  const reconnect = () => {
    connections += 1;
  };
  const beUnwell = (how: object) => {
    health = how;
  };
  return { sweep, asked, announced, warnings, clock, hold, reconnect, beUnwell };
}

describe("a sweep", () => {
  it("goes on for as long as there is more to do, and announces what each round found", async () => {
    const wake = { project_id: "p1" } as never;
    const { sweep, asked, announced } = swept((name, before) =>
      name === "sweep_calls"
        ? { wakes: [wake], commands: [{}, {}] as never, settled: 1, more: before < 4 }
        : { wakes: [], recovered: name === "sweep_workers" ? 7 : 0, more: name === "sweep_inbox" && before === 0 },
    );
    expect(await sweep()).toEqual({ commands: 10, wakes: 5, settled: 5, recovered: 7, skipped: 0, endedSessions: 0 });
    expect(Object.fromEntries(asked)).toEqual({ end_holders: 1, sweep_workers: 1, sweep_calls: 5, sweep_inbox: 2 });
    expect(announced).toHaveLength(8);
  });

  it("leaves a backlog without end to the next one", async () => {
    const { sweep, asked } = swept((name) => ({ ...nothing, more: name === "sweep_calls" }));
    await sweep();
    expect(Object.fromEntries(asked)).toEqual({
      end_holders: 1,
      sweep_workers: 1,
      sweep_calls: ROUNDS_MAX,
      sweep_inbox: 1,
    });
  });

  it("of which one part fails does the others, and says what failed", async () => {
    const { sweep, asked } = swept((name) => {
      if (name === "sweep_workers") throw new DatabaseError("statement", "cannot", {});
      return nothing;
    });
    await expect(sweep()).rejects.toThrow("sweep_workers");
    expect([...asked.keys()]).toEqual(["end_holders", "sweep_workers", "sweep_calls", "sweep_inbox"]);
  });

  it("rings early once after each return of the bus", async () => {
    const { sweep, asked, reconnect } = swept(() => nothing);
    await sweep();
    expect(asked.get("ring_early")).toBeUndefined();
    reconnect();
    await sweep();
    await sweep();
    expect(asked.get("ring_early")).toBe(1);
    reconnect();
    await sweep();
    expect(asked.get("ring_early")).toBe(2);
  });

  it.each([{ connected: false }, { refuses: "the stream is full" }])(
    "rings early every time while its bus rings nothing: %o",
    async (how) => {
      const { sweep, asked, beUnwell } = swept(() => nothing);
      beUnwell(how);
      await sweep();
      await sweep();
      expect(asked.get("ring_early")).toBe(2);
      beUnwell({});
      await sweep();
      expect(asked.get("ring_early")).toBe(2);
    },
  );
  it("waits in line for a call that it has passed over for long, and ends meanwhile what stands before it", async () => {
    const skipped = { rows: 1, seconds: 6 };
    const { sweep, asked, announced, clock, hold } = swept((name) =>
      name === "sweep_held_call" ? { wakes: [], settled: 1, more: false } : { ...nothing, skipped },
    );
    const free = hold("sweep_held_call");
    const sweeping = sweep();
    await clock.advance(1_199);
    expect(asked.get("end_holders")).toBe(1);
    await clock.advance(1);
    expect(asked.get("end_holders")).toBe(2);
    free();
    expect(await sweeping).toMatchObject({ settled: 1, endedSessions: 0 });
    expect(announced).toContainEqual({ wakes: [], settled: 1, more: false });
    expect(clock.pending).toBe(0);
  });

  it("does not wait for one that is passed over for moments, nor longer than it takes", async () => {
    let seconds = 1;
    const { sweep, asked } = swept(() => ({ ...nothing, skipped: { rows: 1, seconds } }));
    await sweep();
    expect(asked.get("sweep_held_call")).toBeUndefined();
    seconds = 6;
    await sweep();
    expect([asked.get("sweep_held_call"), asked.get("end_holders")]).toEqual([1, 2]);
  });

  it("reports rows that it passed over once they are due for long, and counts all", async () => {
    const { sweep, warnings } = swept((name) => {
      if (name === "sweep_calls") return { ...nothing, skipped: { rows: 3, seconds: 12.4 } };
      return { ...nothing, skipped: name === "sweep_inbox" ? { rows: 1, seconds: 0.2 } : null };
    });
    expect(await sweep()).toMatchObject({ skipped: 4 });
    expect(warnings).toEqual([
      "l0.sweep_calls passed over 3 rows that are due, because other sessions have them locked; the oldest is due since 12 s",
    ]);
  });

  it("reports whose session it had ended, and once that it may end none", async () => {
    const { sweep, warnings } = swept(
      () => nothing,
      (before) =>
        before === 0
          ? { may: true, needed: true, ended: [{ login: "orders", state: "idle in transaction", seconds: 6.04 }] }
          : { may: false, needed: before > 1 },
    );
    expect(await sweep()).toMatchObject({ endedSessions: 1 });
    expect(warnings).toEqual([expect.stringMatching(/^a session of orders was ended.* 6\.0 s/)]);
    for (let n = 0; n < 3; n += 1) await sweep();
    expect(warnings.slice(1)).toEqual([expect.stringContaining("pg_signal_backend")]);
  });
});
