// Holds the answers of a step until all its calls have run, then lets them go in an order drawn from the seed.

import type { OpenedCall } from "@tessera/kernel";

export class ShuffledAnswers {
  readonly #random: () => number;
  readonly #stepSize: number;
  readonly #gathered = new Map<string, { call: OpenedCall; release: () => void }[]>();

  constructor(random: () => number, stepSize: number) {
    this.#random = random;
    this.#stepSize = stepSize;
  }

  /** For `beforeReport`: resolves when it is this call's turn to answer. */
  wait(call: OpenedCall): Promise<void> {
    return new Promise((release) => {
      const step = [
        ...(this.#gathered.get(call.step_id) ?? []).filter((held) => held.call.tool_call_id !== call.tool_call_id),
      ];
      step.push({ call, release });
      this.#gathered.set(call.step_id, step);
      if (step.length < this.#stepSize) return;
      this.#gathered.delete(call.step_id);
      for (let left = step.length; left > 0; left -= 1) {
        const [chosen] = step.splice(Math.floor(this.#random() * left), 1);
        chosen?.release();
      }
    });
  }
}
