// What scripted tools did to the world, outside the store: the witness that no effect happened twice.
//
//   E1. An entry is down before the tool answers; in a file it survives kill -9.

import { appendFileSync } from "node:fs";
import type { Effect } from "@tessera/kernel";
import { wholeLines } from "@tessera/testkit/whole-lines";

export interface EffectEntry {
  readonly tool_call_id: string;
  readonly effect: Effect;
  /** The same for every attempt of one call. */
  readonly key: string;
  readonly attempt: number;
  /** Who acted. */
  readonly by: string;
}

export interface EffectLedger {
  record(entry: EffectEntry): void;
  entries(): readonly EffectEntry[];
}

export class MemoryLedger implements EffectLedger {
  readonly #entries: EffectEntry[] = [];

  record(entry: EffectEntry): void {
    this.#entries.push(entry);
  }

  entries(): readonly EffectEntry[] {
    return this.#entries;
  }
}

/** One line per effect; several processes may append to it. */
export class FileLedger implements EffectLedger {
  readonly #path: string;

  constructor(path: string) {
    this.#path = path;
  }

  record(entry: EffectEntry): void {
    appendFileSync(this.#path, `${JSON.stringify(entry)}\n`); // E1
  }

  entries(): readonly EffectEntry[] {
    return wholeLines(this.#path).map((line) => JSON.parse(line) as EffectEntry);
  }
}
