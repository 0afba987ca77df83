// What the store holds when the story is over, compared with what it must hold.

import { existsSync, readFileSync } from "node:fs";
import { openNode, verifyStore } from "@tessera/runtime";
import { AGENT, type DemoTool, PROJECT, TOOLS, toolNamed } from "./tools.ts";

export interface CallLine {
  readonly call: string;
  readonly effect: string;
  readonly attempts: number;
  readonly results: number;
  readonly outcome: string;
  readonly effects: number;
}

export interface Outcome {
  readonly lines: readonly CallLine[];
  readonly turnStatus: string;
  readonly terminalEvents: number;
  readonly invariants: number;
  /** Sentences; empty when all is as it must be. */
  readonly mismatches: readonly string[];
}

export async function checkOutcome(data: string, ledger: string, turnId: string): Promise<Outcome> {
  const node = await openNode({
    data,
    migrate: "check",
    onWarning: console.error,
    onFatal: (error) => console.error(error.message),
  });
  try {
    const { reads } = node.kernel;
    const turn = await reads.turn(PROJECT, turnId);
    const calls = await reads.callsOfTurn(PROJECT, turnId);
    const cards = await reads.boxCards(PROJECT, String(turn?.output_box_id));
    const events = await reads.eventsAfter(PROJECT, 0);
    const report = await verifyStore(node.store, { drained: true });
    const effects = existsSync(ledger) ? readFileSync(ledger, "utf8") : "";

    const mismatches: string[] = report.violations.map((each) => `${each.invariant} does not hold: ${each.says}`);
    const lines = TOOLS.map((tool): CallLine => {
      const call = calls.find((each) => each.tool_name === tool.name);
      const results = cards.filter((card) => card.type === "tool.result" && card.tool_call_id === call?.tool_call_id);
      const error = results[0]?.content.error as { code?: string } | null | undefined;
      return {
        call: tool.name,
        effect: tool.effect,
        attempts: Number(call?.attempt ?? 0),
        results: results.length,
        outcome: error?.code ?? String(call?.result_status),
        effects: effects.split(`${tool.name} `).length - 1,
      };
    });
    mismatches.push(...lines.flatMap((line) => compare(line, toolNamed(line.call))));
    const order = cards
      .filter((card) => card.type === "tool.result")
      .map((card) => String(card.metadata.function_name));
    expectEqual(mismatches, "the results in the box", order.join(", "), TOOLS.map((tool) => tool.name).join(", "));
    const terminalEvents = events.filter((event) => event.kind === "task" && event.agent_turn_id === turnId).length;
    expectEqual(mismatches, "terminal events", terminalEvents, 1);
    expectEqual(mismatches, "the turn's status", turn?.turn_status, "success");
    expectEqual(mismatches, "the agent", (await reads.head(PROJECT, AGENT))?.status, "idle");
    return { lines, turnStatus: String(turn?.turn_status), terminalEvents, invariants: report.checked, mismatches };
  } finally {
    await node.close();
  }
}

function compare(line: CallLine, { name, expected }: DemoTool): string[] {
  const mismatches: string[] = [];
  expectEqual(mismatches, `${name}: results`, line.results, 1);
  expectEqual(mismatches, `${name}: attempts`, line.attempts, expected.attempts);
  expectEqual(mismatches, `${name}: outcome`, line.outcome, expected.errorCode ?? expected.status);
  expectEqual(mismatches, `${name}: side effects`, line.effects, expected.effects);
  return mismatches;
}

function expectEqual(mismatches: string[], what: string, found: unknown, expected: unknown): void {
  if (found !== expected) mismatches.push(`${what}: found ${String(found)}, expected ${String(expected)}`);
}
