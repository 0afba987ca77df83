// Bytes that requests keep in memory: bodies that are being read, and answers that their clients have not taken yet.
//
//   F1. What a request may need is taken before any work is done: its body, and what its route says its answer may have. When the
//       answer is made, its real size is held instead, until the system has taken it or the connection is gone.
//   F2. Of one key, one project, one address and in all (shares.ts). What does not fit waits for WAIT_MS at most: others may
//       just be working. Then it is refused, 429 where its own are in the way, 503 where everybody's are.
//   F3. An answer that turns out larger than its route said needs room for the rest. One that only reads is refused where there is
//       none: many at once would hold many times what was taken for them. One of a request that changed something is held all
//       the same, because what it did is done; the next one is refused.

import type { Clock } from "@tessera/kernel/ports";
import { HttpRefusal } from "../routing/problem.ts";
import type { ServerLimits } from "./server-limits.ts";
import { createShares, type Full, type Holder } from "./shares.ts";

export interface BytesInFlight {
  /** Throws 429 or 503 (F2). */
  take(holder: Holder, bytes: number): Promise<HeldBytes>;
  held(): number;
}

export interface HeldBytes {
  /** Holds this much instead, whatever others hold (F1, F3). */
  become(bytes: number): void;
  /** The same, where there is room for it; else throws 429 or 503 (F3). */
  becomeWithin(bytes: number): void;
  release(): void;
}

/** What the answer of a route may have that says nothing else. */
export const ANSWER_BYTES = 16 * 1024;
/** Of one that holds what users wrote, many at a time. */
export const LARGE_ANSWER_BYTES = 16 * 1024 * 1024;
export const WAIT_MS = 2_000;
/** Requests that wait for memory at the same time; one more is refused at once. */
const WAITING_MAX = 500;
const RETRY_AFTER_S = 2;

interface Waiting {
  readonly holder: Holder;
  readonly bytes: number;
  full: Full;
  go(): void;
}

export function createBytesInFlight(
  clock: Clock,
  limits: Pick<ServerLimits, "bytesMax" | "bytesPerProjectMax" | "bytesPerAddressMax" | "bytesPerKeyMax">,
): BytesInFlight {
  const shares = createShares({
    all: limits.bytesMax,
    perProject: limits.bytesPerProjectMax,
    perAddress: limits.bytesPerAddressMax,
    perKey: limits.bytesPerKeyMax,
  });
  const waiting = new Set<Waiting>();

  function letIn(): void {
    for (const one of waiting) {
      const full = shares.take(one.holder, one.bytes);
      if (full !== null) {
        one.full = full;
        continue;
      }
      waiting.delete(one);
      one.go();
    }
  }

  function hold(holder: Holder, bytes: number): HeldBytes {
    let own = bytes;
    let isReleased = false;
    const become = (next: number) => {
      if (isReleased) return; // an answer that was made after its connection had gone
      const isLess = next < own;
      shares.give(holder, own - next);
      own = next;
      if (isLess && waiting.size > 0) letIn();
    };
    return {
      become,
      becomeWithin(next) {
        const more = Math.max(0, next - own);
        const full = isReleased ? null : shares.take(holder, more);
        if (full !== null) throw tooMuch(full);
        if (!isReleased) own += more;
        become(next);
      },
      release() {
        become(0);
        isReleased = true;
      },
    };
  }

  /** F2 */
  async function wait(holder: Holder, bytes: number, full: Full): Promise<void> {
    if (waiting.size >= WAITING_MAX) throw tooMuch(full);
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const one: Waiting = { holder, bytes, full, go: resolve };
    waiting.add(one);
    const timer = clock.after(WAIT_MS, () => reject(tooMuch(one.full)));
    try {
      await promise;
    } finally {
      timer.cancel();
      waiting.delete(one);
    }
  }

  return {
    async take(holder, bytes) {
      const full = shares.take(holder, bytes);
      if (full !== null) await wait(holder, bytes, full);
      return hold(holder, bytes);
    },
    held: () => shares.held(),
  };
}

function tooMuch(full: Full): HttpRefusal {
  return new HttpRefusal(
    "rate_limited",
    full === "all"
      ? "too many answers of all clients wait to be read; come again later"
      : `too many bodies and answers of this ${full} are on their way; read the answers, and ask for less at a time`,
    {
      ...(full === "all" ? { status: 503 } : {}),
      headers: { "retry-after": String(RETRY_AFTER_S) },
      details: { full },
    },
  );
}
