// One tool, four placements, two engines: the cards are the same, byte for byte, ids and times aside.

import { createHash } from "node:crypto";
import { TOOL_PLACEMENTS, type ToolPlacement } from "@tessera/protocol";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type HostedProject, ToolWorld } from "./tool-world.ts";

const RESOURCE = (placement: ToolPlacement, target: string) => `
apiVersion: goondan.ai/v1
kind: Tool
metadata: { name: sample }
spec:
  entry: ./tools/sample.ts
  placement: ${placement}
${placement === "service" || placement === "edge" ? `  target: ${target}` : ""}
  exports:
    - name: echo
      parameters: { type: object, properties: { text: { type: string }, times: { type: integer, default: 2 } }, required: [text], additionalProperties: false }
      effect: read
    - name: fail
    - name: refuse
    - name: plain
    - name: steer
    - name: lie
`;

const MODULE = `
import { ToolError, type ToolHandler } from "@tessera/tool";

export const handlers: Record<string, ToolHandler> = {
  echo: (ctx, input) => {
    ctx.logger.info("echo", input.text);
    return { said: String(input.text).repeat(Number(input.times)), attempt: ctx.attempt };
  },
  fail: () => { throw new TypeError("x".repeat(3_000)); },
  refuse: () => { throw new ToolError("no seats left", { code: "E_FULL", suggestion: "try tomorrow", helpUrl: "https://example.com/help" }); },
  plain: () => 42,
  steer: () => ({ done: true, __cg_control: { after_execution: "terminate" } }),
  lie: () => ({ when: () => 1 }) as never,
};
`;

const CALLS: readonly (readonly [tool: string, args: object])[] = [
  ["sample__echo", { text: "hällo" }],
  ["sample__echo", { txt: 1 }],
  ["sample__fail", {}],
  ["sample__refuse", { any: { thing: [1, 2] } }],
  ["sample__plain", {}],
  ["sample__steer", {}],
  ["sample__lie", {}],
  ["sample__none", {}],
];

describe.each(["pglite", "postgres"] as const)("on %s", (engine) => {
  let world: ToolWorld;
  beforeAll(async () => {
    world = await ToolWorld.open(engine);
  });
  afterAll(() => world.close());

  it("every placement writes the same cards, for success and for every kind of failure", async () => {
    const seen = new Map<ToolPlacement, string[]>();
    for (const placement of TOOL_PLACEMENTS) {
      const hosted = await start(world, placement);
      seen.set(placement, await cardsOfCalls(world, hosted));
    }
    const inline = seen.get("inline") ?? [];
    expect(inline).toHaveLength(CALLS.length);
    expect(inline[0]).toContain('"result":{"said":"hällohällo","attempt":1}');
    expect(inline[2]).toContain("... (truncated)");
    for (const placement of TOOL_PLACEMENTS) expect(seen.get(placement), placement).toEqual(inline);
    await world.expectSafe();
  }, 60_000);
});

async function start(world: ToolWorld, placement: ToolPlacement): Promise<HostedProject> {
  const project = world.newProject();
  // Targets are shared by all projects of a bus, so each run has its own.
  const target = `sample_${createHash("sha256").update(project).digest("hex").slice(0, 8)}`;
  const bundle = world.bundle({ "tessera.yaml": RESOURCE(placement, target), "tools/sample.ts": MODULE });
  const hosted = await world.host({ project, bundle });
  if (placement === "edge") await world.edge(hosted, target);
  return hosted;
}

/** The output of each call's turn as text, with ids, times and the project's own names taken out. */
async function cardsOfCalls(world: ToolWorld, hosted: HostedProject): Promise<string[]> {
  const texts: string[] = [];
  for (const [tool, args] of CALLS) {
    const answer = await world.call(hosted, tool, args);
    const cards = await world.cardsOf(hosted.project, answer.agentTurnId);
    expect(cards.map((card) => card.type)).toEqual(["agent.thought", "tool.call", "tool.result", "task.deliverable"]);
    texts.push(
      cards.map(({ created_at: _, card_id: __, expires_at: ___, ...card }) => JSON.stringify(card)).join("\n"),
    );
  }
  return texts.map((text) =>
    text
      .replaceAll(hosted.project, "PROJECT")
      .replaceAll(/\b(?:turn|step|tc|call|card|box)_[0-9a-f]{32}\b/g, "ID")
      .replaceAll(/\b[0-9a-f]{32}\b/g, "TRACE")
      .replaceAll(/cmd\.tool\.sample_[0-9a-f]{8}\./g, "cmd.tool.sample."),
  );
}
