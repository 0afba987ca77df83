// Progress for people: an aligned line for each event, and for each thing under way.

import { visibleLine } from "@tessera/protocol";
import { numbered } from "../output/name-numbers.ts";
import type { Colour, Line, Painted } from "../output/printing-gate.ts";
import { cutText, padText, textWidth } from "../output/text-width.ts";
import { briefOf } from "../turns/turn-document.ts";
import type { OpenItem, ProgressEvent } from "./turn-progress.ts";

const TEXT_CHARS_MAX = 96;
const TIME_WIDTH = 8;
const AGENT_WIDTH = 12;
const EVENT_WIDTH = 4;
const GAP = "  ";
const TOOL_WIDTH = 22;
const STATUS_WIDTH = 9;
const LINE_CHARS_MIN = 20;
const EARLIER = "earlier";

type Cell = string | Painted;

/** `sinceStartMs` null: it happened before the command watched. */
export function progressLine(event: ProgressEvent, sinceStartMs: number | null): Line {
  const time = (sinceStartMs === null ? EARLIER : seconds(sinceStartMs)).padStart(TIME_WIDTH);
  const agent = padText(visibleLine(numbered(event.agent, event.agent_number)), AGENT_WIDTH);
  const head = `  ${agent}  ${event.event.padEnd(EVENT_WIDTH)}`;
  const { cells, isLastLong } = cellsOf(event);
  const widths = cells.map((cell) => GAP.length + textWidth(textOf(cell)));
  const before = isLastLong ? widths.slice(0, -1) : [];
  const hang = TIME_WIDTH + textWidth(head) + before.reduce((sum, width) => sum + width, 0) + GAP.length;
  return { line: [{ text: time, colour: "dim" }, head, ...cells.flatMap((cell) => [GAP, cell])], hang };
}

/** Of what is under way; it replaces itself, so it fits into one line of the terminal. */
export function openLine({ agent, tool, elapsed_ms, reason, deadline_at }: OpenItem, columns: number): string {
  const what = tool === undefined ? "" : `${padText(visibleLine(tool), TOOL_WIDTH)}  `;
  const line = `${seconds(elapsed_ms).padStart(TIME_WIDTH)}  ${padText(visibleLine(agent), AGENT_WIDTH)}  ...   ${what}${visibleLine(reason)}${untilText(deadline_at)}`;
  return cutText(line, Math.max(columns - 1, LINE_CHARS_MIN));
}

function untilText(deadline: string | undefined): string {
  return deadline === undefined ? "" : `, until ${deadline.slice(11, 19)} UTC`;
}

/** `isLastLong`: the last cell is a sentence, which may go on below itself. */
function cellsOf(event: ProgressEvent): { readonly cells: readonly Cell[]; readonly isLastLong: boolean } {
  const { tool, status = "", error_code, deadline_at, elapsed_ms } = event;
  const name = padText(visibleLine(numbered(tool ?? "", event.tool_number)), TOOL_WIDTH);
  const code = error_code === undefined ? [] : [error_code];
  switch (event.event) {
    case "step": {
      const thought = visibleLine((event.text ?? "").replace(/\s+/g, " ").trim());
      return {
        cells: [`${event.step}`, ...(thought === "" ? [] : [cutAtWord(thought, TEXT_CHARS_MAX)])],
        isLastLong: true,
      };
    }
    case "turn":
      return { cells: [{ text: status, colour: colourOf(status) }, ...code], isLastLong: false };
    case "call": {
      if (elapsed_ms === undefined)
        return { cells: [name, { text: status, colour: colourOf(status) }], isLastLong: false };
      const painted = { text: status.padEnd(STATUS_WIDTH), colour: colourOf(status) };
      return { cells: [name, painted, seconds(elapsed_ms).padStart(TIME_WIDTH), ...code], isLastLong: false };
    }
    case "wait": {
      const { code, reason = "" } = event;
      const brief = code === undefined ? reason : briefOf({ ...event, code, reason });
      const text = `${visibleLine(brief)}${untilText(deadline_at)}`;
      return { cells: [...(tool === undefined ? [] : [name]), { text, colour: "yellow" }], isLastLong: true };
    }
  }
}

function textOf(cell: Cell): string {
  return typeof cell === "string" ? cell : cell.text;
}

function colourOf(status: string): Colour {
  if (status === "success") return "green";
  return status === "called" || status === "started" ? "dim" : status === "partial" ? "yellow" : "red";
}

export function seconds(ms: number): string {
  return `${(ms / 1_000).toFixed(ms < 10_000 ? 2 : 1)} s`;
}

function cutAtWord(text: string, columns: number): string {
  const cut = cutText(text, columns);
  return cut === text ? text : cut.replace(/ [^ ]*…$/, " …");
}
