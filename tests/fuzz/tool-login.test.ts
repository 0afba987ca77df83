// The four functions of a tool's login on a real PostgreSQL, asked in SQL: whatever a tool sends there, its backend lives on,
// answers within a second, and what was refused has changed nothing but the audit log.

import { readFileSync } from "node:fs";
import { type Database, DatabaseError, verifyStore } from "@tessera/kernel";
import { isErrorCode } from "@tessera/protocol";
import fc from "fast-check";
import { afterAll, beforeAll, expect } from "vitest";
import { Fixture, PROJECT } from "../../packages/kernel/test/fixture.ts";
import { damagedText } from "./damaged-text.ts";
import { damagedValue } from "./damaged-values.ts";
import { ANSWER_MS_MAX, fuzzSuite } from "./fuzz-run.ts";
import { hostileJson, hostileText } from "./hostile-values.ts";
import { changedTables, rowsDigest } from "./rows-digest.ts";

const FUNCTIONS = ["open_call", "renew_call", "put_result_card", "report"] as const;
type FunctionName = (typeof FUNCTIONS)[number];
const INPUTS = 80;
/** Up to some megabytes. What is longer costs what reading its JSON costs, before any function is asked. */
const LENGTHS = [0, 2, 63, 64, 65, 500, 8_000];
const CONTENT = {
  ...{ status: "failed", after_execution: "suspend", result: { rows: [1, { a: null }] } },
  error: { code: "bad_request", message: "no", source: "tool", retryable: false, detail: { field: "x" } },
};

const fuzz = fuzzSuite("tool login");
const fx = new Fixture();
const rolesSql = readFileSync(new URL("../../deploy/roles.sql", import.meta.url), "utf8");
const login = `fuzz_tool_${Math.trunc(performance.timeOrigin).toString(36)}`;
const items = new Map<FunctionName, object>();
let tool: Database;
/** A session of its own: when any backend crashes, the server ends them all. */
let witness: Database;
let backend = 0;
let rows = "";

beforeAll(async () => {
  await fx.open();
  await fx.store.database.script(`${rolesSql}; create role ${login} login in role tessera_tool;`);
  tool = await fx.store.another({ user: login, poolMax: 1 });
  const [waiting, held] = [
    await fx.suspended([{}, {}]),
    await fx.opened(await fx.suspended(), 0, { principal: login }),
  ];
  // These functions take no time from the caller, and the fixture's stands still.
  await fx.query("update state.calls set deadline_at = now() + interval '1 hour', due_at = now() + interval '1 hour'");
  const [call] = waiting.calls;
  items.set("open_call", {
    ...{ project_id: PROJECT, tool_call_id: call?.tool_call_id, ticket: call?.ticket, executor: "e1", claim_id: "c1" },
    lease_ms: 15_000,
  });
  const use = { project_id: PROJECT, tool_call_id: held.tool_call_id, capability: held.capability };
  items.set("renew_call", { ...use, lease_ms: 15_000 });
  items.set("put_result_card", { ...use, card_id: fx.ids.mint("card"), content: CONTENT });
  items.set("report", { ...use, content: CONTENT });
  witness = await fx.store.another({ poolMax: 1 });
  backend = await backendOf();
  rows = await rowsDigest(witness);
});
afterAll(async () => {
  await tool.close();
  await fx.store.database.script(`drop owned by ${login}; drop role ${login};`);
  await fx.close();
});

const backendOf = async () => Number((await witness.query<{ pid: number }>("select pg_backend_pid() as pid"))[0]?.pid);

interface Answer {
  readonly words: readonly string[];
  readonly ms: number;
}

/** Asks; what was accepted is taken back, so that every input meets the same store. */
async function ask(fn: FunctionName, text: string): Promise<Answer> {
  const startedAt = performance.now();
  const answer: { words: string[]; ms: number } = { words: [], ms: 0 };
  const takenBack = new Error("taken back");
  const work = tool.transaction(async (tx) => {
    const [row] = await tx.query<{ answer: unknown }>(`select l0.${fn}($1::jsonb) as answer`, [text]);
    answer.ms = performance.now() - startedAt;
    answer.words = (Array.isArray(row?.answer) ? row.answer : []).map(wordOf);
    if (answer.words.includes("accepted")) throw takenBack;
  });
  await work.catch((error: unknown) => {
    if (error === takenBack) return;
    if (!(error instanceof DatabaseError)) throw error;
    expect(error.kind, error.message).toBe("statement");
    answer.ms = performance.now() - startedAt;
    answer.words = ["statement error"];
  });
  return answer;
}

function wordOf(outcome: unknown): string {
  const { outcome: word, code } = (outcome ?? {}) as { outcome?: unknown; code?: unknown };
  expect(["accepted", "duplicate", "rejected"]).toContain(word);
  if (word === "rejected") expect(isErrorCode(String(code)), `rejected with ${String(code)}`).toBe(true);
  return word === "rejected" ? String(code) : String(word);
}

for (const fn of FUNCTIONS) {
  const texts = fc.constant(null).chain(() => {
    const item = items.get(fn) as object;
    const written = (value: unknown) => JSON.stringify(value) ?? "null";
    return fc.oneof(
      { weight: 6, arbitrary: damagedValue([item, item], { editsMax: 2 }).map(written) },
      { weight: 2, arbitrary: damagedText(JSON.stringify([item])).map(storable) },
      { weight: 1, arbitrary: hostileJson.map(written) },
      { weight: 1, arbitrary: hostileText.map(storable) },
      { weight: 1, arbitrary: fc.constantFrom(...LENGTHS).map((length) => manyOf(item, length)) },
    );
  });
  const title = `${fn}, asked by a tool's login`;
  fuzz.target(title, INPUTS, texts, async (text) => {
    let answer = await ask(fn, text);
    // A pause of the machine does not repeat; a slow answer does.
    if (answer.ms >= ANSWER_MS_MAX) answer = await ask(fn, text);
    expect(answer.ms).toBeLessThan(ANSWER_MS_MAX);
    for (const word of new Set(answer.words)) fuzz.note(title, word);
    expect(changedTables(rows, await rowsDigest(witness))).toEqual([]);
    expect(await backendOf(), "no backend crashed").toBe(backend);
  });
}

/** The driver sends texts up to their first NUL; half a pair is no UTF-8. */
const storable = (text: string): string => text.replaceAll("\0", "\\u0000").toWellFormed();

const manyOf = (item: object, length: number): string =>
  `[${Array.from({ length }, () => JSON.stringify(item)).join(",")}]`;

fuzz.target("after all of it the store is in order", 1, fc.constant(null), async () => {
  expect((await verifyStore(fx.store.database, { only: "safety" })).violations).toEqual([]);
});
