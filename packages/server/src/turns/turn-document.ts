// A turn as the API shows it.
//
//   T1. A list shows the row; one turn shows its steps, calls, children and timeline too, and what it waits for.
//   T2. What is read is bounded: the last STEPS_MAX steps and TIMELINE_MAX entries, and it is said where there are older ones; the
//       names of NAMES_MAX children's agents.

import type { CardDocument, Kernel, Row } from "@tessera/kernel";
import { isJsonObject } from "@tessera/protocol";
import { given } from "../routing/query-values.ts";
import { type Wait, waitOfCall, waitsOf, whyOpen } from "./wait-reasons.ts";

export interface TurnReads {
  readonly reads: Pick<
    Kernel["reads"],
    | "turn"
    | "callsOfTurn"
    | "call"
    | "cards"
    | "head"
    | "agent"
    | "childTurns"
    | "batch"
    | "steps"
    | "timeline"
    | "instructions"
  >;
}

const STEPS_MAX = 200;
const TIMELINE_MAX = 500;
const NAMES_MAX = 50;
const UNAPPLIED: ReadonlySet<unknown> = new Set(["waiting", "received"]);

/** Null when there is no such turn in the project. */
export async function wholeTurn({ reads }: TurnReads, projectId: string, turnId: string): Promise<object | null> {
  const turn = await reads.turn(projectId, turnId);
  if (turn === null) return null;
  const isOpen = turn.ended_at === null;
  const cardId = turn.deliverable_card_id;
  const [cards, agent, calls, children, steps, timeline, inputs] = await Promise.all([
    cardId === null ? [] : reads.cards(projectId, [String(cardId)]),
    reads.agent(projectId, String(turn.agent_id)),
    reads.callsOfTurn(projectId, turnId),
    reads.childTurns(projectId, turnId),
    reads.steps(projectId, { agent_turn_id: turnId }, { order: "desc", limit: STEPS_MAX + 1 }),
    reads.timeline(projectId, turnId, TIMELINE_MAX),
    reads.instructions(projectId, contextsOf([turn])),
  ]);
  const open = isOpen ? await openFacts({ reads }, turn, calls) : { head: null, calls: [], tasks: new Map() };
  const waits = waitsOf({ turn, agent, ...open });
  const names = await namesOf({ reads }, projectId, agent, children);
  return {
    ...turnDocument(turn, inputs),
    ...nameOf(agent),
    ...(isOpen ? { why: whyOpen(waits) } : {}),
    waiting_for: waits,
    deliverable: deliverableOf(cards[0]),
    steps: steps
      .slice(0, STEPS_MAX)
      .toReversed()
      .map(({ step_id, started_at, status }) => ({ step_id, started_at, status })),
    steps_cut: steps.length > STEPS_MAX, // T2
    calls: calls.map((call) => ({ ...callDocument(call), ...whyOf(call, open) })),
    children: children.map((child) => childDocument(child, names)),
    timeline: timeline.entries,
    timeline_cut: timeline.isCut, // T2
  };
}

interface OpenFacts {
  readonly head: Row | null;
  /** Whole rows of what is not applied yet. */
  readonly calls: readonly Row[];
  readonly tasks: ReadonlyMap<string, readonly Row[]>;
}

async function openFacts({ reads }: TurnReads, turn: Row, calls: readonly Row[]): Promise<OpenFacts> {
  const projectId = String(turn.project_id);
  const waiting = calls.filter((call) => UNAPPLIED.has(call.wait_status));
  const [head, ...whole] = await Promise.all([
    reads.head(projectId, String(turn.agent_id)),
    ...waiting.map((call) => reads.call(projectId, String(call.tool_call_id))),
  ]);
  const found = whole.filter((call) => call !== null);
  const batchIds = [...new Set(found.map((call) => call.batch_id).filter((id) => typeof id === "string"))];
  const batches = await Promise.all(batchIds.map((batchId) => reads.batch(projectId, batchId)));
  const tasks = new Map(batchIds.map((batchId, n) => [batchId, tasksOf(batches[n] ?? null)] as const));
  return { head, calls: found, tasks };
}

function tasksOf(batch: Row | null): readonly Row[] {
  return Array.isArray(batch?.tasks) ? batch.tasks : [];
}

/** A call that waits says why on its own, too. */
function whyOf(call: Row, open: OpenFacts): { why?: string } {
  const whole = open.calls.find((each) => each.tool_call_id === call.tool_call_id);
  if (whole === undefined) return {};
  const wait: Wait = waitOfCall(whole, open.tasks.get(String(whole.batch_id)) ?? []);
  return { why: wait.says };
}

async function namesOf(
  { reads }: TurnReads,
  projectId: string,
  own: Row | null,
  children: readonly Row[],
): Promise<ReadonlyMap<string, string | null>> {
  const agentIds = [...new Set(children.map((child) => String(child.agent_id)))].slice(0, NAMES_MAX); // T2
  const agents = await Promise.all(
    agentIds.map((agentId) => (agentId === own?.agent_id ? own : reads.agent(projectId, agentId))),
  );
  return new Map(agentIds.map((agentId, n) => [agentId, nameOf(agents[n] ?? null).agent_name]));
}

/** The roster keeps what an agent is called with its metadata; one that was registered by id alone has no name. */
function nameOf(agent: Row | null): { agent_name: string | null; instance_key: string | null } {
  const metadata = isJsonObject(agent?.metadata) ? agent.metadata : {};
  const { agent_name, instance_key } = metadata;
  return {
    agent_name: typeof agent_name === "string" ? agent_name : null,
    instance_key: typeof instance_key === "string" ? instance_key : null,
  };
}

function childDocument(child: Row, names: ReadonlyMap<string, string | null>): object {
  const { parent_tool_call_id } = child;
  return {
    agent_turn_id: child.agent_turn_id,
    agent_id: child.agent_id,
    agent_name: names.get(String(child.agent_id)) ?? null,
    status: child.turn_status,
    ...given({ tool_call_id: parent_tool_call_id ?? undefined }),
  };
}

/** The boxes that say what turns were asked. */
export function contextsOf(turns: readonly Row[]): string[] {
  return turns.flatMap(({ context_box_id }) => (typeof context_box_id === "string" ? [context_box_id] : []));
}

/** `inputs`: what was asked, by context. */
export function turnDocument(turn: Row, inputs: ReadonlyMap<string, string>): Record<string, unknown> {
  const { agent_turn_id, agent_id, channel_id, turn_status, trace_id, recursion_depth } = turn;
  const { parent_agent_turn_id, deliverable_card_id, error_code, error_message, created_at, ended_at } = turn;
  return {
    ...{ agent_turn_id, agent_id, channel_id, status: turn_status, trace_id, recursion_depth },
    ...{ parent_agent_turn_id, deliverable_card_id, error_code, error_message, created_at, ended_at },
    input: inputs.get(String(turn.context_box_id)) ?? null,
    turn_number: numberIn(turn.turn_number),
    conversation_from: numberIn(turn.conversation_from),
  };
}

/** The store's numbers may come as text. */
function numberIn(value: unknown): number | null {
  return value === null || value === undefined ? null : Number(value);
}

function callDocument(call: Row): Record<string, unknown> {
  const { tool_call_id, step_id, tool_name, target_subject, effect, wait_status, attempt, claimed_by } = call;
  const { lease_until, deadline_at, settled_by, result_card_id, result_status, created_at } = call;
  const { received_at, applied_at } = call;
  return {
    ...{ tool_call_id, step_id, tool_name, target_subject, effect, wait_status, attempt, claimed_by, lease_until },
    ...{ deadline_at, settled_by, result_card_id, result_status, created_at, received_at, applied_at },
  };
}

function deliverableOf(card: CardDocument | undefined): unknown {
  if (card === undefined || !isJsonObject(card.content)) return null;
  return { card_id: card.card_id, ...card.content };
}
