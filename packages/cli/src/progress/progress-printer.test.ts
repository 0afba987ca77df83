import { expect, it } from "vitest";
import { testTerminal } from "../../test/test-terminal.ts";
import type { ProcessTerminal } from "../output/printing-gate.ts";
import { createProgressPrinter } from "./progress-printer.ts";

function printer(given: Partial<ProcessTerminal> = {}, isJson = false) {
  const watched = { env: { NO_COLOR: "1" }, isWatched: true, columns: () => 40 };
  const { printed, terminal } = testTerminal({ ...watched, ...given });
  return { printed, printer: createProgressPrinter(terminal, { isJson, nowMs: () => 0 }) };
}

const EVENT = { event: "turn", agent: "planner", agent_turn_id: "turn_1", status: "started" } as const;
const ITEM = { agent: "planner", tool: "slow", elapsed_ms: 1_500, reason: "it runs and runs and runs and runs" };

it("redraws what is under way in place, below the lines that stay, and takes it away at the end", () => {
  const { printed, printer: live } = printer();
  live.draw([ITEM]);
  expect(printed.err).toBe("  1.50 s  planner       ...   slow    …\n");
  live.event(EVENT);
  const drawn = "  1.50 s  planner       ...   slow    …\n";
  expect(printed.err).toBe(`${drawn}\u001b[1A\u001b[2K  0.00 s  planner       turn  started\n${drawn}`);
  live.close();
  expect(printed.err.endsWith("\u001b[1A\u001b[2K")).toBe(true);
});

it.each([
  ["a pipe", { isWatched: false }],
  ["a dumb terminal", { env: { TERM: "dumb" } }],
])("%s gets lines only", (_, terminal) => {
  const { printed, printer: plain } = printer(terminal);
  plain.draw([ITEM]);
  plain.event(EVENT);
  plain.note("a tool's \u001b[31mlog");
  plain.close();
  expect(printed.err).toBe("  0.00 s  planner       turn  started\na tool's \\u001b[31mlog\n");
});

it("with JSON prints an event per line on stdout, and nothing else", () => {
  const { printed, printer: json } = printer({}, true);
  json.draw([ITEM]);
  json.event(EVENT);
  json.note("a note");
  json.close();
  expect(printed).toEqual({ out: `${JSON.stringify(EVENT)}\n`, err: "" });
});
