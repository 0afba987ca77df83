// Long boxes that this worker has read, kept for the next time: a turn that is suspended at every step would otherwise read
// its whole history again at each of them.
//
//   B1. Cards are written once and have their place for good (docs/design.md#functions-take-batches), so a beginning without gaps
//       never changes. Only such a beginning is kept; what comes behind it is read each time.
//   B2. The last kept card is read again with the rest. If another one is found there, the box is not the one that was kept
//       (its project was deleted and made anew), and all of it is read.
//   B3. Bounded, whatever the number of turns: short boxes are not kept, and the box that was used longest ago goes first.
//       What is kept helps and decides nothing; a worker without it reads.
//   B4. Kept cards are frozen: many sessions read the same ones.

import type { CardDocument } from "@tessera/kernel";
import { frozen } from "./frozen.ts";

export type PlacedCard = CardDocument & { readonly pos: number };

/** The cards of a box from a position on. */
export type ReadCards = (projectId: string, boxId: string, from: number) => Promise<readonly PlacedCard[]>;

export interface BoxCache {
  /** The cards of a box from a position on, in order. */
  read(projectId: string, boxId: string, start?: number): Promise<PlacedCard[]>;
}

/** Below it a box is read in one small page, which costs less than the rest of a step. */
const CARDS_MIN = 32;
const BYTES_MAX_DEFAULT = 32 * 1_024 * 1_024;

interface Kept {
  readonly cards: PlacedCard[];
  bytes: number;
}

export function createBoxCache(readCards: ReadCards, bytesMax: number = BYTES_MAX_DEFAULT): BoxCache {
  const cache = new Map<string, Kept>();
  let bytes = 0;

  function take(name: string): Kept {
    const kept = cache.get(name) ?? { cards: [], bytes: 0 };
    cache.delete(name);
    bytes -= kept.bytes;
    return kept;
  }

  /** B3 */
  function put(name: string, kept: Kept): void {
    if (kept.cards.length < CARDS_MIN || kept.bytes > bytesMax) return;
    cache.set(name, kept); // the newest last
    bytes += kept.bytes;
    for (const [oldest] of cache) {
      if (bytes <= bytesMax) return;
      take(oldest);
    }
  }

  return {
    async read(projectId, boxId, start = 0) {
      const name = `${projectId}/${boxId}/${start}`;
      const last = cache.get(name)?.cards.at(-1);
      let read = await readCards(projectId, boxId, last?.pos ?? start);
      const kept = take(name);
      const isSame = last === undefined || (read[0]?.card_id === last.card_id && kept.cards.at(-1) === last);
      if (!isSame) {
        kept.cards.length = 0; // B2, or another reader was here meanwhile
        kept.bytes = 0;
        read = await readCards(projectId, boxId, start);
      }
      const news = read.filter(({ pos }) => pos >= start + kept.cards.length);
      const whole = [...kept.cards, ...news];
      for (const card of news) {
        if (card.pos !== start + kept.cards.length) break; // B1
        kept.cards.push(frozen(card));
        kept.bytes += JSON.stringify(card).length;
      }
      put(name, kept);
      return whole;
    },
  };
}
