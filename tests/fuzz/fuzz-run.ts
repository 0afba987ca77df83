// How every fuzz suite runs: its seed, how many inputs, what an answer may be, and how many there were.
//
//   F1. An input is answered with a value or with a TesseraError of the catalogue, within a second. Every other error is a bug.
//   F2. A run is repeated exactly with TESSERA_SEED; TESSERA_FUZZ_RUNS multiplies the number of inputs.
//   F3. Every input is counted under its target, and the counts are printed when the suite ends. With TESSERA_PROOF=1 they are
//       written down among the records of the proof, under the commit that the suite began with. A target that did not come to
//       its end is a finding, also where it hung or was never begun.

import { ERROR_MESSAGE_CHARS_MAX, isErrorCode, TesseraError } from "@tessera/protocol";
import { seedFromEnvironment } from "@tessera/testkit";
import fc from "fast-check";
import { afterAll, it } from "vitest";
import { appendProof, PROOF_FILE, stamp } from "../../scripts/proof/record.ts";

export const ANSWER_MS_MAX = 1_000;

const SECONDS_PER_FACTOR = 30;
const seed = seedFromEnvironment();
const factor = Number(process.env.TESSERA_FUZZ_RUNS ?? 1);
if (!(factor > 0)) throw new Error("TESSERA_FUZZ_RUNS must be a number above 0: how many times the usual inputs");

export type Verdict<T> = { readonly value: T; readonly error?: never } | { readonly error: TesseraError };

export interface Suite {
  /** One test: `property` must hold for `inputs` values, times TESSERA_FUZZ_RUNS (F2). */
  target<T>(
    name: string,
    inputs: number,
    arbitrary: fc.Arbitrary<T>,
    property: (input: T) => void | Promise<void>,
  ): void;
  /** Notes how an input was answered, for the table at the end. */
  note(name: string, answer: string): void;
}

export function fuzzSuite(title: string): Suite {
  const counts = new Map<string, { inputs: number; readonly answers: Map<string, number> }>();
  const countsOf = (name: string) => {
    const found = counts.get(name) ?? { inputs: 0, answers: new Map<string, number>() };
    counts.set(name, found);
    return found;
  };

  // F3
  const stamped = process.env.TESSERA_PROOF === "1" ? stamp() : null;
  const unproven = new Set<string>();

  // F3
  afterAll(async () => {
    const total = [...counts.values()].reduce((sum, { inputs }) => sum + inputs, 0);
    const rows = [...counts].map(([name, { inputs, answers }]) => {
      const parts = [...answers].sort(([, a], [, b]) => b - a).map(([answer, n]) => `${answer} ${n}`);
      return `  ${String(inputs).padStart(7)}  ${name}${parts.length === 0 ? "" : `: ${parts.slice(0, 8).join(", ")}`}`;
    });
    console.log([`fuzz ${title}: ${total} inputs, TESSERA_SEED=${seed.value}`, ...rows].join("\n"));
    if (stamped === null) return;
    await appendProof({ run: "fuzz", door: title, inputs: total, findings: unproven.size }, PROOF_FILE, stamped);
  });

  return {
    target(name, inputs, arbitrary, property) {
      unproven.add(name);
      const run = async () => {
        const counted = countsOf(name);
        const once = async (input: Parameters<typeof property>[0]) => {
          counted.inputs += 1;
          await property(input);
        };
        const numRuns = Math.max(1, Math.round(inputs * factor));
        try {
          await fc.assert(fc.asyncProperty(arbitrary, once), { seed: seedOf(name), numRuns });
          unproven.delete(name);
        } catch (error) {
          if (error instanceof Error) error.message = `${error.message}\n${seed.hint}`;
          throw error;
        }
      };
      it(name, { timeout: SECONDS_PER_FACTOR * 1_000 * Math.max(1, factor) }, run);
    },
    note(name, answer) {
      const { answers } = countsOf(name);
      answers.set(answer, (answers.get(answer) ?? 0) + 1);
    },
  };
}

/** Each target has its own sequence, or all of them would try the same places. */
function seedOf(name: string): number {
  let mixed = seed.value | 0;
  for (const unit of name) mixed = Math.imul(mixed ^ (unit.codePointAt(0) ?? 0), 0x01000193);
  return mixed;
}

/** F1 for what answers at once. It is asked again where it was slow: a hang repeats, a pause of the machine does not. */
export function ask<T>(run: () => T): Verdict<T> {
  const first = timed(run);
  const { verdict, ms } = first.ms < ANSWER_MS_MAX ? first : timed(run);
  if (ms >= ANSWER_MS_MAX) throw new Error(`answered after ${Math.round(ms)} ms`);
  return verdict;
}

/** How long this process has worked since now, for what cannot be asked twice: pauses of the machine do not count. */
export function workedMs(): () => number {
  const before = process.cpuUsage();
  return () => {
    const { user, system } = process.cpuUsage(before);
    return (user + system) / 1_000;
  };
}

function timed<T>(run: () => T): { verdict: Verdict<T>; ms: number } {
  const startedAt = performance.now();
  let verdict: Verdict<T>;
  try {
    verdict = { value: run() };
  } catch (error) {
    verdict = { error: refusalOf(error) };
  }
  return { verdict, ms: performance.now() - startedAt };
}

/** F1: the error as one that may cross a boundary; anything else is thrown on. */
function refusalOf(error: unknown): TesseraError {
  if (!TesseraError.is(error)) throw error;
  if (!isErrorCode(error.code))
    throw new Error(`refused with ${String(error.code)}, which is no code`, { cause: error });
  if (error.message.length > ERROR_MESSAGE_CHARS_MAX) {
    throw new Error(`refused with a message of ${error.message.length} characters`, { cause: error });
  }
  return error;
}
