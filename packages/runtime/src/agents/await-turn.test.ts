import { afterEach, beforeEach, expect, it } from "vitest";
import { type Node, openNode } from "../process/open-node.ts";
import { awaitTurn } from "./await-turn.ts";

const project_id = "default";
const agent_id = "a";
let node: Node;

beforeEach(async () => {
  node = await openNode({ onWarning: () => {}, onFatal: () => {} });
  const { kernel, ids } = node;
  const box_id = ids.mint("box");
  await kernel.putProject({ project_id });
  await kernel.putBox({ project_id, box_id });
  await kernel.putAgent({ project_id, agent_id, worker_target: "w", profile_box_id: box_id });
});
afterEach(() => node.close());

/** A clock by which no pause is ever over. */
const standing = () => ({ ...node.clock, monotonicMs: () => 0, after: () => ({ cancel: () => {} }) });

async function startTurn() {
  const { kernel, ids } = node;
  const worker_id = ids.mint("worker");
  await kernel.renewWorker({ worker_id, worker_target: "w" });
  await kernel.enqueueTurn({ project_id, agent_id, context_cards: [] });
  const turn = await kernel.resume({ project_id, agent_id, worker_id });
  if (turn.outcome !== "accepted") throw new Error(JSON.stringify(turn));
  return { project_id, agent_id, agent_turn_id: turn.agent_turn_id, turn_epoch: turn.turn_epoch };
}

function askedOf({ agent_turn_id, agent_id }: Awaited<ReturnType<typeof startTurn>>) {
  return { agentTurnId: agent_turn_id, agentId: agent_id };
}

it("hears of a turn that ends in its process without waiting for its next look", async () => {
  const { kernel, ids } = node;
  const turn = await startTurn();
  const waits = [1, 2].map(() => awaitTurn({ kernel, clock: standing() }, project_id, askedOf(turn), {}));
  const deliverable = { card_id: ids.mint("card"), content: { text: "done" } };
  expect(await kernel.finishTurn({ ...turn, status: "success", deliverable })).toMatchObject({ outcome: "accepted" });
  expect(await Promise.all(waits)).toMatchObject([
    { status: "success", deliverable: "done" },
    { status: "success", deliverable: "done" },
  ]);
});

it("hears of a turn that is stopped", async () => {
  const { kernel } = node;
  const turn = await startTurn();
  const wait = awaitTurn({ kernel, clock: standing() }, project_id, askedOf(turn), {});
  await kernel.stopTurn({ project_id, agent_turn_id: turn.agent_turn_id });
  expect(await wait).toMatchObject({ status: "canceled" });
});

it("gives up when it is told to, and the turn goes on", async () => {
  const { kernel } = node;
  const turn = await startTurn();
  const given = new AbortController();
  const wait = awaitTurn({ kernel, clock: standing() }, project_id, askedOf(turn), { signal: given.signal });
  given.abort();
  expect(await wait).toMatchObject({ status: "waiting" });
  expect(await kernel.reads.turn(project_id, turn.agent_turn_id)).toMatchObject({ status: "active" });
});
