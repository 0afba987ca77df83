import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { openStore } from "../store/open-store.ts";
import { type Node, openNode } from "./open-node.ts";

const quiet = { onWarning: () => {}, onFatal: () => {} };
let data = "";

beforeEach(() => {
  data = mkdtempSync(join(tmpdir(), "tessera-node-"));
});
afterEach(() => rmSync(data, { recursive: true, force: true }));

/** A turn that waits for one `read` call, which an executor has taken. */
async function takeOneCall({ kernel, ids }: Node) {
  const project_id = "default";
  const box_id = ids.mint("box");
  const worker_id = ids.mint("worker");
  await kernel.putProject({ project_id });
  await kernel.putBox({ project_id, box_id });
  await kernel.putAgent({ project_id, agent_id: "a", worker_target: "w", profile_box_id: box_id });
  await kernel.renewWorker({ worker_id, worker_target: "w" });
  await kernel.enqueueTurn({ project_id, agent_id: "a", context_cards: [] });
  const turn = await kernel.resume({ project_id, agent_id: "a", worker_id });
  if (turn.outcome !== "accepted") throw new Error(JSON.stringify(turn));
  const tool_call_id = ids.mint("call");
  const call = { tool_call_id, tool_name: "t__x", arguments: {}, author_id: "tool.t", effect: "read" } as const;
  const { agent_id, agent_turn_id, turn_epoch } = turn;
  const step = await kernel.suspendOnCalls({
    ...{
      project_id,
      agent_id,
      agent_turn_id,
      turn_epoch,
      step_id: ids.mint("step"),
      thought: { content: { text: "" } },
    },
    calls: [{ ...call, target_subject: "cg.v1r4.default.public.cmd.tool.t.x" }],
  });
  if (step.outcome === "rejected") throw new Error(step.code);
  const ticket = step.calls[0]?.ticket ?? "";
  expect(await kernel.openCall({ project_id, tool_call_id, ticket, executor: "e" })).toMatchObject({ attempt: 1 });
}

it("a node that opens a directory ends the leases of the one before, and the first sweep gives the work out again", async () => {
  const first = await openNode({ data, sweepIntervalMs: 60_000, ...quiet });
  expect(first.freed).toEqual({ workers: 0, calls: 0 });
  await takeOneCall(first);
  await first.close();

  const second = await openNode({ data, sweepIntervalMs: 60_000, ...quiet });
  expect(second.freed).toEqual({ workers: 1, calls: 1 });
  expect(await second.kernel.sweep()).toMatchObject({ commands: 1 });
  await second.close();
});

it("a node closes once, however often it is asked", async () => {
  const node = await openNode(quiet);
  expect(node.bus.capabilities.kind).toBe("memory");
  await Promise.all([node.close(), node.close()]);
  await expect(node.kernel.sweep()).rejects.toThrow();
});

it("a start that fails half way gives the directory back", async () => {
  await expect(openNode({ data, nats: "http://not-nats", ...quiet })).rejects.toThrow(/NATS URL/);
  await (await openStore({ data, ...quiet })).close();
});
