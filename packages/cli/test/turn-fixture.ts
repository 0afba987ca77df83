// Turns as the API shows them, and a server that has only these: what commands are tested with.

import { ApiError, type Client, type Turn } from "@tessera/client";

type Change = { readonly [K in keyof Turn]?: Turn[K] };

/** A turn of the planner that has ended well, unless the test says otherwise. */
export function turnOf(change: Change = {}): Turn {
  return {
    agentTurnId: "turn_1",
    agentId: "agent_1",
    agentName: "planner",
    instanceKey: "default",
    channelId: "public",
    status: "success",
    traceId: "0".repeat(31).concat("1"),
    recursionDepth: 0,
    parentAgentTurnId: null,
    deliverableCardId: null,
    errorCode: null,
    errorMessage: null,
    input: "pack for Lisbon",
    turnNumber: 1,
    conversationFrom: 1,
    createdAt: "2026-01-02T03:04:05.000Z",
    endedAt: "2026-01-02T03:04:07.500Z",
    waitingFor: [],
    deliverable: null,
    steps: [],
    stepsCut: false,
    calls: [],
    children: [],
    timeline: [],
    timelineCut: false,
    ...change,
  };
}

/** A turn that has not ended. */
export function openTurn(change: Change = {}): Turn {
  return turnOf({ status: "suspended", endedAt: null, ...change });
}

export function callOf(change: { readonly [K in keyof Turn["calls"][number]]?: Turn["calls"][number][K] } = {}) {
  return {
    toolCallId: "tc_1",
    stepId: "step_1",
    toolName: "search__web",
    targetSubject: "cg.v1r4.p.c.cmd.tool.search.web",
    effect: "read" as const,
    waitStatus: "waiting" as const,
    attempt: 1,
    claimedBy: null,
    leaseUntil: null,
    deadlineAt: "2026-01-02T04:00:00.000Z",
    settledBy: null,
    resultCardId: null,
    resultStatus: null,
    createdAt: "2026-01-02T03:04:05.000Z",
    receivedAt: null,
    appliedAt: null,
    ...change,
  };
}

/** Answers with the turns it is given, and with cards; everything else is not there. */
export function clientOfTurns(turns: () => readonly Turn[], cards: Readonly<Record<string, object>> = {}): Client {
  const stub = {
    getTurn: async ({ turn }: { turn: string }) => {
      const found = turns().find(({ agentTurnId }) => agentTurnId === turn);
      if (found !== undefined) return found;
      throw new ApiError("there is no such turn", { status: 404, code: "not_found", requestId: "r" });
    },
    listTurns: async () => ({ turns: turns(), nextCursor: null }),
    listSteps: async () => ({
      steps: turns().flatMap(({ steps }) => steps.map(({ stepId }) => ({ stepId, thoughtCardId: `of_${stepId}` }))),
      nextCursor: null,
    }),
    readCards: async ({ body }: { body: { cardIds: string[] } }) => ({
      cards: body.cardIds.flatMap((cardId) =>
        cards[cardId] === undefined ? [] : [{ cardId, content: cards[cardId] }],
      ),
    }),
    async *streamEvents({ signal }: { signal: AbortSignal }) {
      await new Promise((resolve) => signal.addEventListener("abort", resolve));
    },
  };
  return stub as object as Client;
}
