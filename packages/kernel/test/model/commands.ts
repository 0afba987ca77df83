// The commands that fast-check draws, runs against model and kernel, and shrinks.

import fc from "fast-check";
import { type Choice, operationOf } from "./choices.ts";
import { type Model, viewOf } from "./model-state.ts";
import { expectedOf, type Kind, type Operation, perform } from "./operations.ts";
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
  claimCalls: 2,
  saveCard: 1,
  appendCards: 1,
  defer: 1,
  stop: 1,
  retireWorker: 1,
  openBatch: 2,
  moveTask: 2,
  finishBatch: 1,
  putProject: 1,
  readEvents: 1,
  deleteProject: 1,
};

export type ModelCommand = fc.AsyncCommand<Model, System>;

class Command implements ModelCommand {
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

/** How an operation is asked for several at once. */
const BATCHES: { readonly [K in Kind]?: "one of each agent" | "any" } = {
  // These the kernel's client never splits: whatever they name twice is answered in the order of the items.
  enqueue: "any",
  open: "any",
  renew: "any",
  resume: "one of each agent",
  suspend: "one of each agent",
  applyResults: "one of each agent",
  finish: "one of each agent",
  defer: "one of each agent",
  stop: "one of each agent",
  appendCards: "one of each agent",
  saveCard: "one of each agent",
  report: "one of each agent",
};

/** Several operations of one kind, asked at the same moment: one batch. */
class Batch implements ModelCommand {
  readonly #choices: readonly Choice[];

  constructor(picked: readonly Choice[]) {
    this.#choices = picked;
  }

  check(model: Readonly<Model>): boolean {
    return this.#choices.some((choice) => operationOf(model, choice) !== null);
  }

  async run(model: Model, system: System): Promise<void> {
    const asked: Asked[] = [];
    const known = new Set<string>();
    for (const choice of this.#choices) {
      const picked = operationOf(model, choice);
      if (picked === null) continue;
      // In which order the agents of a batch come is not said: nothing of it may depend on another's turn.
      const op = picked.kind === "enqueue" ? { ...picked, parent: null } : picked;
      const name = BATCHES[op.kind] === "any" ? ("turn" in op ? op.turn : `${known.size}`) : agentIn(model, op);
      if (known.has(name)) continue;
      known.add(name);
      asked.push({ op, expected: expectedOf(model, op) });
    }
    system.reach(asked.length > 2 ? "batch: several" : "batch: few");
    await compare(model, system, asked);
  }

  toString(): string {
    return `batch(${this.#choices.map((choice) => new Command(choice).toString()).join(", ")})`;
  }
}

function agentIn(model: Model, op: Operation): string {
  if ("agent" in op) return op.agent;
  if ("turn" in op) return model.turns[op.turn]?.agent ?? "";
  return "call" in op ? (model.calls[op.call]?.agent ?? "") : "";
}

interface Asked {
  readonly op: Operation;
  readonly expected: string;
}

export async function runOperation(model: Model, system: System, op: Operation): Promise<void> {
  await runTogether(model, system, [op]);
}

/** Operations that do not touch one another, asked at the same moment: those of one kind travel as one batch. */
export async function runTogether(model: Model, system: System, ops: readonly Operation[]): Promise<void> {
  await compare(
    model,
    system,
    ops.map((op) => ({ op, expected: expectedOf(model, op) })),
  );
}

async function compare(model: Model, system: System, asked: readonly Asked[]): Promise<void> {
  system.trace.push(...asked.map(({ op }) => op));
  const answered = await Promise.all(asked.map(({ op }) => perform(system, op)));
  for (const [n, { op }] of asked.entries()) system.reach(`${op.kind}: ${answered[n]}`);
  const [said, seen] = [asked.map(({ expected }) => expected).join(" and "), answered.join(" and ")];
  if (said !== seen) throw new Disagreement(system.trace, said, seen);
  system.unseen += asked.length;
  if (system.unseen >= system.lookEvery) await look(model, system);
}

/** The rows must say what the model says. */
export async function look(model: Model, system: System): Promise<void> {
  if (system.unseen === 0) return;
  system.unseen = 0;
  const [said, seen] = [viewOf(model), await system.view()];
  if (canonical(said) !== canonical(seen)) throw new Disagreement(system.trace, ...difference(said, seen));
}

export class Disagreement extends Error {
  constructor(trace: readonly object[], expected: string, answered: string) {
    const asked = trace.map((op) => JSON.stringify(op)).join("\n  ");
    super(`after\n  ${asked}\nthe model expects ${expected}\nthe kernel says   ${answered}`);
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

const batches = Object.keys(BATCHES).map((kind) =>
  fc.array(choiceOf(kind as Kind), { minLength: 2, maxLength: 4 }).map((picked): ModelCommand => new Batch(picked)),
);
/** Of the commands drawn, about one in eight is a batch. */
const BATCH_WEIGHT = 8;

export const plainCommands: fc.Arbitrary<ModelCommand>[] = [
  ...Array.from({ length: BATCH_WEIGHT }, () => fc.oneof(...batches)),
  ...Object.entries(WEIGHTS).flatMap(([kind, weight]) =>
    Array.from({ length: weight }, () => choiceOf(kind as Choice["kind"]).map((choice) => new Command(choice))),
  ),
];

export const choices: fc.Arbitrary<Choice> = fc.oneof(
  ...Object.entries(WEIGHTS).map(([kind, weight]) => ({ weight, arbitrary: choiceOf(kind as Choice["kind"]) })),
);
