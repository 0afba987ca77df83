// Whose a durable is. Two stores on one broker may have projects of one name: members of one durable would then take one
// another's messages, and each would ring for what the other one has.
//
//   O1. A durable says in its description which store it serves (`tessera store_…`). The first store has the name as it is
//       published; a store that finds it taken has a name of its own, the same with the end of its id.
//   O2. Both durables get the messages of both stores, so every message names its store (CG-Store-Id), and a member passes
//       over those of others. What names none, from a user interface or an older build, is for the published name.
//   O3. A durable without a store, as older builds made them, belongs to the first that looks at it.
//   O4. A durable that has no pull waiting and made no progress, at two looks DESERTED_MS apart, is given to the store that looks:
//       its own is gone or has moved (a dump that was restored is another store). A delivery that a killed process left unanswered
//       stays so while no member pulls, so it proves nothing. The time is longer than a restart or a night's migration of the
//       other store should take; meanwhile the name of one's own works.
//   O5. Without a store (an executor that is not a part of one) nothing is looked at and nothing is passed over.

import type { ConsumerInfo } from "@nats-io/jetstream";

const DESERTED_MS = 5 * 60_000;
const SUFFIX_CHARS = 8;
const LABEL = /\btessera (store_[0-9a-f]{32})\b/;

export class DurableOwner {
  readonly #storeId: string | undefined;
  readonly #published: string;
  readonly #nameOf: (name: string) => string;
  #neighbour: string | null = null;
  #deserted: { readonly sinceMs: number; readonly progress: string } | null = null;

  /** `nameOf` makes a legal name of a durable. */
  constructor(storeId: string | undefined, durable: string, nameOf: (name: string) => string) {
    this.#storeId = storeId;
    this.#published = durable;
    this.#nameOf = nameOf;
  }

  get publishedName(): string {
    return this.#nameOf(this.#published);
  }

  /** The name to pull from, by the last look. */
  get name(): string {
    if (this.#neighbour === null || this.#storeId === undefined) return this.publishedName;
    return this.#nameOf(`${this.#published}_${this.#storeId.slice(-SUFFIX_CHARS)}`);
  }

  /** The store that has the published name; null: this one. */
  get neighbour(): string | null {
    return this.#neighbour;
  }

  /** Looks at the durable of the published name; null: there is none. */
  look(info: Pick<ConsumerInfo, "config" | "num_waiting" | "delivered" | "ack_floor"> | null, nowMs: number): void {
    const owner = info === null ? null : storeNamedIn(info.config.description);
    const isOthers = this.#storeId !== undefined && owner !== null && owner !== this.#storeId;
    if (!isOthers || info === null || info.num_waiting > 0) this.#deserted = null;
    else {
      const progress = `${info.delivered.consumer_seq}/${info.ack_floor.consumer_seq}`;
      if (this.#deserted?.progress !== progress) this.#deserted = { sinceMs: nowMs, progress };
    }
    const isLeft = this.#deserted !== null && nowMs - this.#deserted.sinceMs >= DESERTED_MS; // O4
    this.#neighbour = isOthers && !isLeft ? owner : null;
  }

  /** The description that the durable should have: what an operator wrote stays. */
  described(description: string | undefined): string | undefined {
    if (this.#storeId === undefined || storeNamedIn(description) === this.#storeId) return description;
    const label = `tessera ${this.#storeId}`;
    if (description === undefined || description === "") return label;
    return LABEL.test(description) ? description.replace(LABEL, label) : `${description}; ${label}`;
  }

  /** O2 */
  isForAnother(storeOfMessage: string | undefined): boolean {
    if (this.#storeId === undefined) return false; // O5
    return storeOfMessage === undefined ? this.#neighbour !== null : storeOfMessage !== this.#storeId;
  }
}

export function storeNamedIn(description: string | undefined): string | null {
  return LABEL.exec(description ?? "")?.[1] ?? null;
}
