// A turn's place among those that run at once. While a tool of the turn waits for another agent the place is lent, because
// the other agent's turn needs one, too.
//
//   P1. One place per turn: however many of its calls wait, one is lent and one is taken back.
//   P2. A turn that is over has nothing to give back while its place is lent, and no place is taken for it any more.

import type { WorkSlots } from "@tessera/kernel";

export interface LentPlace {
  /** Runs `work` without the place. */
  lendDuring<T>(work: () => Promise<T>): Promise<T>;
  /** The turn is over. */
  release(): void;
}

/** The place must have been taken. */
export function lentPlace(slots: WorkSlots): LentPlace {
  let waiting = 0;
  let isLent = false;
  let isOver = false;
  let takingBack: Promise<void> | null = null;

  async function takeBack(): Promise<void> {
    await slots.take();
    takingBack = null;
    if (waiting > 0 || isOver)
      slots.give(); // another call of the turn began to wait meanwhile; or P2
    else isLent = false;
  }

  return {
    async lendDuring(work) {
      waiting += 1;
      if (!isLent) {
        isLent = true;
        slots.give(); // P1
      }
      try {
        return await work();
      } finally {
        waiting -= 1;
        if (waiting === 0 && !isOver) {
          takingBack ??= takeBack();
          await takingBack;
        }
      }
    },
    release() {
      isOver = true;
      if (!isLent) slots.give();
    },
  };
}
