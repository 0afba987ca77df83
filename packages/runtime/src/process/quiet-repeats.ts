// A warning that comes again and again, such as while the database is away, said seldom and not each time.
//
//   Q1. The first is said at once; the same text again only after a pause that doubles up to PAUSE_MS_MAX, with how often it
//       came meanwhile.
//   Q2. A text that stayed away for longer than the longest pause is new again. Texts that are remembered are bounded.

const PAUSE_MS_MIN = 5_000;
export const PAUSE_MS_MAX = 60_000;
const TEXTS_MAX = 256;

interface Repeated {
  saidAt: number;
  heardAt: number;
  pauseMs: number;
  unsaid: number;
}

/** A way to say something that keeps quiet about what it said a short while ago. */
export function quietRepeats(say: (text: string) => void, nowMs: () => number): (text: string) => void {
  const known = new Map<string, Repeated>();
  return (text) => {
    const now = nowMs();
    const before = known.get(text);
    if (before === undefined || now - before.heardAt > PAUSE_MS_MAX) {
      known.delete(text); // to the end: the oldest goes first (Q2)
      known.set(text, { saidAt: now, heardAt: now, pauseMs: PAUSE_MS_MIN, unsaid: 0 });
      if (known.size > TEXTS_MAX) known.delete(known.keys().next().value ?? "");
      return say(text); // Q1
    }
    before.heardAt = now;
    before.unsaid += 1;
    if (now - before.saidAt < before.pauseMs) return;
    say(before.unsaid === 1 ? text : `${text} (${before.unsaid} times since it was last said)`);
    Object.assign(before, { saidAt: now, unsaid: 0, pauseMs: Math.min(before.pauseMs * 2, PAUSE_MS_MAX) });
  };
}
