// Requests of tools to other agents that are not waited for, and what must have become of them when all is over.
//
//   A1. What a call asks is drawn when it is first run, and kept here: the world outside does not forget with its processes.
//   A2. A request that was taken is answered once: its answer is one card of the asking agent's conversation, or still waits where
//       nothing may start for it, because the turn that asked was stopped or its trace has had its turns.
//   A3. Of what a failover lost nothing is expected.

import type { Database } from "@tessera/kernel";
import type { SimRandom } from "@tessera/testkit/sim";
import type { ToolContext } from "@tessera/tool";
import type { Lost } from "./lost-tail.ts";

/** Calls that may ask in a run. */
const ASKING_MAX = 3;
const AT_ONCE_MAX = 2;
/** Instances that are asked: those of one key meet in one conversation, and queue behind one another. */
const KEYS = ["k0", "k1"] as const;

const ANSWERS = `
  select t.agent_turn_id, t.correlation_id, t.parent_agent_turn_id as asked_by, a.status as asking, n.status as inbox,
         (select count(*)::int from card.cards k join card.box_contents b on b.card_id = k.card_id
            join state.agent_turns r on b.box_id in (r.context_box_id, r.output_box_id)
           where k.type = 'agent.answer' and k.metadata ->> 'answer_of' = t.agent_turn_id and r.agent_id = t.parent_agent_id) as told,
         coalesce((select b.turns >= 1000 from state.trace_budgets b
                    where b.project_id = t.project_id and b.trace_id = t.trace_id), false) as is_spent
    from state.agent_turns t
    join state.agent_turns a on a.agent_turn_id = t.parent_agent_turn_id
    left join state.inbox n on n.message_type = 'answer' and n.correlation_id = t.agent_turn_id`;

export class AsyncRequests {
  readonly #random: SimRandom;
  readonly #target: string;
  /** A1: the keys of the instances that each call asks. */
  readonly #plans = new Map<string, readonly string[]>();
  readonly #accepted = new Set<string>();

  constructor(random: SimRandom, target: string) {
    this.#random = random;
    this.#target = target;
  }

  async ask({ toolCallId, runtime }: ToolContext): Promise<void> {
    for (const [n, instanceKey] of this.#planOf(toolCallId).entries()) {
      const event = {
        ...{ id: `${toolCallId}/${n}`, type: "agent.request", createdAt: new Date(0), instanceKey },
        ...{ source: { kind: "agent" as const, name: "sim" }, input: `asked by ${toolCallId} as its ${n}` },
      };
      const taken = await runtime?.request(this.#target, event, { async: true });
      if (taken?.accepted === true && taken.correlationId !== undefined) this.#accepted.add(taken.correlationId);
    }
  }

  #planOf(toolCallId: string): readonly string[] {
    const known = this.#plans.get(toolCallId);
    if (known !== undefined) return known;
    const count = this.#plans.size < ASKING_MAX ? this.#random.int(1, AT_ONCE_MAX) : 0;
    const plan = Array.from({ length: count }, () => this.#random.pick(KEYS));
    this.#plans.set(toolCallId, plan);
    return plan;
  }

  /** A2 */
  async unanswered(store: Database, lost: Lost): Promise<string | null> {
    const rows = await store.query<Answered>(ANSWERS);
    const byCorrelation = new Map(rows.map((row) => [row.correlation_id, row]));
    for (const correlation of this.#accepted) {
      const row = byCorrelation.get(correlation);
      if (row === undefined) {
        if (lost.turns.size === 0) return `the request ${correlation} was taken and is no turn`;
        continue;
      }
      if (lost.turns.has(row.agent_turn_id) || lost.turns.has(row.asked_by)) continue; // A3
      const mayWait = row.inbox === "pending" && (row.asking === "canceled" || row.is_spent);
      if (row.told !== 1 && !(row.told === 0 && mayWait)) {
        return `the request ${correlation} was answered ${row.told} times: ${JSON.stringify(row)}`;
      }
    }
    return null;
  }
}

interface Answered {
  readonly [column: string]: unknown;
  readonly agent_turn_id: string;
  readonly correlation_id: string;
  readonly asked_by: string;
  readonly asking: string;
  readonly inbox: string | null;
  readonly told: number;
  readonly is_spent: boolean;
}
