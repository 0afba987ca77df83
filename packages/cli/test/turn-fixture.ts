// Turns as the API shows them, and a server that has only these: what commands are tested with.

import { ApiError, type Client, type Turn } from "@tessera/client";

type Change = { readonly [K in keyof Turn]?: Turn[K] };

/** A turn of the planner that has ended well, unless the test says otherwise. */
export function turnOf(change: Change = {}): Turn {
  return {
    agent_turn_id: "turn_1",
    agent_id: "agent_1",
    agent_name: "planner",
    instance_key: "default",
    channel_id: "public",
    status: "success",
    trace_id: "0".repeat(31).concat("1"),
    recursion_depth: 0,
    parent_agent_turn_id: null,
    deliverable_card_id: null,
    error_code: null,
    error_message: null,
    input: "pack for Lisbon",
    turn_number: 1,
    conversation_from: 1,
    created_at: "2026-01-02T03:04:05.000Z",
    ended_at: "2026-01-02T03:04:07.500Z",
    waiting_for: [],
    deliverable: null,
    steps: [],
    steps_cut: false,
    calls: [],
    children: [],
    timeline: [],
    timeline_cut: false,
    ...change,
  };
}

/** A turn that has not ended. */
export function openTurn(change: Change = {}): Turn {
  return turnOf({ status: "suspended", ended_at: null, ...change });
}

export function callOf(change: { readonly [K in keyof Turn["calls"][number]]?: Turn["calls"][number][K] } = {}) {
  return {
    tool_call_id: "tc_1",
    step_id: "step_1",
    tool_name: "search__web",
    target_subject: "cg.v1r4.p.c.cmd.tool.search.web",
    effect: "read" as const,
    wait_status: "waiting" as const,
    attempt: 1,
    claimed_by: null,
    lease_until: null,
    deadline_at: "2026-01-02T04:00:00.000Z",
    settled_by: null,
    result_card_id: null,
    result_status: null,
    created_at: "2026-01-02T03:04:05.000Z",
    received_at: null,
    applied_at: null,
    ...change,
  };
}

/** Answers with the turns it is given, and with cards; everything else is not there. */
export function clientOfTurns(turns: () => readonly Turn[], cards: Readonly<Record<string, object>> = {}): Client {
  const stub = {
    getTurn: async ({ turn }: { turn: string }) => {
      const found = turns().find(({ agent_turn_id }) => agent_turn_id === turn);
      if (found !== undefined) return found;
      throw new ApiError("there is no such turn", { status: 404, code: "not_found", requestId: "r" });
    },
    listTurns: async () => ({ turns: turns(), next_cursor: null }),
    listSteps: async () => ({
      steps: turns().flatMap(({ steps }) =>
        steps.map(({ step_id }) => ({ step_id, thought_card_id: `of_${step_id}` })),
      ),
      next_cursor: null,
    }),
    readCards: async ({ body }: { body: { card_ids: string[] } }) => ({
      cards: body.card_ids.flatMap((card_id) =>
        cards[card_id] === undefined ? [] : [{ card_id, content: cards[card_id] }],
      ),
    }),
    async *streamEvents({ signal }: { signal: AbortSignal }) {
      await new Promise((resolve) => signal.addEventListener("abort", resolve));
    },
  };
  return stub as object as Client;
}
