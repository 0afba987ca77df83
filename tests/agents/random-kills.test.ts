// 200 turns run on worker processes of which one is killed -9 every second or so: nothing changes but time.
//
//   R1. A kill counts only if the process held turns that ran; the store says so before, and shows them recovered after.
//   R2. While a turn is there that was lost twice in a row, no process is killed: a third time would end it as a crash loop, which
//       is right (crash-points.test.ts) and not what is shown here.

import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { seededRandom, seedFromEnvironment, type TestChild, withSeed } from "@tessera/testkit";
import { afterEach, expect, it } from "vitest";
import { actsFiles, readLedger } from "./acts-bundle.ts";
import type { ProcessMessage } from "./agents-process.ts";
import { AgentsWorld } from "./agents-world.ts";

const TURNS = 200;
const AGENTS = 50;
const WORKERS = 4;
const KILLS = { min: 3, max: 12 };
const KILL_EVERY_MS = { min: 700, max: 1_300 };
const TEST_MS = 120_000;
const STEPS = [
  ...["agent.thought", "tool.call", "tool.call", "tool.result", "tool.result"],
  ...["agent.thought", "tool.call", "tool.call", "tool.result", "tool.result"],
  ...["agent.thought", "task.deliverable"],
];

let world: AgentsWorld | null = null;
afterEach(async () => {
  await world?.close();
  world = null;
});

it("200 turns end right while workers are killed -9 at random", { timeout: TEST_MS }, async () => {
  const seed = seedFromEnvironment();
  console.log(`seed ${seed.value}`);
  await withSeed(async (value) => {
    const random = seededRandom(value);
    const here = await AgentsWorld.open("postgres");
    world = here;
    const path = join(here.directory, "ledger");
    const doer = {
      name: "doer",
      calls: ["acts__idempotent", "acts__once"],
      next: ["remote__read", "acts__reconciled"],
      thinksMs: 400,
    };
    const bundle = here.bundle(actsFiles([doer], { ledger: path, workMs: 100 }));
    const startWorker = (awaitReady: boolean) => here.start(bundle, ["worker"], { concurrencyMax: 8, awaitReady });
    await here.start(bundle, ["tools"]);
    const workers = await Promise.all(Array.from({ length: WORKERS }, () => startWorker(true)));
    const turns: string[] = [];
    for (let n = 0; n < TURNS; n += 1) {
      turns.push(await here.ask("doer", `go ${n}`, { instance_key: `a${n % AGENTS}` }));
    }

    let kills = 0;
    while ((await openTurns(here)) > 0) {
      const { min, max } = KILL_EVERY_MS;
      await pause(min + random() * (max - min)); // the fault's own moment
      const victims = await holders(here, workers);
      const victim = victims[Math.floor(random() * victims.length)];
      if (victim === undefined || kills === KILLS.max) continue;
      await victim.kill();
      kills += 1; // R1
      workers.splice(workers.indexOf(victim), 1, await startWorker(false));
    }
    expect(kills).toBeGreaterThanOrEqual(KILLS.min);
    const recovered = await here.query<{ turns: number }>(
      "select count(distinct agent_turn_id)::int as turns from state.events where payload ->> 'reason' = 'recovered'",
    );
    expect(recovered[0]?.turns).toBeGreaterThanOrEqual(KILLS.min); // R1

    await here.expectOneEndEach();
    const once = { succeeded: [] as string[], unknown: 0 };
    const idempotent: string[] = [];
    for (const turn of turns) {
      expect(await here.turn(turn)).toMatchObject({ error_message: null, status: "success" });
      expect(await here.deliverable(turn)).toBe("done");
      expect((await here.cards(turn)).map((card) => card.type)).toEqual(STEPS);
      const [first, second, third, fourth] = (await here.results(turn)).map(({ content }) => content);
      expect(first).toMatchObject({ status: "success" });
      expect(third).toMatchObject({ status: "success" });
      expect(fourth).toMatchObject({ status: "success" }); // it ran, or was asked and said that it had
      idempotent.push(keyOf(first));
      if (second?.status === "success") once.succeeded.push(keyOf(second));
      else {
        expect(second).toMatchObject({ status: "failed", error: { code: "outcome_unknown" } });
        once.unknown += 1;
      }
    }

    const keysOf = (name: string) => readLedger(path).flatMap((entry) => (entry.name === name ? entry.key : []));
    expect(new Set(keysOf("idempotent"))).toEqual(new Set(idempotent)); // a repeated run has the key of the first
    expect(new Set(idempotent).size).toBe(TURNS);
    const ran = keysOf("once");
    expect(new Set(ran).size).toBe(ran.length); // nothing ran twice
    expect(once.succeeded.filter((key) => !ran.includes(key))).toEqual([]);
    expect(once.succeeded.length + once.unknown).toBe(TURNS);
    expect(ran.length - once.succeeded.length).toBeLessThanOrEqual(once.unknown);
    const reconciled = keysOf("reconciled");
    expect([reconciled.length, new Set(reconciled).size]).toEqual([TURNS, TURNS]);
    console.log(`${kills} kills, ${recovered[0]?.turns} turns recovered, ${once.unknown} once calls unknown`);
    await here.expectClean();
  }, seed);
});

function keyOf(content: Readonly<Record<string, unknown>> | undefined): string {
  return String((content?.result as { key?: string } | undefined)?.key);
}

async function openTurns(world: AgentsWorld): Promise<number> {
  const rows = await world.query<{ turns: number }>(
    "select count(*)::int as turns from state.agent_turns where ended_at is null",
  );
  return rows[0]?.turns ?? 0;
}

/** Processes that hold running turns and may be killed now (R1, R2); none while only one is up. */
async function holders(world: AgentsWorld, workers: readonly TestChild[]): Promise<TestChild[]> {
  const rows = await world.query<{ holder: string; crashes: number }>(
    `select holder, (select max(crash_count)::int from state.agent_state_head) as crashes
       from state.agent_state_head where status = 'running' and holder is not null group by 1`,
  );
  const isUp = (child: TestChild) => (child.messages as ProcessMessage[]).some(({ event }) => event === "ready");
  if (workers.filter(isUp).length < 2) return [];
  return workers.filter((child) => {
    const names = (child.messages as ProcessMessage[]).flatMap(({ worker_id }) => worker_id ?? []);
    const held = rows.filter((row) => names.includes(row.holder));
    return child.exit === null && held.length > 0 && held.every((row) => row.crashes < 2);
  });
}
