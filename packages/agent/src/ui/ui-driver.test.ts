// What a worker of UI actions makes of a refusal when it asks for a turn that it may hold already.

import type { ResumeOutcome } from "@tessera/kernel";
import { describe, expect, it } from "vitest";
import { workOnTurn } from "../loop/work-on-turn.ts";
import type { WorkerContext } from "../loop/worker-context.ts";
import { uiDriver } from "./ui-driver.ts";

function workerAnswered(outcome: ResumeOutcome): WorkerContext {
  const kernel = { resume: async () => outcome };
  const driver = uiDriver({ kernel, ids: null } as never);
  return { kernel, driver, workerId: () => "w", onWarning: () => undefined } as never;
}

describe("a worker whose lease has run out", () => {
  const lapsed = workerAnswered({ outcome: "rejected", code: "worker_lapsed" });
  const agent = { project_id: "p", agent_id: "a" };
  const { signal } = new AbortController();

  it("is still in doubt about a turn that it may hold, and must ask again", async () => {
    const inDoubt = { code: "worker_lapsed" };
    await expect(workOnTurn(lapsed, { ...agent, reclaim: true }, signal)).rejects.toMatchObject(inDoubt);
    // The kernel may have asked twice by itself, and the first answer may have been lost.
    await expect(workOnTurn(lapsed, agent, signal)).rejects.toMatchObject(inDoubt);
  });
});
