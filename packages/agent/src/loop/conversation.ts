// The earlier turns of a conversation, as a turn is sent them: read from the store, newest first, no further than the memory of the
// agent reaches.
//
//   M1. A turn that has ended does not change, so what was read of it is kept, by its id, for the turns behind it. A conversation whose
//       turns one worker takes costs what its newest turn adds.
//   M2. Which turns a turn is sent is fixed when it is dispatched (kernel's 34_conversations.sql); reading stops where the policy would
//       leave the rest out (transcript's window.ts).
//   M3. Turns that are kept are asked for together with those that are not: a long conversation is one read like a short one.
//   M4. Bounded, whatever the number of conversations: the turn that was used longest ago goes first. What is kept helps and decides
//       nothing.

import type { Kernel } from "@tessera/kernel";
import type { MemoryPolicy } from "../profile.ts";
import { charactersOf, type EarlierTurn, type SizedTurn, windowOf } from "../transcript/index.ts";
import { frozen } from "./frozen.ts";
import type { Turn } from "./worker-context.ts";

export interface Conversations {
  /** What the turn is sent of the turns before it, oldest first. */
  before(
    turn: Pick<Turn, "project_id" | "agent_id" | "turn_number" | "conversation_from">,
    memory: MemoryPolicy,
  ): Promise<readonly EarlierTurn[]>;
}

interface Kept extends SizedTurn {
  readonly agent_turn_id: string;
}

type AgentPlace = Pick<Turn, "project_id" | "agent_id">;

const READ_FIRST = 8;
const CHARACTERS_KEPT_MAX = 32 * 1_024 * 1_024;

export function createConversations(
  kernel: { readonly reads: Pick<Kernel["reads"], "conversation"> },
  charactersMax: number = CHARACTERS_KEPT_MAX,
): Conversations {
  /** By project, agent and number; the one that was used longest ago first. */
  const kept = new Map<string, Kept>();
  let characters = 0;

  function take(place: string): Kept | undefined {
    const turn = kept.get(place);
    if (turn === undefined) return undefined;
    kept.delete(place);
    characters -= turn.characters;
    return turn;
  }

  /** M4 */
  function put(place: string, turn: Kept): void {
    take(place);
    kept.set(place, turn);
    characters += turn.characters;
    for (const [oldest] of kept) {
      if (characters <= charactersMax) return;
      take(oldest);
    }
  }

  /** Where a read begins that goes at least so far back, and on over what is kept and fits (M3). */
  function beginningOf(agent: AgentPlace, far: number, oldest: number, charactersLeft: number): number {
    let [first, left] = [Math.max(oldest, far), charactersLeft];
    while (first > oldest && left >= 0) {
      const before = kept.get(placeOf(agent, first - 1));
      if (before === undefined) break;
      left -= before.characters;
      first -= 1;
    }
    return first;
  }

  async function read(agent: AgentPlace, first: number, last: number): Promise<SizedTurn[]> {
    const places = Array.from({ length: last - first + 1 }, (_, n) => placeOf(agent, first + n));
    const found = new Map(places.flatMap((place) => kept.get(place) ?? []).map((turn) => [turn.agent_turn_id, turn]));
    const { project_id, agent_id } = agent;
    const rows = await kernel.reads.conversation(project_id, agent_id, { first, last, known: [...found.keys()] });
    return rows.map(({ turn_number, agent_turn_id, context, output }) => {
      const turn = found.get(agent_turn_id) ?? {
        ...{ turn_number, agent_turn_id },
        ...frozen({ context, output }),
        characters: charactersOf({ context, output }),
      };
      put(placeOf(agent, turn_number), turn); // M1
      return turn;
    });
  }

  return {
    async before(turn, memory) {
      const { turn_number, conversation_from } = turn;
      const turns: SizedTurn[] = [];
      const oldest = Math.max(conversation_from, turn_number - memory.turns);
      let size = 0;
      for (let last = turn_number - 1, count = READ_FIRST; last >= oldest; count *= 2) {
        const first = beginningOf(turn, last - count + 1, oldest, memory.characters - size);
        const some = await read(turn, first, last);
        turns.unshift(...some);
        for (const { characters } of some) size += characters;
        if (size > memory.characters) break; // M2
        last = first - 1;
      }
      return windowOf(turns, memory, turns[0]?.turn_number === conversation_from);
    },
  };
}

function placeOf({ project_id, agent_id }: AgentPlace, turnNumber: number): string {
  return `${project_id}/${agent_id}/${turnNumber}`;
}
