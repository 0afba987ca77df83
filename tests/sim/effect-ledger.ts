// The world outside: what tools really did, remembered only by the test.
//
//   L1. An effect that was refused did not happen: a system that was told that a run is given up refuses it later.

export interface Effect {
  readonly toolName: string;
  readonly idempotencyKey: string;
  readonly attempt: number;
}

export class EffectLedger {
  readonly #effects = new Map<string, Effect[]>();
  /** Attempts below this may have no effect any more. */
  readonly #fences = new Map<string, number>();

  /** False: refused (L1). */
  apply(toolCallId: string, effect: Effect): boolean {
    if (effect.attempt < (this.#fences.get(toolCallId) ?? 0)) return false;
    const effects = this.#effects.get(toolCallId);
    if (effects === undefined) this.#effects.set(toolCallId, [effect]);
    else effects.push(effect);
    return true;
  }

  /** Whether the call has had its effect; if not, attempts before this one will have none. */
  settle(toolCallId: string, attempt: number): boolean {
    if (this.of(toolCallId).length > 0) return true;
    this.#fences.set(toolCallId, attempt);
    return false;
  }

  of(toolCallId: string): readonly Effect[] {
    return this.#effects.get(toolCallId) ?? [];
  }

  calls(): readonly string[] {
    return [...this.#effects.keys()];
  }
}
