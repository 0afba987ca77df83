// Ids and random numbers from a seed, so that a run can be repeated exactly.
//
//   I1. The same seed gives the same ids in the same order.
//   I2. The seed comes from TESSERA_SEED, or is drawn and printed with the failure.

import { createHash, randomInt } from "node:crypto";
import type { Ids } from "@tessera/kernel/ports";

export interface Seed {
  readonly value: number;
  /** For the message of a failed test. */
  readonly hint: string;
}

const SEED_MAX = 2 ** 32;
/** 2026-01-01: ids carry a time, which here only counts upwards. */
const FIRST_MS = 1_767_225_600_000;

/** I2 */
export function seedFromEnvironment(): Seed {
  const given = process.env.TESSERA_SEED;
  const value = given ? Number(given) : randomInt(SEED_MAX);
  if (!Number.isInteger(value) || value < 0 || value >= SEED_MAX) {
    throw new Error(`TESSERA_SEED must be a whole number from 0 to ${SEED_MAX - 1}, not ${JSON.stringify(given)}`);
  }
  return { value, hint: `run again with TESSERA_SEED=${value}` };
}

/** Runs `work` with a seed and adds the seed to the message of whatever it throws. */
export async function withSeed<T>(work: (seed: number) => Promise<T>, seed: Seed = seedFromEnvironment()): Promise<T> {
  try {
    return await work(seed.value);
  } catch (error) {
    if (error instanceof Error) error.message = `${error.message}\n${seed.hint}`;
    throw error;
  }
}

export class SeededIds implements Ids {
  readonly #seed: number;
  #count = 0;

  constructor(seed: number) {
    this.#seed = seed;
  }

  mint(prefix: string): string {
    const time = (FIRST_MS + this.#count).toString(16).padStart(12, "0");
    const random = this.#next();
    // The layout of a UUIDv7: 48 bits of time, version 7, 12 random bits, variant 8, 62 random bits.
    return `${prefix}_${time}7${random.slice(0, 3)}8${random.slice(3, 18)}`;
  }

  traceId(): string {
    return this.#next();
  }

  spanId(): string {
    return this.#next().slice(0, 16);
  }

  /** 32 hex digits; a digest is never all zero in practice. */
  #next(): string {
    return createHash("sha256")
      .update(`${this.#seed}/${this.#count++}`)
      .digest("hex")
      .slice(0, 32);
  }
}

/** A small generator of numbers in [0, 1) for choices inside tests (mulberry32). */
export function seededRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / SEED_MAX;
  };
}
