import type { Agent } from "@tessera/client";
import { expect, it } from "vitest";
import { agentRows } from "./agents.ts";

function agentOf(agentId: string, change: Partial<Agent> = {}): Agent {
  return {
    projectId: "default",
    agentId,
    profileBoxId: null,
    workerTarget: "agents",
    tags: [],
    displayName: null,
    ownerAgentId: null,
    status: "active",
    metadata: {},
    createdAt: "2026-01-02T03:04:05.000Z",
    lastSeenAt: null,
    ...change,
  };
}

it("those at work come first; helpers of one name are told apart by instance and owner", () => {
  const long = `agent_${"0".repeat(30)}7`;
  const planner = agentOf("p", { metadata: { agent_name: "planner", instance_key: "default" } });
  const helper = agentOf(long, {
    ownerAgentId: "p",
    metadata: { agent_name: "helper", instance_key: "fork-1" },
    createdAt: "2026-01-02T03:04:04.000Z",
  });
  const doing = new Map([
    ["p", "idle"],
    [long, "running"],
  ]);
  const rows = agentRows([planner, helper], doing);
  expect(rows).toMatchObject([
    { agent: "helper", instance: "fork-1", owner: "planner", doing: "running", agent_id: long },
    { agent: "planner", instance: "default", owner: null, doing: "idle" },
  ]);
  expect(agentRows([helper], doing)[0]).toMatchObject({ agent_id: long, owner: "p" });
});
