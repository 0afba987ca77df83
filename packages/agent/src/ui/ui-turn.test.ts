// What a UI worker makes of a refusal when it asks for a turn that it may hold already.

import type { ResumeOutcome } from "@tessera/kernel";
import { describe, expect, it } from "vitest";
import { workOnUiTurn } from "./ui-turn.ts";
import type { UiWorld } from "./ui-world.ts";

function worldAnswering(outcome: ResumeOutcome): UiWorld {
  return { kernel: { resume: async () => outcome }, workerId: () => "w", onWarning: () => undefined } as never;
}

describe("a worker whose lease has run out", () => {
  const lapsed = worldAnswering({ outcome: "rejected", code: "worker_lapsed" });
  const agent = { project_id: "p", agent_id: "a" };
  const { signal } = new AbortController();

  it("is still in doubt about a turn that it may hold, and must ask again", async () => {
    const inDoubt = { code: "worker_lapsed" };
    await expect(workOnUiTurn(lapsed, { ...agent, reclaim: true }, signal)).rejects.toMatchObject(inDoubt);
    // The kernel may have asked twice by itself, and the first answer may have been lost.
    await expect(workOnUiTurn(lapsed, agent, signal)).rejects.toMatchObject(inDoubt);
  });
});
