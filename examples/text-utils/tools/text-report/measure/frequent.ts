import { wordsOf } from './words.js';

/** By number, then by word, so that the answer is always the same. */
export function mostFrequent(text: string, limit: number): { word: string; times: number }[] {
  const times = new Map<string, number>();
  for (const word of wordsOf(text)) times.set(word, (times.get(word) ?? 0) + 1);
  return [...times]
    .map(([word, n]) => ({ word, times: n }))
    .sort((a, b) => b.times - a.times || (a.word < b.word ? -1 : 1))
    .slice(0, limit);
}
