// A turn and everything below it, without what differs from run to run: ids and times.
//
//   T1. An id is replaced by the order in which it first appears, so that two trees are equal only if the same places name
//       the same thing.

import type { CardDocument, Kernel, Row } from "@tessera/kernel";

export interface TurnTree {
  readonly role: string;
  readonly status: string;
  readonly depth: number;
  readonly context: readonly object[];
  readonly output: readonly object[];
  readonly children: readonly TurnTree[];
}

export async function readTurnTree(reads: Kernel["reads"], project: string, turnId: string): Promise<TurnTree> {
  return namedByOrder(await readTree(reads, project, turnId));
}

async function readTree(reads: Kernel["reads"], project: string, turnId: string): Promise<TurnTree> {
  const turn = await reads.turn(project, turnId);
  if (turn === null) throw new Error(`no turn ${turnId}`);
  const output = await reads.boxCards(project, String(turn.output_box_id));
  const context = turn.context_box_id === null ? [] : await reads.boxCards(project, String(turn.context_box_id));
  const rows = await reads.childTurns(project, turnId);
  const steps = output.map((card) => card.metadata.step_id);
  const place = (row: Row) => steps.indexOf(row.parent_step_id as never) * 100 + taskIndexOf(row);
  const children: TurnTree[] = [];
  for (const row of rows.toSorted((a, b) => place(a) - place(b))) {
    children.push(await readTree(reads, project, String(row.agent_turn_id)));
  }
  return {
    role: String((await reads.agent(project, String(turn.agent_id)))?.display_name),
    status: String(turn.status),
    depth: Number(turn.recursion_depth),
    context: context.map(cardOf),
    output: output.map(cardOf),
    children,
  };
}

function taskIndexOf({ metadata }: Row): number {
  return Number((metadata as { task_index?: number } | null)?.task_index ?? 0);
}

function cardOf({ pos, type, author_id, content, metadata, tool_calls, tool_call_id }: CardDocument & { pos: number }) {
  return { pos, type, author_id, content, metadata, tool_calls, tool_call_id };
}

const CHANGING =
  /\b(?:[a-z]+_)?[0-9a-f]{16,}(?:_[0-9a-f]+)?\b|\bcorr_[0-9a-f]{12}\b|\d{4}-\d\d-\d\d[T ][\d:.]+(?:Z|\+00(?::00)?)?/g;

/** T1 */
function namedByOrder(tree: TurnTree): TurnTree {
  const names = new Map<string, string>();
  const text = JSON.stringify(tree).replace(CHANGING, (found) => {
    if (/^\d{4}-/.test(found)) return "<time>";
    const kind = found.includes("_") ? found.slice(0, found.indexOf("_")) : "hex";
    const name = names.get(found) ?? `<${kind} ${names.size}>`;
    names.set(found, name);
    return name;
  });
  return JSON.parse(text) as TurnTree;
}
