// Progress for people: one aligned line for each event, and for each thing under way, coloured only where a person watches.

import { numbered } from "./name-numbers.ts";
import { briefOf } from "./turn-document.ts";
import type { OpenItem, ProgressEvent } from "./turn-progress.ts";
import { visibleLine } from "./visible-text.ts";

const COLOUR = { dim: 2, red: 31, green: 32, yellow: 33 } as const;
const TEXT_CHARS_MAX = 96;
const AGENT_WIDTH = 12;
const TOOL_WIDTH = 22;
const STATUS_WIDTH = 9;
const LINE_CHARS_MIN = 20;
const EARLIER = "earlier";

/** `sinceStartMs` null: it happened before there was anybody to watch it. */
export function progressLine(event: ProgressEvent, sinceStartMs: number | null, isColoured: boolean): string {
  const paint = (colour: keyof typeof COLOUR, text: string) =>
    isColoured ? `\u001b[${COLOUR[colour]}m${text}\u001b[0m` : text;
  const time = paint("dim", (sinceStartMs === null ? EARLIER : seconds(sinceStartMs)).padStart(8));
  const agent = visibleLine(numbered(event.agent, event.agent_number)).padEnd(AGENT_WIDTH);
  return `${[time, agent, event.event.padEnd(4), ...cells(event, paint)].join("  ").trimEnd()}\n`;
}

/** Of what is under way; it replaces itself, so it fits into one line of the terminal. */
export function openLine({ agent, tool, elapsed_ms, reason, deadline_at }: OpenItem, columns: number): string {
  const what = tool === undefined ? "" : `${visibleLine(tool).padEnd(TOOL_WIDTH)}  `;
  const line = `${seconds(elapsed_ms).padStart(8)}  ${visibleLine(agent).padEnd(AGENT_WIDTH)}  ...   ${what}${visibleLine(reason)}${untilText(deadline_at)}`;
  return cut(line, Math.max(columns - 1, LINE_CHARS_MIN));
}

function untilText(deadline: string | undefined): string {
  return deadline === undefined ? "" : `, until ${deadline.slice(11, 19)} UTC`;
}

function cells(event: ProgressEvent, paint: (colour: keyof typeof COLOUR, text: string) => string): string[] {
  const { tool, status = "", error_code, deadline_at, elapsed_ms } = event;
  const name = visibleLine(numbered(tool ?? "", event.tool_number)).padEnd(TOOL_WIDTH);
  switch (event.event) {
    case "step":
      return [`${event.step}`, cut(visibleLine((event.text ?? "").replace(/\s+/g, " ")), TEXT_CHARS_MAX)];
    case "turn":
      return [paint(colourOf(status), status), ...(error_code === undefined ? [] : [error_code])];
    case "call": {
      const took = elapsed_ms === undefined ? "" : seconds(elapsed_ms).padStart(8);
      const painted = paint(colourOf(status), status.padEnd(STATUS_WIDTH));
      return [name, painted, took, ...(error_code === undefined ? [] : [error_code])];
    }
    case "wait": {
      const { code, reason = "" } = event;
      const brief = code === undefined ? reason : briefOf({ ...event, code, reason });
      const text = `${visibleLine(brief)}${untilText(deadline_at)}`;
      return [...(tool === undefined ? [] : [name]), paint("yellow", text)];
    }
  }
}

function colourOf(status: string): keyof typeof COLOUR {
  if (status === "success") return "green";
  return status === "called" || status === "started" ? "dim" : status === "partial" ? "yellow" : "red";
}

export function seconds(ms: number): string {
  return `${(ms / 1_000).toFixed(ms < 10_000 ? 2 : 1)} s`;
}

function cut(text: string, charsMax: number): string {
  const chars = [...text];
  return chars.length > charsMax ? `${chars.slice(0, charsMax - 1).join("")}…` : text;
}
