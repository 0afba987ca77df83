import { wordsOf } from './words.js';

export interface Count {
  lines: number;
  words: number;
  characters: number;
}

export function count(text: string): Count {
  return { lines: text === '' ? 0 : text.split('\n').length, words: wordsOf(text).length, characters: text.length };
}
