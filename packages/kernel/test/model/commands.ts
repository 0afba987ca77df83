// The commands that fast-check draws, runs against model and kernel, and shrinks.

import fc from "fast-check";
import { type Choice, operationOf } from "./choices.ts";
import { type Model, viewOf } from "./model-state.ts";
import { expectedOf, type Operation, perform } from "./operations.ts";
import type { System } from "./system.ts";

/** How often each kind is drawn, relative to the others. */
const WEIGHTS: { readonly [K in Choice["kind"]]: number } = {
  work: 20,
  enqueue: 2,
  resume: 2,
  suspend: 2,
  open: 2,
  report: 3,
  applyResults: 1,
  finish: 1,
  advance: 4,
  sweep: 3,
  renewWorker: 1,
  renew: 1,
  saveCard: 1,
  defer: 1,
  stop: 1,
  retireWorker: 1,
};

export type ModelCommand = fc.AsyncCommand<Model, System>;

export class Command implements ModelCommand {
  readonly #choice: Choice;

  constructor(choice: Choice) {
    this.#choice = choice;
  }

  check(model: Readonly<Model>): boolean {
    return operationOf(model, this.#choice) !== null;
  }

  async run(model: Model, system: System): Promise<void> {
    const op = operationOf(model, this.#choice);
    if (op === null) return;
    await runOperation(model, system, op);
  }

  /** The operations themselves are in the message of the disagreement: one command may mean another in every sequence. */
  toString(): string {
    const { kind, whom, luck, detail, calls } = this.#choice;
    return `${kind}(${[whom, luck, detail, ...calls].join(" ")})`;
  }
}

export async function runOperation(model: Model, system: System, op: Operation): Promise<void> {
  system.trace.push(JSON.stringify(op));
  const expected = expectedOf(model, op);
  const answered = await perform(system, op);
  system.reach(`${op.kind}: ${answered}`);
  if (answered !== expected) throw new Disagreement(system.trace, expected, answered);
  const [said, seen] = [viewOf(model), await system.view()];
  if (canonical(said) !== canonical(seen)) throw new Disagreement(system.trace, ...difference(said, seen));
}

export class Disagreement extends Error {
  constructor(trace: readonly string[], expected: string, answered: string) {
    super(`after\n  ${trace.join("\n  ")}\nthe model expects ${expected}\nthe kernel says   ${answered}`);
  }
}

/** JSON with sorted keys: two views that say the same are the same text. */
export function canonical(value: unknown): string {
  return JSON.stringify(value, (_key, item: unknown) =>
    item !== null && typeof item === "object" && !Array.isArray(item)
      ? Object.fromEntries(Object.entries(item).sort(([a], [b]) => (a < b ? -1 : 1)))
      : item,
  );
}

function difference(said: object, seen: object): [string, string] {
  const flat = (view: object) =>
    new Map(
      Object.entries(view).flatMap(([part, rows]: [string, unknown]) =>
        Array.isArray(rows) || rows === null || typeof rows !== "object"
          ? [[part, canonical(rows)] as const]
          : Object.entries(rows).map(([id, row]) => [`${part}.${id}`, canonical(row)] as const),
      ),
    );
  const [left, right] = [flat(said), flat(seen)];
  const keys = [...new Set([...left.keys(), ...right.keys()])].filter((key) => left.get(key) !== right.get(key));
  const show = (side: Map<string, string>) => keys.map((key) => `${key} = ${side.get(key) ?? "nothing"}`).join("; ");
  return [show(left), show(right)];
}

const number = fc.nat(1_000);

const choiceOf = (kind: Choice["kind"]) =>
  fc.record({
    kind: fc.constant(kind),
    whom: number,
    luck: number,
    detail: number,
    calls: kind === "suspend" || kind === "work" ? fc.array(number, { minLength: 1, maxLength: 4 }) : fc.constant([]),
  });

export const plainCommands: fc.Arbitrary<ModelCommand>[] = Object.entries(WEIGHTS).flatMap(([kind, weight]) =>
  Array.from({ length: weight }, () => choiceOf(kind as Choice["kind"]).map((choice) => new Command(choice))),
);

export const choices: fc.Arbitrary<Choice> = fc.oneof(
  ...Object.entries(WEIGHTS).map(([kind, weight]) => ({ weight, arbitrary: choiceOf(kind as Choice["kind"]) })),
);
