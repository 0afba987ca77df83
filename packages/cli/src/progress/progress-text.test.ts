import { expect, it } from "vitest";
import { printed, type Text } from "../output/printing-gate.ts";
import { progressLine } from "./progress-text.ts";
import type { ProgressEvent } from "./turn-progress.ts";

const of = { agent: "planner", agent_turn_id: "turn_1" } as const;
const call = { event: "call", ...of, tool: "search__web", tool_call_id: "tc_1" } as const;

it.each<[ProgressEvent, string]>([
  [{ event: "turn", ...of, status: "started" }, "  1.50 s  planner       turn  started\n"],
  [{ event: "turn", ...of, status: "failed", error_code: "x" }, "  1.50 s  planner       turn  failed  x\n"],
  [{ event: "step", ...of, step: 2, text: "so\n then" }, "  1.50 s  planner       step  2  so then\n"],
  [{ ...call, status: "called" }, "  1.50 s  planner       call  search__web             called\n"],
  [
    { ...call, status: "failed", elapsed_ms: 12_340, error_code: "tool_timeout" },
    "  1.50 s  planner       call  search__web             failed       12.3 s  tool_timeout\n",
  ],
  [
    { ...call, event: "wait", reason: "it runs", deadline_at: "2026-01-02T03:04:05.678Z" },
    "  1.50 s  planner       wait  search__web             it runs, until 03:04:05 UTC\n",
  ],
  [{ event: "wait", ...of, reason: "no worker" }, "  1.50 s  planner       wait  no worker\n"],
])("%j is one aligned line", (event, line) => {
  expect(plain([progressLine(event, 1_500)])).toBe(line);
});

const plain = (text: Text) => printed(text);
const at = (columns: number) => (event: ProgressEvent) =>
  printed([progressLine(event, 1_500)], { isColoured: false, columns });

it("is coloured only for a person, and the words stay the same", () => {
  const line = [progressLine({ ...call, status: "success", elapsed_ms: 5 }, 0)];
  const coloured = printed(line, { isColoured: true, columns: 80 });
  expect(coloured).toContain("\u001b[32msuccess  \u001b[0m");
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is removed
  expect(coloured.replace(/\u001b\[\d+m/g, "")).toBe(plain(line));
});

it("cuts a long thought at a word, and shows control characters of agents and tools instead of sending them", () => {
  const text = "sense ".repeat(100);
  const line = plain([progressLine({ event: "step", ...of, agent: "a\u001b[2J", step: 1, text }, 0)]);
  expect(line).not.toContain("\u001b");
  expect(line.endsWith("sense …\n")).toBe(true);
  expect(line.length).toBeLessThan(140);
});

const STEP: ProgressEvent = {
  event: "step",
  ...of,
  step: 2,
  text: "the old bridge, the book shop with the red stairs, the river at dusk, and then home",
};
const WAIT: ProgressEvent = {
  ...call,
  event: "wait",
  reason: "no executor of the target search has asked for work",
  deadline_at: "2026-01-02T03:04:05.678Z",
};

it("goes on below itself between words, at 120, 80 and 60 columns; without a terminal it is one line", () => {
  expect(plain([progressLine(STEP, 1_500)]).split("\n")).toHaveLength(2);
  expect([120, 80, 60].map((columns) => `\n${at(columns)(STEP)}${at(columns)(WAIT)}`)).toMatchInlineSnapshot(`
    [
      "
      1.50 s  planner       step  2  the old bridge, the book shop with the red stairs, the river at dusk, and then home
      1.50 s  planner       wait  search__web             no executor of the target search has asked for work, until
                                                          03:04:05 UTC
    ",
      "
      1.50 s  planner       step  2  the old bridge, the book shop with the red
                                     stairs, the river at dusk, and then home
      1.50 s  planner       wait  search__web             no executor of the target
                                                          search has asked for work,
                                                          until 03:04:05 UTC
    ",
      "
      1.50 s  planner       step  2  the old bridge, the book
                                     shop with the red stairs,
                                     the river at dusk, and then
                                     home
      1.50 s  planner       wait  search__web             no
        executor of the target search has asked for work, until
        03:04:05 UTC
    ",
    ]
  `);
});
