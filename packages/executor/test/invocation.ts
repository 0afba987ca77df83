// For tests: a run of a tool that nothing in particular is the matter with.

import type { ToolInvocation } from "@tessera/tool";

export const TRACE_ID = "4bf92f3577b34da6a3ce929d0e0e4736";

export function invocationForTest(changes: Partial<ToolInvocation> = {}): ToolInvocation {
  return {
    project_id: "p1",
    channel_id: "public",
    agent_id: "agent_1",
    agent_turn_id: "turn_1",
    turn_epoch: 1,
    step_id: "step_1",
    parent_step_id: null,
    trace_id: TRACE_ID,
    span_id: "00f067aa0ba902b7",
    recursion_depth: 0,
    tool_call_id: "tc_1",
    tool_name: "tool",
    arguments: {},
    effect: "once",
    after_execution: "suspend",
    attempt: 1,
    mode: "run",
    idempotency_key: "idem_1",
    message: { card_id: "card_1", content: null, tool_calls: [] },
    definition: null,
    ...changes,
  };
}
