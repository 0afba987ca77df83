// Progress for people: one aligned line for each event, coloured only where a person watches.

import type { ProgressEvent } from "./turn-progress.ts";
import { visibleLine } from "./visible-text.ts";

const COLOUR = { dim: 2, red: 31, green: 32, yellow: 33 } as const;
const TEXT_CHARS_MAX = 96;
const AGENT_WIDTH = 12;
const TOOL_WIDTH = 22;
const STATUS_WIDTH = 9;

export function progressLine(event: ProgressEvent, sinceStartMs: number, isColoured: boolean): string {
  const paint = (colour: keyof typeof COLOUR, text: string) =>
    isColoured ? `\u001b[${COLOUR[colour]}m${text}\u001b[0m` : text;
  const time = paint("dim", seconds(sinceStartMs).padStart(8));
  const agent = visibleLine(event.agent).padEnd(AGENT_WIDTH);
  return `${[time, agent, event.event.padEnd(4), ...cells(event, paint)].join("  ").trimEnd()}\n`;
}

function cells(event: ProgressEvent, paint: (colour: keyof typeof COLOUR, text: string) => string): string[] {
  const { tool, status = "", error_code, reason = "", deadline_at, elapsed_ms } = event;
  const name = visibleLine(tool ?? "").padEnd(TOOL_WIDTH);
  switch (event.event) {
    case "step":
      return [`${event.step}`, cut(visibleLine((event.text ?? "").replace(/\s+/g, " ")))];
    case "turn":
      return [paint(colourOf(status), status), ...(error_code === undefined ? [] : [error_code])];
    case "call": {
      const took = elapsed_ms === undefined ? "" : seconds(elapsed_ms).padStart(8);
      const painted = paint(colourOf(status), status.padEnd(STATUS_WIDTH));
      return [name, painted, took, ...(error_code === undefined ? [] : [error_code])];
    }
    case "wait": {
      const until = deadline_at === undefined ? "" : `, until ${deadline_at.slice(11, 19)} UTC`;
      return [...(tool === undefined ? [] : [name]), paint("yellow", `${visibleLine(reason)}${until}`)];
    }
  }
}

function colourOf(status: string): keyof typeof COLOUR {
  if (status === "success") return "green";
  return status === "called" || status === "started" ? "dim" : status === "partial" ? "yellow" : "red";
}

function seconds(ms: number): string {
  return `${(ms / 1_000).toFixed(ms < 10_000 ? 2 : 1)} s`;
}

function cut(text: string): string {
  const chars = [...text];
  return chars.length > TEXT_CHARS_MAX ? `${chars.slice(0, TEXT_CHARS_MAX - 1).join("")}…` : text;
}
