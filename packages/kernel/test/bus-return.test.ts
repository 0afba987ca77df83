// What a bus may have lost is rung when it is back, not when it would have been rung anyway.

import { beforeEach, expect, it } from "vitest";
import { PROJECT, useFixture } from "./fixture.ts";

const fx = useFixture();
const NOT_DUE_MS = 1_000;

beforeEach(async () => {
  await fx.kernel.sweep(); // has seen the bus as it is
});

async function rungBySweep(): Promise<string[]> {
  const before = fx.published.length;
  await fx.clock.advance(NOT_DUE_MS);
  await fx.kernel.sweep();
  await fx.kernel.announcer.settled();
  return fx.published.slice(before).map(({ headers }) => headers["CG-Tool-Call-Id"] ?? headers["CG-Agent-Id"] ?? "");
}

it("a sweep rings nothing that is not due while the bus stays", async () => {
  await fx.suspended();
  expect(await rungBySweep()).toEqual([]);
});

it("the first sweep after the bus came back announces untaken calls, results and turns, and announces them once", async () => {
  const waiting = await fx.suspended();
  const answered = await fx.suspended();
  await fx.report(await fx.opened(answered));
  const agent = await fx.newAgent();
  await fx.kernel.enqueueTurn({ project_id: PROJECT, agent_id: agent });
  fx.connections += 1;
  const lost = [waiting.calls[0]?.tool_call_id ?? "", answered.agent_id, agent];
  const rung = (await rungBySweep()).filter((id) => lost.includes(id)); // other tests of this store left work, too
  expect(rung.toSorted()).toEqual(lost.toSorted());
  expect(await rungBySweep()).toEqual([]);
  await fx.expectSafe();
});

it("a kernel that has not swept yet rings, too, what was lost since it was opened", async () => {
  const started = fx.anotherKernel();
  const waiting = await fx.suspended();
  fx.connections += 1;
  const before = fx.published.length;
  await started.sweep();
  await started.announcer.settled();
  const rung = fx.published.slice(before).map(({ headers }) => headers["CG-Tool-Call-Id"]);
  expect(rung).toContain(waiting.calls[0]?.tool_call_id);
});

it("a call that waits out its back-off is left alone when the bus comes back", async () => {
  const turn = await fx.suspended([{ attempts_max: 3, backoff_ms: 4_000, timeout_ms: 600_000 }]);
  const again = await fx.report(await fx.opened(turn), {
    status: "failed",
    error: { code: "upstream_unavailable", message: "later", retryable: true },
  });
  expect(again).toHaveProperty("retry_at");
  fx.connections += 1;
  expect(await rungBySweep()).toEqual([]);
});

it("what is held or was put off is left alone when the bus comes back", async () => {
  await fx.opened(await fx.suspended());
  const { output_box_id: _, worker_id: __, ...hold } = await fx.started();
  await fx.kernel.deferTurn(hold, "state_not_found");
  const before = await fx.everything();
  fx.connections += 1;
  expect(await rungBySweep()).toEqual([]);
  expect(await fx.everything()).toBe(before);
});
