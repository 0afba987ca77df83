// Where progress goes: lines that stay, and below them, where a person watches, what is under way, redrawn in place.
//
//   L1. What is drawn is taken away before anything else is written, so that the lines that stay are whole, and at the end.
//   L2. With --json every event is one line of JSON on stdout, and nothing else is said.
//   L3. A pipe, a dumb terminal and a log get lines only.

import { columnsOf, type Line, type Terminal } from "../output/printing-gate.ts";
import { openLine, progressLine } from "./progress-text.ts";
import type { OpenItem, ProgressEvent } from "./turn-progress.ts";

export interface ProgressPrinter {
  /** `isEarlier`: it happened before the command watched, so it has no time since the start. */
  event(event: ProgressEvent, isEarlier?: boolean): void;
  /** A line that stays: what a tool logs, what went wrong meanwhile. */
  note(text: string): void;
  draw(items: readonly OpenItem[]): void;
  close(): void;
}

/** Of a command that shows whatever happens. */
export interface LinePrinter extends ProgressPrinter {
  /** Lines that stay, as they are. */
  say(lines: readonly Line[]): void;
  /** What a turn came to, below its end. */
  deliverable(text: string): void;
  /** The time in the lines of events begins now. */
  restart(): void;
}

const DRAWN_MAX = 12;
/** Below the message of a tool, behind its level. */
const NOTE_HANG = 6;
const ANSWER_INDENT = " ".repeat(10);

export function createProgressPrinter(
  terminal: Terminal,
  { isJson, nowMs }: { readonly isJson: boolean; readonly nowMs: () => number },
): LinePrinter {
  let startMs = nowMs();
  const isLive = isWatchedLive(terminal) && !isJson; // L3
  let drawn: readonly string[] = [];

  /** L1 */
  function write(stays: readonly Line[], below: readonly string[]): void {
    const above = drawn.length;
    drawn = below;
    if (above + stays.length + below.length === 0) return;
    terminal.err([{ clearAbove: above }, ...stays, ...below.map((line) => `${line}\n`)]);
  }

  return {
    event(event, isEarlier = false) {
      if (isJson)
        terminal.out(`${JSON.stringify(isEarlier ? { ...event, is_earlier: true } : event)}\n`); // L2
      else write([progressLine(event, isEarlier ? null : nowMs() - startMs)], drawn);
    },
    note(text) {
      if (!isJson) write([{ line: [text], hang: NOTE_HANG }], drawn);
    },
    say(lines) {
      if (!isJson) write(lines, drawn);
    },
    deliverable(text) {
      const lines = text.split("\n").map((line) => ({ line: [ANSWER_INDENT, line], hang: ANSWER_INDENT.length }));
      if (!isJson) write(lines, drawn);
    },
    restart() {
      startMs = nowMs();
    },
    draw(items) {
      if (!isLive) return;
      const lines = items.slice(0, DRAWN_MAX).map((item) => openLine(item, columnsOf(terminal, "err")));
      const more = items.length > DRAWN_MAX ? [`          and ${items.length - DRAWN_MAX} more`] : [];
      write([], [...lines, ...more]);
    },
    close: () => write([], []),
  };
}

export function isWatchedLive({ isWatched, env }: Terminal): boolean {
  return isWatched && env.TERM !== "dumb";
}
