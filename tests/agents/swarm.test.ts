// The same swarm embedded in one process and spread over five: the same turns with the same cards (issue 4).

import type { TestEngine } from "@tessera/testkit";
import { afterEach, describe, expect, it } from "vitest";
import { AgentsWorld, PROJECT } from "./agents-world.ts";
import { SWARM_FILES } from "./swarm-bundle.ts";
import { readTurnTree, type TurnTree } from "./turn-tree.ts";

const worlds: AgentsWorld[] = [];
afterEach(async () => {
  for (const world of worlds.splice(0)) await world.close();
});

async function openWorld(engine: TestEngine): Promise<AgentsWorld> {
  const world = await AgentsWorld.open(engine);
  worlds.push(world);
  return world;
}

async function runSwarm(world: AgentsWorld): Promise<TurnTree> {
  const turn = await world.ask("planner", "granite");
  expect(await world.ended(turn, 60_000)).toMatchObject({ error_message: null, status: "success" });
  expect(await world.deliverable(turn)).toBe("Reviewed: it is fine (review)");
  await world.expectOneEndEach();
  await world.expectClean();
  return await readTurnTree(world.node.kernel.reads, PROJECT, turn);
}

describe("a swarm with a tool in each placement, fork_join and a request", () => {
  it("writes the same cards embedded and on three workers, a PMO and a tool process", async () => {
    const embedded = await openWorld("pglite");
    await embedded.crew(embedded.bundle(SWARM_FILES));
    const alone = await runSwarm(embedded);

    const spread = await openWorld("postgres");
    const bundle = spread.bundle(SWARM_FILES);
    const roles = ["worker", "worker", "worker", "pmo", "tools"] as const;
    await Promise.all(roles.map((role) => spread.start(bundle, [role])));
    const together = await runSwarm(spread);

    expect(together).toEqual(alone);
    expect(shapeOf(alone)).toEqual([
      ["planner", 0, ["desk__note", "archive__find", "lab__measure", "fork_join", "agents__request"]],
      ["researcher", 1, ["lab__measure", "archive__find"]],
      ["researcher", 1, ["lab__measure", "archive__find"]],
      ["reviewer", 1, ["desk__note"]],
    ]);
  }, 120_000);
});

/** Turns in depth-first order with the tools they called. */
function shapeOf({ role, depth, output, children }: TurnTree): unknown[] {
  const calls = output.flatMap((card) => {
    const { type, content } = card as { type: string; content: { tool_name?: string } };
    return type === "tool.call" ? [content.tool_name] : [];
  });
  return [[role, depth, calls], ...children.flatMap(shapeOf)];
}
