// The judge of a chaos run before a store that is in order, with ledgers and answers that are not: it must notice.

import { appendFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { AgentsWorld } from "../agents/agents-world.ts";
import { chaosBundle, LEDGER_FILE } from "./chaos-bundle.ts";
import { type LedgerLine, readLedger } from "./ledger.ts";
import { lateness } from "./measures.ts";
import { tooLittleKept } from "./throughput.ts";
import { judge } from "./verdict.ts";

let world: AgentsWorld;
let place: string;
let turn: string;
let written: string;

beforeAll(async () => {
  world = await AgentsWorld.open("pglite");
  place = join(world.directory, "place");
  mkdirSync(join(place, "decisions"), { recursive: true });
  await world.crew(world.bundle(chaosBundle(place)));
  turn = await world.ask("local", "go");
  expect(await world.ended(turn)).toMatchObject({ status: "success" });
  written = readFileSync(join(place, LEDGER_FILE), "utf8");
});
afterAll(async () => await world?.close());

const judged = (accepted: readonly string[] = [turn]) =>
  judge({ store: world.node.store.database, accepted: new Set(accepted), ledger: readLedger(place) });

async function judgedWith(lines: (written: string) => string): Promise<readonly string[]> {
  const file = join(place, LEDGER_FILE);
  writeFileSync(file, lines(written));
  const violations = await judged();
  writeFileSync(file, written);
  return violations;
}

const lineOf = (tool: string) =>
  JSON.parse(written.split("\n").find((line) => line.includes(`"${tool}"`)) ?? "") as LedgerLine;

it("finds nothing where everything is in order", async () => {
  expect(await judged()).toEqual([]);
  expect(readLedger(place).calls()).toHaveLength(4);
});

it("notices a once tool that acted twice", async () => {
  const again = { ...lineOf("here__once"), attempt: 2 };
  const violations = await judgedWith((text) => `${text}${JSON.stringify(again)}\n`);
  expect(violations).toEqual([expect.stringContaining("a once tool had 2 effects")]);
});

it("notices a success without its effect", async () => {
  const violations = await judgedWith((text) => text.replace(/^.*"here__once".*\n/m, ""));
  expect(violations).toEqual([expect.stringContaining("it succeeded without an effect")]);
});

it("notices an idempotent call that ran under two keys", async () => {
  const other = { ...lineOf("here__idempotent"), key: "another", attempt: 2 };
  const violations = await judgedWith((text) => `${text}${JSON.stringify(other)}\n`);
  expect(violations).toEqual([expect.stringContaining("its attempts had several keys")]);
});

it("notices a tool that ran for a call that was never committed", async () => {
  const stray = { ...lineOf("here__read"), tool_call_id: "call_nobody" };
  const violations = await judgedWith((text) => `${text}${JSON.stringify(stray)}\n`);
  expect(violations).toEqual([expect.stringContaining("which was never committed")]);
});

it("notices a turn that was accepted and is lost, and one that was never reported", async () => {
  expect(await judged([turn, "turn_lost"])).toEqual(["the turn turn_lost was accepted and has not ended"]);
  expect(await judged([])).toEqual([expect.stringContaining("1 turns were made that no answer named")]);
});

it("distinguishes an attempt that was given up from one that acted", () => {
  const decisions = join(place, "decisions");
  appendFileSync(join(decisions, "key_x.1"), "");
  expect(readLedger(place).calls()).toHaveLength(4);
  rmSync(join(decisions, "key_x.1"));
});

it("notices that kills cost more than half of the turns, or that there were none", () => {
  expect(tooLittleKept(10, 5)).toBeNull();
  expect(tooLittleKept(10, 4.99)).toContain("less than 0.5 of 10 turns/s");
  expect(tooLittleKept(0, 0)).toContain("less than");
});

it("notices a recovery that took longer than promised", () => {
  const recovery = { samples: 3, median: 900, worst: 2_500, limit: 2_000 };
  expect(lateness("broker_return", recovery)).toBeNull();
  expect(lateness("broker_return", { ...recovery, worst: 2_501 })).toContain("took 2501 ms; 2000 ms are promised");
  expect(lateness("broker_return", null)).toBeNull();
});
