// A line that is too long for its terminal, broken between words.
//
//   W1. Only at spaces behind the first `hang` columns: what stands there is a label, and is not torn from what it labels.
//   W2. What is between backticks, or marked as whole, stays together. What is longer than a line is left to the terminal,
//       which breaks it so that it can still be copied as one.
//   W3. Where the terminal is too narrow for the indentation, it is a small one.

import { textWidth } from "./text-width.ts";

interface WrappedWords {
  readonly text: string;
  /** W2 */
  readonly isWhole?: boolean;
  readonly paint?: (text: string) => string;
}

/** What stands together, with the spaces before it. */
interface Atom {
  spaces: string;
  text: string;
  width: number;
  /** A line break of the text itself. */
  readonly isBreak: boolean;
}

const ROOM_MIN = 24;
const HANG_SMALL = 4;
const PIECES = /(?<break>\r?\n)|(?<spaces> +)|`[^`\n]*`|[^ `\r\n]+|[\s\S]/g; // W2

export function wrapWords(words: readonly WrappedWords[], hang: number, columns: number): string {
  const whole = words.map(({ text, paint }) => paint?.(text) ?? text).join("");
  if (words.reduce((sum, { text }) => sum + textWidth(text), 0) <= columns) return whole;
  const indent = hang + ROOM_MIN <= columns ? hang : Math.min(HANG_SMALL, hang); // W3
  let line = "";
  let column = 0;
  for (const { spaces, text, width, isBreak } of atomsOf(words)) {
    const start = column + spaces.length;
    const isTooLong = start + width > columns && start >= hang && start > indent; // W1
    if (isBreak || isTooLong) {
      line += isBreak ? "\n" : `\n${" ".repeat(indent)}${text}`;
      column = isBreak ? 0 : indent + width;
    } else {
      line += spaces + text;
      column += spaces.length + width;
    }
  }
  return line;
}

function atomsOf(words: readonly WrappedWords[]): Atom[] {
  const atoms: Atom[] = [];
  let spaces = "";
  let isJoined = false; // to what stands directly before
  for (const { text, isWhole = false, paint = (each: string) => each } of words) {
    const pieces = isWhole ? [[text] as RegExpMatchArray] : [...text.matchAll(PIECES)];
    for (const { 0: piece, groups } of pieces) {
      if (groups?.break !== undefined) {
        atoms.push({ spaces: "", text: "", width: 0, isBreak: true });
        spaces = "";
        isJoined = false;
      } else if (groups?.spaces !== undefined) {
        spaces += piece;
        isJoined = false;
      } else {
        const last = isJoined ? atoms.at(-1) : undefined;
        if (last === undefined) atoms.push({ spaces, text: paint(piece), width: textWidth(piece), isBreak: false });
        else {
          last.text += paint(piece);
          last.width += textWidth(piece);
        }
        spaces = "";
        isJoined = true;
      }
    }
  }
  return atoms;
}
