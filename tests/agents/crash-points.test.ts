// A worker process is lost at each moment of the loop. What the turn then does is written in docs/faults.md#workers, and for
// calls that were running in docs/design.md#effects.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { type TestChild, waitFor } from "@tessera/testkit";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { type ActsAgent, actsFiles, type LedgerEntry, readLedger } from "./acts-bundle.ts";
import type { ProcessMessage } from "./agents-process.ts";
import { AgentsWorld, type Crew } from "./agents-world.ts";

const TEST_MS = 60_000;
const ONE_STEP = ["agent.thought", "tool.call", "tool.result", "agent.thought", "task.deliverable"];

let world: AgentsWorld;
let tests = 0;
const crews: Crew[] = [];
beforeAll(async () => {
  world = await AgentsWorld.open("postgres");
});
afterEach(async () => {
  for (const child of world.children) if (child.exit === null) await child.kill();
  for (const crew of crews.splice(0)) await crew.close();
});
afterAll(async () => {
  await world.expectOneEndEach();
  await world.expectClean();
  await world.close();
});

/** A bundle with a ledger of its own. */
function prepare(agents: readonly ActsAgent[], how: { readonly hangs?: boolean; readonly workMs?: number } = {}) {
  tests += 1;
  const path = join(world.directory, `ledger-${tests}`);
  const bundle = world.bundle(actsFiles(agents, { ledger: path, ...how }));
  return { bundle, instance_key: `t${tests}`, ledger: () => readLedger(path) };
}

async function survive(bundle: string): Promise<void> {
  crews.push(await world.crew(bundle));
}

/** The kill happened, and while the turn was under way. */
async function killed(child: TestChild, turn: string): Promise<void> {
  await waitFor(() => child.exit, { what: `the child to be killed; it printed ${child.output.join("; ")}` }).catch(
    async (error) => {
      const { status, error_message } = await world.turn(turn);
      throw new Error(`the turn is ${status} (${error_message})`, { cause: error });
    },
  );
  await child.expectSignal("SIGKILL");
}

const attemptsOf = (entries: readonly LedgerEntry[], name: string) =>
  entries.filter((entry) => entry.name === name).map((entry) => entry.attempt);
const typesOf = async (turn: string) => (await world.cards(turn)).map((card) => card.type);

describe("a worker killed -9 at a moment of the loop", () => {
  it.each([
    ["before it has the turn", "resume.before_commit", [1]],
    ["when it has the turn", "resume.after_commit", [1]],
    ["after the model answered and before the commit", "suspend_on_calls.before_commit", [1]],
    ["after the commit and before the tool ran", "suspend_on_calls.after_commit", [2]],
    ["after the tool ran and before its result was kept", "apply_results.before_commit", [1, 2]],
    ["after the result was applied", "apply_results.after_commit", [1]],
    ["before the turn's end is committed", "finish_turn.before_commit", [1]],
    ["after the turn's end is committed", "finish_turn.after_commit", [1]],
  ])(
    "%s changes nothing but time",
    async (_, killAt, attempts) => {
      const { bundle, instance_key, ledger } = prepare([{ name: "doer", calls: ["acts__idempotent"] }]);
      const child = await world.start(bundle, ["worker"], { killAt });
      const turn = await world.ask("doer", "go", { instance_key });
      await killed(child, turn);
      expect(readFileSync(world.killLog, "utf8").trim().split("\n").at(-1)).toBe(`killed at ${killAt}`);
      await survive(bundle);
      expect(await world.ended(turn)).toMatchObject({ error_message: null, status: "success" });
      expect(await world.deliverable(turn)).toBe("done");
      expect(await typesOf(turn)).toEqual(ONE_STEP);
      expect(attemptsOf(ledger(), "idempotent")).toEqual(attempts);
      expect(new Set(ledger().map((entry) => entry.key)).size).toBe(1);
    },
    TEST_MS,
  );

  it.each([
    ["after the commit and before the tool ran", "suspend_on_calls.after_commit", 0],
    ["after the tool ran and before its result was kept", "apply_results.before_commit", 1],
  ])(
    "%s leaves a once call outcome_unknown, and the turn takes its next step",
    async (_, killAt, effects) => {
      const agent = { name: "doer", calls: ["acts__once"], next: ["acts__read"] };
      const { bundle, instance_key, ledger } = prepare([agent]);
      const child = await world.start(bundle, ["worker"], { killAt });
      const turn = await world.ask("doer", "go", { instance_key });
      await killed(child, turn);
      await survive(bundle);
      expect(await world.ended(turn)).toMatchObject({ error_message: null, status: "success" });
      expect(await world.results(turn)).toMatchObject([
        { tool: "acts__once", content: { status: "failed", error: { code: "outcome_unknown" } } },
        { tool: "acts__read", content: { status: "success" } },
      ]);
      expect(attemptsOf(ledger(), "once")).toHaveLength(effects);
    },
    TEST_MS,
  );
});

describe("a worker killed -9 while tools run in it", () => {
  const EFFECTS = ["read", "idempotent", "once", "reconciled"] as const;
  const EXPECTED = {
    read: { status: "success", result: { attempt: 2 } },
    idempotent: { status: "success", result: { attempt: 2 } },
    once: { status: "failed", error: { code: "outcome_unknown" } },
    reconciled: { status: "success", result: { attempt: 2 } },
  };

  it(
    "leaves each call to what its tool declared: alone, beside the others, and beside a service's call",
    async () => {
      const locals = EFFECTS.map((effect) => `acts__${effect}`);
      const agents = [
        ...EFFECTS.map((effect) => ({ name: effect, calls: [`acts__${effect}`], next: ["remote__read"] })),
        { name: "all", calls: locals, next: ["remote__read"] },
        { name: "mixed", calls: ["remote__idempotent", ...locals], next: ["remote__read"] },
      ];
      const { bundle, instance_key, ledger } = prepare(agents, { hangs: true });
      const child = await world.start(bundle, ["worker"]);
      const turns = new Map<string, string>();
      for (const { name } of agents) turns.set(name, await world.ask(name, "go", { instance_key }));
      await waitFor(() => ledger().length === 3 * EFFECTS.length, {
        what: "every local tool to act",
        timeoutMs: 20_000,
      });
      await child.kill();
      expect(new Set(ledger().map((entry) => entry.pid))).toEqual(new Set([child.pid]));
      await survive(bundle); // and with it the service, which was not there before
      const results = async (name: string) => {
        return (await world.results(turns.get(name) ?? "")).map(({ content }) => content);
      };
      for (const [name, turn] of turns) {
        const ended = await world.ended(turn);
        expect({ name, ...ended }).toMatchObject({ name, error_message: null, status: "success" });
      }
      const next = { status: "success" };
      for (const effect of EFFECTS) expect(await results(effect)).toMatchObject([EXPECTED[effect], next]);
      const all = EFFECTS.map((effect) => EXPECTED[effect]);
      expect(await results("all")).toMatchObject([...all, next]);
      expect(await results("mixed")).toMatchObject([{ status: "success" }, ...all, next]);
      expect(attemptsOf(ledger(), "once")).toEqual([1, 1, 1]);
      expect(attemptsOf(ledger(), "reconciled")).toEqual([1, 1, 1]);
    },
    TEST_MS,
  );
});

describe("a turn whose worker dies every time", () => {
  it(
    "fails as crash_loop at the third crash, and its agent takes the next turn",
    async () => {
      const { bundle, instance_key, ledger } = prepare([{ name: "doer", calls: ["acts__once"] }]);
      const killAt = "suspend_on_calls.before_commit";
      const first = await world.start(bundle, ["worker"], { killAt });
      const turn = await world.ask("doer", "go", { instance_key });
      await killed(first, turn);
      for (let crash = 2; crash <= 3; crash += 1) {
        expect((await world.turn(turn)).ended_at).toBeNull();
        await killed(await world.start(bundle, ["worker"], { killAt, awaitReady: false }), turn);
      }
      const ended = await world.ended(turn);
      expect(ended).toMatchObject({ status: "failed", error_code: "crash_loop" });
      expect(ledger()).toEqual([]);
      await survive(bundle);
      const next = await world.ask("doer", "again", { instance_key });
      expect(await world.ended(next)).toMatchObject({ error_message: null, status: "success" });
    },
    TEST_MS,
  );
});

describe("a worker that stands still past its lease", () => {
  it(
    "writes nothing when it goes on: the turn is another's",
    async () => {
      const { bundle, instance_key, ledger } = prepare([{ name: "doer", calls: ["acts__once"], thinksMs: 1_000 }]);
      const child = await world.start(bundle, ["worker"]);
      const turn = await world.ask("doer", "go", { instance_key });
      await waitFor(async () => (await world.turn(turn)).turn_status === "running", { what: "the turn to run" });
      const names = workerNames(child.messages);
      child.stop();
      await survive(bundle);
      expect(await world.ended(turn)).toMatchObject({ error_message: null, status: "success" });
      const before = await world.cards(turn);
      child.resume();
      await waitFor(() => workerNames(child.messages).length > names.length, {
        what: "it to come back by another name",
      });
      const next = await world.ask("doer", "again", { instance_key });
      expect(await world.ended(next)).toMatchObject({ status: "success" });
      expect(await child.terminate()).toEqual({ code: 0, signal: null }); // nothing of it is still under way
      expect(await world.cards(turn)).toEqual(before);
      expect(before.map((card) => card.type)).toEqual(ONE_STEP);
      expect(attemptsOf(ledger(), "once")).toEqual([1, 1]);
    },
    TEST_MS,
  );
});

describe("two workers and a thousand wakeups", () => {
  it(
    "take each turn once",
    async () => {
      const { bundle, instance_key, ledger } = prepare([{ name: "doer", calls: ["acts__once"], thinksMs: 20 }]);
      await survive(bundle);
      await survive(bundle);
      const turns: string[] = [];
      for (let n = 0; n < 10; n += 1) turns.push(await world.ask("doer", `go ${n}`, { instance_key }));
      const { agent_id } = await world.turn(turns[0] ?? "");
      for (let n = 0; n < 500; n += 1) {
        for (const { agents } of crews) agents.worker?.wake("swarm", String(agent_id));
      }
      for (const turn of turns) {
        expect(await world.ended(turn)).toMatchObject({ error_message: null, status: "success" });
        expect(await typesOf(turn)).toEqual(ONE_STEP);
      }
      expect(attemptsOf(ledger(), "once")).toEqual(turns.map(() => 1));
    },
    TEST_MS,
  );
});

function workerNames(messages: readonly unknown[]): string[] {
  const names = (messages as ProcessMessage[]).flatMap(({ worker_id }) => worker_id ?? []);
  return [...new Set(names)];
}
