// What each request to a model holds, against the history of its agent: which turns there were, what each was asked, what each did.
//
//   Q1. Nothing here is the product's reading of a conversation. Turns, boxes and cards are read as rows; where a conversation begins
//       anew follows from the requests and resets that were seen, not from the column that the kernel keeps.
//   Q2. A request is each remembered turn's question and output, then its own turn's, every card once and in order. What is
//       remembered has no gap and ends with the turn before; all of it fits the policy, and at least half of what would fit is there.
//   Q3. All requests of a turn begin with the same turn, whichever process makes them.
//   Q4. A worker that lost the turn may not have heard of answers that came later. Who holds it has all of them.
//   Q5. A store that lost commits leaves sessions that hold what never happened: nothing is expected of them
//       (docs/faults.md#f30).

import { AsyncLocalStorage } from "node:async_hooks";
import type { AgentProfile, ModelCall } from "@tessera/agent";
import type { AtWork, Database, Row, WhileAtWork } from "@tessera/kernel";

/** From so many characters on, what a request leaves out depends on its size, which is window.test.ts's. */
const CHARACTERS_CHECKED_MAX = 60_000;
const TURNS_DEFAULT = 40;
const RESET = /\bl0\.reset_conversation\(/;
const DISPATCHED =
  "select count(*)::int as turns from state.agent_turns where agent_id = $1 and dispatched_at is not null";

interface CardRow {
  readonly card_id: string;
  readonly type: string;
  readonly content: { readonly text?: unknown; readonly data?: unknown };
  readonly tool_calls: readonly { readonly id: string }[] | null;
  readonly role: string | null;
  /** Of an answer: what its turn was called, and how that ended. */
  readonly answer: { readonly name: string; readonly status: string; readonly given: CardRow["content"] } | null;
}

interface TurnRow {
  readonly agent_turn_id: string;
  readonly turn_number: number;
  readonly context: readonly CardRow[];
  readonly output: readonly CardRow[];
}

interface HistoryRow extends Row {
  readonly agent_id: string;
  readonly turn_number: number;
  readonly is_held: boolean;
  readonly memory: AgentProfile["memory"] | null;
  readonly turns: readonly TurnRow[];
}

const CARDS = (box: string, own: string) => `
  (select coalesce(json_agg(json_build_object('card_id', k.card_id, 'type', k.type, 'content', k.content, 'tool_calls', k.tool_calls,
            'role', k.metadata ->> 'role', 'answer', (
              select json_build_object('name', a.display_name, 'status', a.status, 'given', d.content)
                from state.agent_turns a join card.cards d on d.card_id = a.deliverable_card_id
               where k.type = 'agent.answer' and a.agent_turn_id = k.metadata ->> 'answer_of')) order by b.pos), '[]')
     from card.box_contents b join card.cards k on k.card_id = b.card_id where b.box_id = ${box} ${own})`;
const HISTORY = `
  select t.agent_id, t.turn_number::int as turn_number,
         coalesce(h.active_agent_turn_id = t.agent_turn_id and h.status = 'running' and h.holder = $2, false) as is_held,
         (select k.content -> 'data' -> 'memory' from card.box_contents b join card.cards k on k.card_id = b.card_id
           where b.box_id = t.profile_box_id and k.type = 'sys.profile') as memory,
         (select json_agg(json_build_object('agent_turn_id', e.agent_turn_id, 'turn_number', e.turn_number,
                   'context', ${CARDS("e.context_box_id", "")},
                   'output', ${CARDS("e.output_box_id", "and k.agent_turn_id = e.agent_turn_id")}) order by e.turn_number)
            from state.agent_turns e where e.project_id = t.project_id and e.agent_id = t.agent_id and e.turn_number <= t.turn_number) as turns
    from state.agent_turns t
    left join state.agent_state_head h on h.project_id = t.project_id and h.agent_id = t.agent_id
   where t.agent_turn_id = $1`;

/** Under which turn and worker the code of a process runs. */
const atWork = new AsyncLocalStorage<AtWork>();

export const noteWork: WhileAtWork = (work, run) => atWork.run(work, run);

export interface SentRequest {
  readonly agent_turn_id: string;
  readonly worker_id: string;
  readonly step: number;
  readonly messages: ModelCall["messages"];
}

/** Called where a model is asked: whose request it is. */
export function sentRequest({ step, messages }: ModelCall): SentRequest {
  const work = atWork.getStore();
  if (work === undefined) throw new Error("a model was asked outside of a turn");
  const { agent_turn_id, worker_id = "" } = work;
  return { agent_turn_id, worker_id, step, messages };
}

export interface RequestWatch {
  readonly database: Database;
  /** The first request that held something else than its history; null: none. */
  violation(): string | null;
  /** How many requests held at least one earlier turn, and how many an answer that was not waited for. */
  readonly seen: { withEarlier: number; withAnswers: number };
  /** A turn that was asked for as a fresh start. */
  noteFresh(turnId: string): void;
  check(request: SentRequest): Promise<void>;
  /** Q5 */
  stop(): void;
}

export function watchRequests(store: Database): RequestWatch {
  const fresh = new Set<string>();
  /** Of an agent: the numbers of the turns with which its conversation began anew. */
  const resets = new Map<string, number[]>();
  const beginnings = new Map<string, number>();
  const seen = { withEarlier: 0, withAnswers: 0 };
  let violation: string | null = null;
  let isStopped = false;

  async function query<R extends Row>(text: string, values: readonly unknown[] = []): Promise<R[]> {
    if (!RESET.test(text)) return await store.query<R>(text, values);
    const agent = String(values[1]);
    const [before] = await store.query<{ turns: number }>(DISPATCHED, [agent]);
    const rows = await store.query<R>(text, values);
    const answer = rows[0]?.answer as { outcome?: string } | undefined;
    if (answer?.outcome === "accepted") resets.set(agent, [...(resets.get(agent) ?? []), Number(before?.turns) + 1]);
    return rows;
  }

  /** The number of the first turn that this one may remember. */
  function beginningOf({ agent_id, turn_number, turns }: HistoryRow): number {
    const freshOnes = turns.filter(({ agent_turn_id }) => fresh.has(agent_turn_id)).map((turn) => turn.turn_number);
    const before = (resets.get(agent_id) ?? []).filter((number) => number <= turn_number);
    return Math.max(1, ...freshOnes, ...before);
  }

  function wrong(request: SentRequest, history: HistoryRow): string | null {
    const sent = request.messages.flatMap(wordsOf);
    const own = ownWords(history, request.step);
    const start = beginningOf(history);
    const most = history.memory?.turns ?? TURNS_DEFAULT;
    const fitting = Math.min(most, history.turn_number - start);
    const first = firstSent(history, start, sent, history.is_held ? [own] : lacking(own));
    if (first === null) {
      const expected = [...earlierWords(history, start), ...own];
      return `held ${JSON.stringify(sent)}, and its history from turn ${start} on is ${JSON.stringify(expected)}`;
    }
    const count = history.turn_number - first;
    const isWhole = most >= history.turn_number - start;
    if (isWhole ? count !== fitting : count > most || count < fitting / 2) {
      return `remembers ${count} turns of ${history.turn_number - start}, and may remember ${most}`; // Q2
    }
    const known = beginnings.get(request.agent_turn_id) ?? first;
    beginnings.set(request.agent_turn_id, known);
    if (count > 0) seen.withEarlier += 1;
    if (sent.some((word) => word.startsWith("user [answer of "))) seen.withAnswers += 1;
    return known === first ? null : `begins with turn ${first}, and began with turn ${known} before`; // Q3
  }

  return {
    database: { ...store, query },
    violation: () => violation,
    seen,
    noteFresh: (turnId) => void fresh.add(turnId),
    async check(request) {
      if (isStopped || violation !== null) return;
      const [history] = await store.query<HistoryRow>(HISTORY, [request.agent_turn_id, request.worker_id]);
      if (history === undefined || JSON.stringify(history.turns).length > CHARACTERS_CHECKED_MAX) return;
      const said = wrong(request, history);
      if (said !== null) violation = `a request of ${request.agent_turn_id} at step ${request.step} ${said}`;
    },
    stop() {
      isStopped = true;
    },
  };
}

/** Q2. The turn with which the request begins, so that it is what the history says; null: none makes it so. */
function firstSent(
  history: HistoryRow,
  start: number,
  sent: readonly string[],
  own: readonly (readonly string[])[],
): number | null {
  const said = JSON.stringify(sent);
  for (let first = start; first <= history.turn_number; first += 1) {
    const earlier = earlierWords(history, first);
    if (own.some((words) => JSON.stringify([...earlier, ...words]) === said)) return first;
  }
  return null;
}

function earlierWords({ turns, turn_number }: HistoryRow, first: number): string[] {
  const remembered = turns.filter((turn) => turn.turn_number >= first && turn.turn_number < turn_number);
  return remembered.flatMap(({ context, output }) => [...contextWords(context), ...outputWords(output)]);
}

/** What its own turn had when it was to make this step. */
function ownWords({ turns, turn_number }: HistoryRow, step: number): string[] {
  const own = turns.find((turn) => turn.turn_number === turn_number);
  let thoughts = 0;
  const before = (own?.output ?? []).filter(({ type }) => {
    if (type === "agent.thought") thoughts += 1;
    return thoughts <= step && type !== "task.deliverable";
  });
  return [...contextWords(own?.context ?? []), ...outputWords(before)];
}

/** Q4. The same without the last answers. */
function lacking(words: readonly string[]): string[][] {
  const shorter: string[][] = [[...words]];
  for (let end = words.length; words[end - 1]?.startsWith("user [answer of "); end -= 1) {
    shorter.push(words.slice(0, end - 1));
  }
  return shorter;
}

function contextWords(cards: readonly CardRow[]): string[] {
  return cards.flatMap((card) => {
    if (card.type === "agent.answer") return answerWord(card);
    const isAsked = card.type === "task.instruction" || card.role === "user";
    return isAsked && typeof card.content.text === "string" ? `user ${card.content.text}` : [];
  });
}

function outputWords(cards: readonly CardRow[]): string[] {
  let thought = "";
  return cards.flatMap((card) => {
    const text = typeof card.content.text === "string" ? card.content.text : "";
    if (card.type === "agent.answer") return answerWord(card);
    if (card.type === "agent.thought") {
      thought = text;
      const ids = (card.tool_calls ?? []).map(({ id }) => id);
      return ids.length > 0 ? [`calls ${ids}`, `results ${ids}`] : text.trim() === "" ? [] : `says ${text}`;
    }
    if (card.type !== "task.deliverable") return [];
    const { data } = card.content;
    const { kind } = (data ?? {}) as { kind?: string };
    if (kind === "fallback_deliverable") return "ended without a result";
    const said = data === undefined ? text : JSON.stringify(data);
    return said === thought || said.trim() === "" ? [] : `says ${said}`;
  });
}

function answerWord({ answer, card_id }: CardRow): string {
  if (answer === null) return `an answer of no turn: ${card_id}`;
  const { text, data = null } = answer.given;
  const said = typeof text === "string" ? text : JSON.stringify(data);
  return `user [answer of ${answer.name}] ${answer.status === "success" ? said : `It ended ${answer.status}`}`;
}

/** A message in the words above. Notes beside the cards say nothing about the history, but that a turn ended without a result. */
function wordsOf({ role, content }: ModelCall["messages"][number]): string[] {
  if (role === "user") {
    const text = String(content);
    if (text.startsWith("[system note] A turn ended ")) return ["ended without a result"];
    return text.startsWith("[system note] ") ? [] : [`user ${text.replace(/(\] It ended \w+): .*$/s, "$1")}`];
  }
  const parts = typeof content === "string" ? [{ type: "text", text: content } as const] : content;
  const of = (kind: string) =>
    parts.flatMap((part) => (part.type === kind && "toolCallId" in part ? part.toolCallId : []));
  if (role === "tool") return [`results ${of("tool-result")}`];
  const ids = of("tool-call");
  if (ids.length > 0) return [`calls ${ids}`];
  return [`says ${parts.map((part) => ("text" in part ? part.text : "")).join("")}`];
}
