// Several clients at once. Each operation of a race goes through a kernel client of its own; a scheduler decides in which
// order their statements reach the store, and on PostgreSQL they meet there on connections of their own.
//
//   R1. A race is right if some order of its operations, one after another, gives every answer that was given and the rows
//       that are there now (linearizability). The model then goes on from that order.
//   R2. All operations are chosen before the race: no client knows what the others do.
//   R3. Whichever of several reports settles last wakes the agent; two may both believe so, which is harmless, none is not.

import { setImmediate as nextTurn } from "node:timers/promises";
import fc from "fast-check";
import { type Clock, type Database, type Kernel, openKernel } from "../../src/index.ts";
import type { Fixture } from "../fixture.ts";
import { type Choice, operationOf } from "./choices.ts";
import { canonical, choices, Disagreement, type ModelCommand } from "./commands.ts";
import { type Model, viewOf } from "./model-state.ts";
import { expectedOf, type Kind, type Operation, perform } from "./operations.ts";
import type { System } from "./system.ts";

const CLIENTS = 4;
/** What takes no part in a race: time, and what is several transactions or passes over rows that others hold. */
const ALONE: ReadonlySet<Kind> = new Set([
  "advance",
  "sweep",
  "claimCalls",
  "readEvents",
  "deleteProject",
  "openBatch",
]);

/** Where statements wait for the scheduler; open when there is none. */
interface Gate {
  pass: ((label: string) => Promise<unknown>) | null;
}

export interface Racers {
  readonly gate: Gate;
  readonly kernels: readonly Kernel[];
}

export async function openRacers(fixture: Fixture): Promise<Racers> {
  const gate: Gate = { pass: null };
  const kernels: Kernel[] = [];
  for (let n = 0; n < CLIENTS; n += 1) {
    const database = gated(await fixture.store.another({ poolMax: 2 }), gate, `client ${n}`);
    kernels.push(openKernel({ database, bus: fixture.bus, clock: impatient(fixture.clock), ids: fixture.ids }));
  }
  return { gate, kernels };
}

function gated(database: Database, gate: Gate, label: string): Database {
  return {
    ...database,
    capabilities: database.capabilities,
    query: async (text, values) => {
      await gate.pass?.(label);
      return await database.query(text, values);
    },
  };
}

/** Time stands still during a race, so a statement that is repeated after a deadlock must not wait for it to pass. */
function impatient(clock: Clock): Clock {
  return {
    databaseTime: () => clock.databaseTime(),
    monotonicMs: () => clock.monotonicMs(),
    after: (_ms, task) => {
      const timer = setImmediate(task);
      return { cancel: () => clearImmediate(timer) };
    },
  };
}

class Race implements ModelCommand {
  readonly #choices: readonly Choice[];
  readonly #racers: Racers;
  readonly #scheduler: () => fc.Scheduler;

  constructor(picked: readonly Choice[], racers: Racers, scheduler: () => fc.Scheduler) {
    this.#choices = picked;
    this.#racers = racers;
    this.#scheduler = scheduler;
  }

  check(model: Readonly<Model>): boolean {
    return this.#operations(model).length >= 2;
  }

  async run(model: Model, system: System): Promise<void> {
    const { gate, kernels } = this.#racers;
    const operations = this.#operations(model);
    system.trace.push({ race: operations });
    gate.pass = (label) => this.#scheduler().schedule(Promise.resolve(), label);
    const running = operations.map((op, n) => perform(system.through(kernels[n] as Kernel), op));
    const answers = await driven(this.#scheduler(), Promise.all(running)).finally(() => {
      gate.pass = null;
    });
    for (const answer of answers) system.reach(`race: ${answer}`);
    system.unseen = 0;
    const after = explain(model, operations, answers, canonical(await system.view()));
    if (after === null) throw new Disagreement(system.trace, "some order of these", answers.join(" and "));
    Object.assign(model, after);
  }

  toString(): string {
    return `race(${this.#choices.map(({ kind, whom, luck, detail }) => `${kind}(${whom} ${luck} ${detail})`).join(", ")})`;
  }

  /** R2 */
  #operations(model: Model): Operation[] {
    return this.#choices.flatMap((choice, n): Operation[] => {
      const op = operationOf(model, choice);
      if (op === null || ALONE.has(op.kind) || (op.kind === "resume" && op.reclaim)) return [];
      // Two answers to one claim would leave it open which of their capabilities is the newer one.
      return op.kind === "open" ? [{ ...op, claimId: `${op.claimId}_${n}` }] : [op];
    });
  }
}

/** The model run waits for its command, so the command itself lets its statements go, one after another, without waiting for
 *  their answers. */
async function driven<T>(scheduler: fc.Scheduler, work: Promise<T>): Promise<T> {
  let isOver = false;
  const end = () => {
    isOver = true;
  };
  work.then(end, end);
  while (!isOver) {
    await nextTurn();
    if (scheduler.count() > 0) await scheduler.waitOne();
  }
  return await work;
}

/** R1: the model after an order that explains what was seen, or null. */
function explain(
  model: Model,
  operations: readonly Operation[],
  answers: readonly string[],
  view: string,
): Model | null {
  for (const order of orders(operations.map((_, n) => n))) {
    const after = structuredClone(model);
    let wakes = 0;
    const isRight = order.every((n) => {
      const expected = expectedOf(after, operations[n] as Operation);
      if (expected === "accepted wake") wakes += 1;
      return withoutWake(expected) === withoutWake(answers[n] ?? "");
    });
    const isWoken = wakes === 0 || answers.includes("accepted wake"); // R3
    if (isRight && isWoken && canonical(viewOf(after)) === view) return after;
  }
  return null;
}

const withoutWake = (answer: string): string => answer.replace(" wake", "");

function orders(items: readonly number[]): number[][] {
  if (items.length <= 1) return [[...items]];
  return items.flatMap((item) => orders(items.filter((other) => other !== item)).map((rest) => [item, ...rest]));
}

export const races = (racers: Racers, scheduler: () => fc.Scheduler): fc.Arbitrary<ModelCommand> =>
  fc.array(choices, { minLength: 2, maxLength: CLIENTS }).map((picked) => new Race(picked, racers, scheduler));
