// The load of a chaos run: a closed loop over the HTTP API.
//
//   L1. A turn counts as accepted when its answer came. Until then it is asked for again under the same key, so that an
//       answer that was lost makes no second turn.
//   L2. A slot asks for its next turn when its last one has ended: faults slow the load, they do not pile it up.
//   L3. The n-th turn of a seed is always the same: agent, instance, and when it is stopped. Nudges, of which it is unknown how
//       many there will be, are counted by themselves.
//   L4. The key of a run is good all along: a request that is refused for it is a violation.

import { setTimeout as delay } from "node:timers/promises";
import { ApiError } from "@tessera/client";
import { seededRandom } from "@tessera/testkit/seeded-ids";
import type { ChaosAgent } from "./chaos-bundle.ts";
import { type ChaosWorld, PROJECT } from "./chaos-world.ts";

const INSTANCES = 8;
const STOP_CHANCE = 0.05;
const STOP_MS_MAX = 1_500;
const AGAIN_MS = 250;
const LOOK_MS = 100;
/** A turn draws one of these. */
const MIX: readonly ChaosAgent[] = (
  [
    ["clerk", 48],
    ["local", 20],
    ["snake", 15],
    ["slow", 5],
    ["boss", 10],
    ["chief", 2],
  ] as const
).flatMap(([agent, parts]) => Array.from({ length: parts }, () => agent));

interface Plan {
  readonly agent: ChaosAgent;
  readonly instance: string;
  readonly stopAfterMs: number | null;
}

export class Workload {
  /** L1 */
  readonly accepted = new Set<string>();
  /** When each accepted turn was seen to have ended, by this process's clock. */
  readonly endedAtMs = new Map<string, number>();
  /** Requests that were refused for what they are: none may be. */
  readonly refused: string[] = [];
  readonly #world: ChaosWorld;
  readonly #seed: number;
  readonly #waiting = new Map<string, () => void>();
  readonly #slots: Promise<void>[] = [];
  readonly #given = new AbortController();
  #asked = 0;
  #nudged = 0;
  #isAsking = true;

  constructor(world: ChaosWorld, seed: number) {
    this.#world = world;
    this.#seed = seed;
  }

  start(slots: number): void {
    for (let n = 0; n < slots; n++) this.#slots.push(this.#loop().catch(this.#refuse));
    void this.#watch();
  }

  /** Asks for no more turns; resolves when each turn that was asked for is accepted, and ended if that takes no longer than this. */
  async finish(withinMs: number): Promise<void> {
    this.#isAsking = false;
    const late = setTimeout(() => this.#giveUp(), withinMs);
    await Promise.all(this.#slots);
    clearTimeout(late);
    this.#giveUp();
  }

  readonly #refuse = (error: unknown): void => {
    this.refused.push(`a request was refused: ${String(error)}`);
  };

  #giveUp(): void {
    this.#given.abort();
    for (const resolve of this.#waiting.values()) resolve();
  }

  /** One more turn besides those of the slots, of an agent that does nothing else. */
  nudge(): void {
    const name = `nudge-${this.#nudged++}`; // L3
    this.#slots.push(this.#take(name, { agent: "clerk", instance: name, stopAfterMs: null }).catch(this.#refuse));
  }

  async #loop(): Promise<void> {
    while (this.#isAsking) {
      const n = this.#asked++;
      await this.#take(String(n), planOf(this.#seed, n));
    }
  }

  /** Resolves when the turn has ended. */
  async #take(name: string, { agent, instance, stopAfterMs }: Plan): Promise<void> {
    const turn = await this.#untilAnswered(() =>
      this.#world.client.enqueueTurn({
        project: PROJECT,
        idempotencyKey: `chaos-${this.#seed}-${name}`,
        body: { agent, instanceKey: instance, input: "go" },
      }),
    );
    if (turn === null) return;
    const { agentTurnId } = turn;
    this.accepted.add(agentTurnId); // L1
    const stopping = stopAfterMs === null ? null : this.#stop(agentTurnId, stopAfterMs);
    await this.#ended(agentTurnId); // L2
    await stopping;
  }

  async #stop(turn: string, afterMs: number): Promise<void> {
    await delay(afterMs);
    if (this.endedAtMs.has(turn)) return;
    const { client } = this.#world;
    await this.#untilAnswered(async () => {
      try {
        return await client.stopTurn({ project: PROJECT, turn, body: { reason: "chaos" } });
      } catch (error) {
        if (error instanceof ApiError && error.status === 409) return null; // it has ended
        throw error;
      }
    });
  }

  /** Null: given up. A refusal of the request itself is a mistake of ours. */
  async #untilAnswered<T>(ask: () => Promise<T>): Promise<T | null> {
    while (!this.#given.signal.aborted) {
      try {
        return await ask();
      } catch (error) {
        if (!(error instanceof ApiError)) throw error;
        if (!isPassing(error.status)) throw error;
        await delay(AGAIN_MS);
      }
    }
    return null;
  }

  #ended(turn: string): Promise<void> {
    if (this.#given.signal.aborted) return Promise.resolve();
    return new Promise((resolve) => void this.#waiting.set(turn, resolve));
  }

  async #watch(): Promise<void> {
    while (!this.#given.signal.aborted) {
      const open = [...this.#waiting.keys()];
      const rows = await this.#world.database
        .query<{ id: string }>(
          "select agent_turn_id as id from state.agent_turns where agent_turn_id = any($1) and ended_at is not null",
          [open],
        )
        .catch(() => []); // the database may be the victim just now
      for (const { id } of rows) {
        this.endedAtMs.set(id, performance.now());
        this.#waiting.get(id)?.();
        this.#waiting.delete(id);
      }
      await delay(LOOK_MS);
    }
  }
}

/** No answer, a server in trouble, too many requests. Not 401: L4. */
function isPassing(status: number): boolean {
  return status === 0 || status === 429 || status >= 500;
}

/** L3 */
function planOf(seed: number, n: number): Plan {
  const random = seededRandom(seed + Math.imul(n + 1, 0x9e3779b1));
  const agent = MIX[Math.floor(random() * MIX.length)] ?? "clerk";
  return {
    agent,
    instance: `${agent}-${Math.floor(random() * INSTANCES)}`,
    stopAfterMs: random() < STOP_CHANCE ? random() * STOP_MS_MAX : null,
  };
}
