// Who waits for whom: only a chain of turns that are still open and are waited for makes a circle.

import type { Kernel, Row } from "@tessera/kernel";
import { describe, expect, it } from "vitest";
import { isWaitingFor } from "./awaited-turn.ts";

const caller = {
  project_id: "p",
  channel_id: "public",
  agent_id: "c",
  agent_turn_id: "turn_c",
  step_id: "s",
  tool_call_id: "tc",
  trace_id: "t",
};
/** a asked b, b asked c, c asks now. */
function chain(changes: Readonly<Record<string, Row>> = {}) {
  const turns: Record<string, Row> = {
    turn_c: { parent_agent_id: "b", parent_agent_turn_id: "turn_b", ended_at: null, metadata: null },
    turn_b: { parent_agent_id: "a", parent_agent_turn_id: "turn_a", ended_at: null, metadata: null },
    turn_a: { parent_agent_id: null, parent_agent_turn_id: null, ended_at: null, metadata: null },
  };
  for (const [id, change] of Object.entries(changes)) turns[id] = { ...turns[id], ...change };
  return { reads: { turn: async (_: string, id: string) => turns[id] ?? null } } as Kernel;
}

describe("an agent waits for the one who asks", () => {
  it("when it asked for that turn, itself or through others, or is the same", async () => {
    for (const target of ["a", "b", "c"]) expect(await isWaitingFor(chain(), caller, target), target).toBe(true);
    expect(await isWaitingFor(chain(), caller, "d")).toBe(false);
  });

  it("not when a turn in between was only sent, or handed over", async () => {
    const kernel = chain({ turn_b: { metadata: { awaited: false } } });
    expect(await isWaitingFor(kernel, caller, "b")).toBe(true);
    expect(await isWaitingFor(kernel, caller, "a")).toBe(false);
  });

  it("not when its turn has ended", async () => {
    expect(await isWaitingFor(chain({ turn_b: { ended_at: "2026-01-01" } }), caller, "a")).toBe(false);
  });
});
