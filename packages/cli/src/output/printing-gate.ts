// The printing gate: what a command prints becomes text of a terminal here, and nowhere else.
//
//   G1. Whatever others wrote into it (names, results, messages, logs) is shown and has no effect: characters that would act on a
//       terminal, or hide in a text, are escaped as JSON escapes them (protocol's visible-text.ts). That holds for pipes, too:
//       what goes into a file is looked at on a terminal later. `--json` has the same data, since its escapes are JSON's.
//   G2. Only the gate makes escape sequences. A command asks for a colour or for lines to be taken away by parts of its text,
//       which no text of others can be.
//   G3. Only the gate knows how wide a terminal is. Lines are broken between words, tables are cut to fit (align-rows.ts); what
//       is to be pasted is never broken. A pipe gets every line and every id whole.
//   G4. Colours are for a person: not in a pipe, not with NO_COLOR, not on a dumb terminal.
//   G5. What passed the gate has a type of its own, the only one that a process's streams take: the compiler holds commands
//       to it, and tests/layering the sources.

import { visibleText } from "@tessera/protocol";
import { alignRows, type Row } from "./align-rows.ts";
import { redact } from "./redact.ts";
import { wrapWords } from "./wrap-words.ts";

const COLOURS = { dim: 2, red: 31, green: 32, yellow: 33, cyan: 36 } as const;
const UP_AND_CLEAR = "\u001b[1A\u001b[2K";
const COLUMNS_DEFAULT = 80;

export type Colour = keyof typeof COLOURS;

export interface Painted {
  readonly text: string;
  readonly colour: Colour;
}

/** To be pasted, so never broken: a command, a path, an id. */
interface Whole {
  readonly whole: string;
}

export type Words = string | Painted | Whole;

/** One line; where it is too long, what follows starts `hang` columns from the left. */
export interface Line {
  readonly line: readonly Words[];
  readonly hang: number;
}

export interface Table {
  readonly rows: readonly Row[];
  readonly indent?: string;
  /** Columns of ids, which keep their ends where they are cut. */
  readonly ids?: readonly string[];
}

/** Takes away as many lines as were printed last. */
interface ClearedLines {
  readonly clearAbove: number;
}

export type Text = string | readonly (string | Painted | Line | Table | ClearedLines)[];

declare const passed: unique symbol;
/** Text that passed the gate (G5). */
export type Printed = string & { readonly [passed]: true };

/** What a run may touch of its process. */
export interface ProcessTerminal {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly out: (text: Printed) => void;
  readonly err: (text: Printed) => void;
  /** stdin up to its end, or up to somewhat more than `bytesMax`. */
  readonly input: (bytesMax: number) => Promise<string>;
  /** Calls back with stdin line by line, null at its end, until the returned function is called. Absent: there is no stdin. */
  readonly lines?: (heard: (line: string | null) => void) => () => void;
  /** Calls back on every Ctrl-C, instead of what `stopped` does, until the returned function is called. */
  readonly interrupts?: (heard: () => void) => () => void;
  /** Whether a person types what is on stdin. */
  readonly isInputWatched?: boolean;
  /** Whether a person watches stderr. */
  readonly isWatched: boolean;
  /** Whether a person watches stdout. */
  readonly isOutWatched: boolean;
  /** How wide the terminal behind a stream is; 0 where that is not known. */
  readonly columns?: (stream: "out" | "err") => number | undefined;
  /** Resolves when this process is asked to stop (Ctrl-C, SIGTERM). Asked a second time, it ends at once. */
  readonly stopped: () => Promise<void>;
  /** What a person runs to let open turns go on, where that is not `tessera run --resume`. */
  readonly resumeCommand?: string;
}

/** The same, as commands see it. */
export interface Terminal extends Omit<ProcessTerminal, "out" | "err"> {
  readonly out: (text: Text) => void;
  /** Holds no password and no key. */
  readonly err: (text: Text) => void;
}

interface Sheet {
  readonly isColoured: boolean;
  readonly columns: number;
}

export function gated(terminal: ProcessTerminal): Terminal {
  const out = (text: Text) => terminal.out(printed(text, sheetOf(terminal, "out")));
  const err = (text: Text) => terminal.err(redact(printed(text, sheetOf(terminal, "err"))) as Printed);
  return { ...terminal, out, err };
}

/** Text without a terminal behind it: no colours, and nothing is broken or cut. */
export function printed(text: Text, sheet: Sheet = { isColoured: false, columns: Number.POSITIVE_INFINITY }): Printed {
  const parts = typeof text === "string" ? [text] : text;
  return parts.map((part) => printedPart(part, sheet)).join("") as Printed;
}

function printedPart(part: string | Painted | Line | Table | ClearedLines, sheet: Sheet): string {
  if (typeof part === "string") return visibleText(part); // G1
  if ("colour" in part) return painted(part, sheet);
  if ("clearAbove" in part) return UP_AND_CLEAR.repeat(part.clearAbove); // G2
  if ("rows" in part) return alignRows(part.rows, { ...part, columns: sheet.columns });
  const words = part.line.map((word) => {
    if (typeof word === "string") return { text: visibleText(word) };
    if ("whole" in word) return { text: visibleText(word.whole), isWhole: true };
    return { text: visibleText(word.text), paint: (text: string) => painted({ text, colour: word.colour }, sheet) };
  });
  return `${wrapWords(words, part.hang, sheet.columns)}\n`; // G3
}

/** G4 */
function painted({ text, colour }: Painted, { isColoured }: Sheet): string {
  return isColoured ? `\u001b[${COLOURS[colour]}m${visibleText(text)}\u001b[0m` : visibleText(text);
}

function sheetOf(terminal: Omit<ProcessTerminal, "out" | "err">, stream: "out" | "err"): Sheet {
  const { env } = terminal;
  const isWatched = stream === "out" ? terminal.isOutWatched : terminal.isWatched;
  const columns = isWatched ? columnsOf(terminal, stream) : Number.POSITIVE_INFINITY;
  return { isColoured: isWatched && !env.NO_COLOR && env.TERM !== "dumb", columns };
}

export function columnsOf({ columns }: Pick<ProcessTerminal, "columns">, stream: "out" | "err"): number {
  return columns?.(stream) || COLUMNS_DEFAULT;
}

const LABEL_WIDTH = 10;

/** A line below a sentence: `  what to do  …`. */
export function labelled(label: string, ...words: readonly Words[]): Line {
  const head = `  ${label.padEnd(LABEL_WIDTH)}  `;
  return { line: [head, ...words], hang: head.length };
}

/** A sentence of the command's own; more of it starts below, somewhat indented. */
export function sentence(...words: readonly Words[]): Line {
  return { line: words, hang: 2 };
}
