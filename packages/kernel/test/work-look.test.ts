// What a process finds that receives no wakeup: overdue work of its target, and of its project where it serves only one.

import { expect, it } from "vitest";
import { PROJECT, useFixture } from "./fixture.ts";

const fx = useFixture();
const RUNG_AFTER_MS = 5_001;

it("a tool's look finds calls of its project only, where it has one", async () => {
  const target_subject = `cg.v1r4.${PROJECT}.public.cmd.tool.looked.run`;
  const turn = await fx.suspended([{ target_subject, timeout_ms: 600_000 }]);
  await fx.clock.advance(RUNG_AFTER_MS);
  await fx.kernel.sweep();
  const look = async (role: { tool_target: string; project?: string }) =>
    (await fx.kernel.overdueMessages(role)).map((message) => message.headers["CG-Tool-Call-Id"]);
  const found = [turn.calls[0]?.tool_call_id];
  expect(await look({ tool_target: "looked" })).toEqual(found);
  expect(await look({ tool_target: "looked", project: PROJECT })).toEqual(found);
  expect(await look({ tool_target: "looked", project: "p2" })).toEqual([]);
});

it("a worker's look is not hidden by what other projects have left lying", async () => {
  await fx.kernel.putProject({ project_id: "p2" });
  const others = await Promise.all(Array.from({ length: 3 }, () => fx.newAgent(undefined, "p2")));
  for (const agent_id of others) await fx.kernel.enqueueTurn({ project_id: "p2", agent_id });
  const mine = await fx.newAgent();
  await fx.kernel.enqueueTurn({ project_id: PROJECT, agent_id: mine });
  await fx.clock.advance(RUNG_AFTER_MS);
  await fx.kernel.sweep();
  const look = async (project?: string) => {
    const role = { worker_target: "workers", ...(project === undefined ? {} : { project }) };
    return (await fx.kernel.overdueMessages(role)).map((message) => message.headers["CG-Project-Id"]);
  };
  expect(await look()).toContain("p2");
  const found = await look(PROJECT);
  expect(found.length).toBeGreaterThan(0);
  expect(new Set(found)).toEqual(new Set([PROJECT]));
});

it("a look of a process whose bus is gone finds what is fresh, too, and not what was put off or is held", async () => {
  const target_subject = `cg.v1r4.${PROJECT}.public.cmd.tool.unheard.run`;
  const turn = await fx.suspended([
    { target_subject, timeout_ms: 600_000 },
    { target_subject, timeout_ms: 600_000 },
  ]);
  await fx.opened(turn, 0);
  const commands = async (alsoUnrung: boolean) =>
    (await fx.kernel.overdueMessages({ tool_target: "unheard" }, { alsoUnrung })).map(
      (message) => message.headers["CG-Tool-Call-Id"],
    );
  expect(await commands(false)).toEqual([]);
  expect(await commands(true)).toEqual([turn.calls[1]?.tool_call_id]);

  const agent = await fx.newAgent();
  await fx.kernel.enqueueTurn({ project_id: PROJECT, agent_id: agent });
  const agents = async (alsoUnrung: boolean) =>
    (await fx.kernel.overdueMessages({ worker_target: "workers", project: PROJECT }, { alsoUnrung })).map(
      (message) => message.headers["CG-Agent-Id"],
    );
  expect(await agents(false)).not.toContain(agent);
  expect(await agents(true)).toContain(agent);
});
