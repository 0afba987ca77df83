// The methods of the kernel under damaged traffic of a real turn: what is refused changes no row, nothing breaks the engine,
// and what is accepted leaves every invariant intact.

import { DatabaseError, INVARIANTS, type Kernel, type Statements } from "@tessera/kernel";
import { isErrorCode, TesseraError } from "@tessera/protocol";
import { rolledBack } from "@tessera/testkit/rolled-back";
import fc from "fast-check";
import { afterAll, beforeAll, expect } from "vitest";
import { Fixture } from "../../packages/kernel/test/fixture.ts";
import { damagedText } from "./damaged-text.ts";
import { damagedJsonText, damagedLeaves, damagedValue } from "./damaged-values.ts";
import { ANSWER_MS_MAX, fuzzSuite, workedMs } from "./fuzz-run.ts";
import { type Recorded, recorded, TappedDatabase } from "./kernel-traffic.ts";
import { changedTables, rowsDigest } from "./rows-digest.ts";

const fuzz = fuzzSuite("kernel");
const fx = new Fixture();
const methods = new Map<string, Recorded>();
let tap: TappedDatabase;
let kernel: Kernel;
let before = "";

beforeAll(async () => {
  await fx.open();
  tap = new TappedDatabase(fx.store.database);
  kernel = fx.anotherKernel(tap);
  for (const each of await recorded(fx, tap, kernel)) methods.set(each.name, each);
  before = await rowsDigest(fx.store.database);
});
afterAll(async () => {
  await fx.close();
});

const NAMES = [
  ...["enqueueTurn", "resume", "suspendOnCalls", "appendCards", "finishTurn", "stopTurn", "applyResults", "openCall"],
  ...["renewCall", "putResultCard", "report", "openBatch", "renewWorker", "putAgent", "putTool", "putCard", "putBox"],
  ...["putDeadLetter", "deferTurn", "moveBatchTask", "dispatchBatchTask", "finishBatch", "putProfile", "removeProfile"],
  ...["putProject", "createApiKey", "revokeApiKey", "putAudit", "repeatCall"],
  ...["takeAnswers", "resetConversation"],
];
/** Of each method. The methods of executors and of agents' steps carry the most foreign data. */
const INPUTS = 25;
/** One in so many accepted inputs is followed by a look at the invariants. */
const LOOK_EVERY = 6;

const methodOf = (name: string): Recorded => {
  const found = methods.get(name);
  if (found === undefined) throw new Error(`no request was recorded for ${name}`);
  return found;
};

interface Answer {
  readonly outcomes: readonly unknown[];
  readonly error?: string;
}

/** Asks in a transaction that is taken back, and holds the answer to what the header says. */
async function check(
  target: string,
  work: (tx: Statements) => Promise<readonly unknown[]>,
  seen: { accepted: number },
) {
  const spent = workedMs();
  const answer = await rolledBack(fx.store.database, async (tx): Promise<Answer> => {
    let outcomes: readonly unknown[];
    try {
      outcomes = await work(tx);
    } catch (error) {
      return { outcomes: [], error: kindOf(error) };
    }
    expect(spent()).toBeLessThan(ANSWER_MS_MAX);
    const words = outcomes.map(wordOf);
    if (words.every((word) => word !== "accepted" && word !== "nothing" && !isMove(target, word)))
      expect(changedTables(before, await rowsDigest(tx))).toEqual([]);
    else if (seen.accepted++ % LOOK_EVERY === 0) await expectSafe(tx);
    return { outcomes: words };
  });
  if (answer.error !== undefined) expect(answer.error).toBe("statement");
  for (const word of answer.error === undefined ? answer.outcomes : ["statement error"])
    fuzz.note(target, String(word));
}

/** Refusals that are moves of their own: a child that cannot be started ends its task, a turn put off too often ends. */
const isMove = (target: string, word: string): boolean =>
  target.startsWith("dispatchBatchTask:") || word === "resume_retry_exhausted";

function wordOf(outcome: unknown): string {
  const { outcome: word, code } = (outcome ?? {}) as { outcome?: unknown; code?: unknown };
  expect(["accepted", "duplicate", "rejected", "nothing"]).toContain(word);
  if (word === "rejected") expect(isErrorCode(String(code)), `rejected with ${String(code)}`).toBe(true);
  return word === "rejected" ? String(code) : String(word);
}

/** What kind of fault of the database it was; any other error is thrown on. */
function kindOf(error: unknown): string {
  if (error instanceof DatabaseError) return error.kind;
  if (TesseraError.is(error) && error.code === "storage_error") return String(error.details.kind);
  throw error;
}

async function expectSafe(tx: Statements): Promise<void> {
  for (const { name, kind, text } of INVARIANTS) {
    if (kind === "safety") expect({ name, rows: await tx.query(text) }).toEqual({ name, rows: [] });
  }
}

/** As many values as the statement takes, each text or nothing; where the text is no list of values, it is the first of them. */
function valuesIn(text: string, { items }: Recorded): unknown[] {
  let read: unknown;
  try {
    read = JSON.parse(text);
  } catch {
    read = [text];
  }
  const values = Array.isArray(read) ? read : [text];
  const asText = (value: unknown) => (value == null || typeof value === "string" ? value : JSON.stringify(value));
  return (items as readonly unknown[]).map((_, n) => asText(values[n] ?? null));
}

for (const name of NAMES) {
  const seen = { accepted: 0 };
  const late = <T>(make: (method: Recorded) => fc.Arbitrary<T>): fc.Arbitrary<T> =>
    fc.constant(null).chain(() => make(methodOf(name)));

  const requests = late(({ request }) => damagedLeaves(request));
  fuzz.target(`${name}: damaged requests`, INPUTS, requests, async (request) => {
    const ask = async (tx: Statements) => {
      tap.to = tx;
      tap.sent.length = 0;
      return [await methodOf(name).ask(kernel, request as never)];
    };
    await check(`${name}: damaged requests`, ask, seen);
  });

  const texts = late(({ items }) =>
    fc.oneof(
      {
        weight: 8,
        arbitrary: damagedValue(items).map((value) => JSON.stringify(value) ?? "null"),
      },
      { weight: 1, arbitrary: damagedJsonText(items) },
      { weight: 1, arbitrary: damagedText(JSON.stringify(items)) },
    ),
  );
  fuzz.target(`${name}: damaged items, straight into l0`, INPUTS, texts, async (text) => {
    const method = methodOf(name);
    const ask = async (tx: Statements) => {
      const values = method.hasItems ? [text, ...method.rest] : valuesIn(text, method);
      const [row] = await tx.query<{ answer: unknown }>(method.text, values);
      return method.hasItems ? ((row?.answer ?? []) as readonly unknown[]) : [row?.answer];
    };
    await check(`${name}: damaged items, straight into l0`, ask, seen);
  });
}
