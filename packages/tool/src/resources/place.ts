// Places in a source file, and mistakes that name theirs: what `file:line:col` messages are made of.
//
//   P1. Lines and columns count from 1; a column is a UTF-16 unit, as editors count.
//   P2. Every message starts with `file:line:col: ` and says what was found and what was expected.
//   P3. An author sees all mistakes at once. The first decides the code of the error, the rest are in `details.mistakes`.

import { type ErrorCode, errorOf, type TesseraError } from "@tessera/protocol";

export interface Place {
  readonly line: number;
  readonly column: number;
}

export interface Mistake extends Place {
  readonly code: ErrorCode;
  readonly file: string;
  /** A JSON pointer into the document; empty for the document itself, and for what could not be read as one. */
  readonly pointer: string;
  readonly message: string;
}

const MISTAKES_MAX = 50;
const FILE_CHARS_MAX = 200;
const MESSAGE_CHARS_MAX = 900;

export function mistakeOf(
  code: ErrorCode,
  at: Place & { readonly file: string; readonly pointer?: string },
  message: string,
): Mistake {
  const file = shownFile(at.file);
  return {
    code,
    file,
    line: at.line,
    column: at.column,
    pointer: at.pointer ?? "",
    message: cut(`${file}:${at.line}:${at.column}: ${message}`, MESSAGE_CHARS_MAX), // P2
  };
}

/** The error that stands for all mistakes of an upload. */
export function errorOfMistakes(mistakes: readonly [Mistake, ...Mistake[]], cause?: unknown): TesseraError {
  const [first] = mistakes;
  const { code, message, ...place } = first;
  const details = { ...place, mistakes: mistakes.slice(0, MISTAKES_MAX) }; // P3
  return errorOf(code, message, cause === undefined ? { details } : { details, cause });
}

/** What an error of this module says, as mistakes again. */
export function mistakesOf(error: TesseraError): readonly Mistake[] {
  return (error.details.mistakes as readonly Mistake[] | undefined) ?? [];
}

/** Offsets of a text → lines and columns. */
export function placesOf(text: string): (offset: number) => Place {
  const starts = [0];
  for (let at = text.indexOf("\n"); at !== -1; at = text.indexOf("\n", at + 1)) starts.push(at + 1);
  return (offset) => {
    let low = 0;
    let high = starts.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if ((starts[middle] as number) <= offset) low = middle;
      else high = middle - 1;
    }
    return { line: low + 1, column: offset - (starts[low] as number) + 1 };
  };
}

/** A value as a message shows it: JSON, short. */
export function shown(value: unknown): string {
  if (value === undefined) return "nothing";
  return cut(JSON.stringify(value), 80);
}

/** The name comes from a client: it must neither break the message's line nor fill it. */
function shownFile(file: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is taken out
  return cut(file.toWellFormed().replace(/[\u0000-\u001f\u007f-\u009f\u2028\u2029]/g, "?"), FILE_CHARS_MAX);
}

function cut(text: string, charsMax: number): string {
  return text.length <= charsMax ? text : `${text.slice(0, charsMax - 1).toWellFormed()}…`;
}
