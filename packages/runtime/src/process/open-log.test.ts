import type { ToolLogEntry } from "@tessera/tool";
import { expect, it } from "vitest";
import { openLog } from "./open-log.ts";

it("a line of the log is JSON, in which nothing acts on the terminal that it is read on", () => {
  const lines: string[] = [];
  const log = openLog((line) => void lines.push(line));
  const message = "\u009b31mX\u007f\u202e\u001b[2J";
  log.warn(message);
  log.tell("info", message, { at: "\u202egnp" });
  log.printed({ level: "error", message, tool_call_id: "tc_1" } as Partial<ToolLogEntry> as ToolLogEntry);
  expect(lines.map((line) => JSON.parse(line).msg)).toEqual([message, message, message]);
  for (const line of lines) expect(line).toMatch(/^[\x20-\x7e]*\n$/);
});
