import { expect, it } from "vitest";
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
  expect(progressLine(event, 1_500, false)).toBe(line);
});

it("is coloured only for a person, and the words stay the same", () => {
  const coloured = progressLine({ ...call, status: "success", elapsed_ms: 5 }, 0, true);
  expect(coloured).toContain("\u001b[32msuccess  \u001b[0m");
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is removed
  const plain = coloured.replace(/\u001b\[\d+m/g, "");
  expect(plain).toBe(progressLine({ ...call, status: "success", elapsed_ms: 5 }, 0, false));
});

it("cuts a long thought, and shows control characters of agents and tools instead of sending them", () => {
  const line = progressLine({ event: "step", ...of, agent: "a\u001b[2J", step: 1, text: "x".repeat(500) }, 0, false);
  expect(line).not.toContain("\u001b");
  expect(line.endsWith("x…\n")).toBe(true);
  expect(line.length).toBeLessThan(140);
});
