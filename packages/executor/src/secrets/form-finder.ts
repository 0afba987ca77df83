// Finds many words in a text in one pass (Aho and Corasick's automaton).
//
//   A1. Time is linear in the text, whatever the words: a tool knows its secret and could otherwise write a result that
//       is slow to search.

/** Where words were found: sorted, not overlapping, as [start, end). */
type Spans = readonly (readonly [number, number])[];

export interface FormFinder {
  find(text: string): Spans;
  /** The length of the longest beginning of a word, itself not whole, with which the text ends. */
  startedAtEnd(text: string): number;
}

const UNITS = 0x1_0000;

export function createFormFinder(words: Iterable<string>): FormFinder {
  /** state * UNITS + code unit → state. State 0 is the start. */
  const moves = new Map<number, number>();
  const depths: number[] = [0];
  const longest: number[] = [0];
  const fallbacks: number[] = [0];
  const starts = new Uint8Array(UNITS);

  for (const word of words) {
    let state = 0;
    for (let at = 0; at < word.length; at++) {
      const key = state * UNITS + word.charCodeAt(at);
      let next = moves.get(key);
      if (next === undefined) {
        next = depths.length;
        depths.push(at + 1);
        longest.push(0);
        fallbacks.push(0);
        moves.set(key, next);
      }
      state = next;
    }
    longest[state] = word.length;
    if (word.length > 0) starts[word.charCodeAt(0)] = 1;
  }

  const step = (from: number, unit: number): number => {
    for (let state = from; ; state = fallbacks[state] ?? 0) {
      const next = moves.get(state * UNITS + unit);
      if (next !== undefined) return next;
      if (state === 0) return 0;
    }
  };

  // States in order of depth, so that a state's fallback, which is shallower, is ready before it.
  const byDepth = [...moves.entries()].sort(([, a], [, b]) => (depths[a] ?? 0) - (depths[b] ?? 0));
  for (const [key, state] of byDepth) {
    const parent = Math.floor(key / UNITS);
    if (parent === 0) continue;
    const fallback = step(fallbacks[parent] ?? 0, key % UNITS);
    fallbacks[state] = fallback;
    longest[state] = Math.max(longest[state] ?? 0, longest[fallback] ?? 0);
  }

  return {
    find(text) {
      const spans: [number, number][] = [];
      let state = 0;
      for (let at = 0; at < text.length; at++) {
        const unit = text.charCodeAt(at);
        if (state === 0 && starts[unit] === 0) continue;
        state = step(state, unit);
        const length = longest[state] ?? 0;
        if (length > 0) addSpan(spans, at + 1 - length, at + 1);
      }
      return spans;
    },
    startedAtEnd(text) {
      let state = 0;
      for (let at = 0; at < text.length; at++) state = step(state, text.charCodeAt(at));
      return depths[state] ?? 0;
    },
  };
}

/** Ends only grow, so a new span can touch only the last ones. */
function addSpan(spans: [number, number][], start: number, end: number): void {
  let from = start;
  for (let last = spans.at(-1); last !== undefined && last[1] >= from; last = spans.at(-1)) {
    from = Math.min(from, last[0]);
    spans.pop();
  }
  spans.push([from, end]);
}
