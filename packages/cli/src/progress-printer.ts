// Where progress goes: lines that stay, and below them, where a person watches, what is under way, redrawn in place.
//
//   L1. What is drawn is taken away before anything else is written, so that the lines that stay are whole, and at the end.
//   L2. With --json every event is one line of JSON on stdout, and nothing else is said.
//   L3. A pipe, a dumb terminal and a log get lines only.

import { openLine, progressLine } from "./progress-text.ts";
import type { Terminal } from "./run-cli.ts";
import type { OpenItem, ProgressEvent } from "./turn-progress.ts";
import { visibleText } from "./visible-text.ts";

export interface ProgressPrinter {
  /** `isEarlier`: it happened before anybody watched, so no time since the start is its own. */
  event(event: ProgressEvent, isEarlier?: boolean): void;
  /** A line that stays: what a tool logs, what went wrong meanwhile. */
  note(text: string): void;
  draw(items: readonly OpenItem[]): void;
  close(): void;
}

const DRAWN_MAX = 12;
const COLUMNS_DEFAULT = 80;
const UP_AND_CLEAR = "\u001b[1A\u001b[2K";

export function createProgressPrinter(
  terminal: Terminal,
  { isJson, nowMs }: { readonly isJson: boolean; readonly nowMs: () => number },
): ProgressPrinter {
  const startMs = nowMs();
  const isLive = isWatchedLive(terminal) && !isJson; // L3
  let drawn: readonly string[] = [];

  /** L1 */
  function write(text: string, below: readonly string[]): void {
    const clear = UP_AND_CLEAR.repeat(drawn.length);
    drawn = below;
    const all = `${clear}${text}${below.map((line) => `${line}\n`).join("")}`;
    if (all !== "") terminal.err(all);
  }

  return {
    event(event, isEarlier = false) {
      if (isJson)
        terminal.out(`${JSON.stringify(isEarlier ? { ...event, is_earlier: true } : event)}\n`); // L2
      else write(progressLine(event, isEarlier ? null : nowMs() - startMs, isColoured(terminal)), drawn);
    },
    note(text) {
      if (!isJson) write(`${visibleText(text)}\n`, drawn);
    },
    draw(items) {
      if (!isLive) return;
      const lines = items.slice(0, DRAWN_MAX).map((item) => openLine(item, terminal.columns?.() || COLUMNS_DEFAULT));
      const more = items.length > DRAWN_MAX ? [`          and ${items.length - DRAWN_MAX} more`] : [];
      write("", [...lines, ...more]);
    },
    close: () => write("", []),
  };
}

function isColoured({ isWatched, env }: Pick<Terminal, "isWatched" | "env">): boolean {
  return isWatched && !env.NO_COLOR && env.TERM !== "dumb";
}

function isWatchedLive({ isWatched, env }: Terminal): boolean {
  return isWatched && env.TERM !== "dumb";
}
