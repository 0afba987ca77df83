// The four tools of the story, what happens to each, and what must come of it.

import type { ToolEffect } from "@tessera/protocol";

export interface DemoTool {
  /** resource__export */
  readonly name: string;
  readonly effect: ToolEffect;
  /** What the story does to its first attempt. */
  readonly fate: "answers" | "killed" | "killed with everything";
  readonly expected: {
    readonly status: "success" | "failed";
    readonly errorCode: string | null;
    readonly attempts: number;
    /** How often its side effect may be found in the ledger; reads leave none. */
    readonly effects: number;
  };
}

export const TOOLS: readonly DemoTool[] = [
  {
    name: "rates__read",
    effect: "read",
    fate: "answers",
    expected: { status: "success", errorCode: null, attempts: 1, effects: 0 },
  },
  {
    name: "weather__read",
    effect: "read",
    fate: "killed",
    expected: { status: "success", errorCode: null, attempts: 2, effects: 0 },
  },
  {
    name: "seat__hold",
    effect: "idempotent",
    fate: "killed with everything",
    expected: { status: "success", errorCode: null, attempts: 2, effects: 1 },
  },
  {
    name: "mail__send",
    effect: "once",
    fate: "killed",
    expected: { status: "failed", errorCode: "outcome_unknown", attempts: 1, effects: 1 },
  },
];

export const PROJECT = "default";
export const AGENT = "travel-agent";
export const WORKER_TARGET = "demo";

export function toolNamed(name: string): DemoTool {
  const tool = TOOLS.find((each) => each.name === name);
  if (tool === undefined) throw new Error(`the story has no tool ${name}`);
  return tool;
}
