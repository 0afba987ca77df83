// The box a child begins with: what it inherits, what it is to do, and who asked
// (docs/protocol/internal-tools.md#targets-and-context).
//
//   P1. Inherited cards come first, each once, where it was seen first. A step with a call that is not answered yet is left
//       out as a whole: the child could make nothing of half of it.
//   P2. Written under ids of the call, so that packing again after a crash finds the first box. What was inherited then
//       stays: a box that is there is right, even if the caller's output has grown since.

import type { CardDocument, Kernel, OpenedCall } from "@tessera/kernel";
import { idOfCall } from "../call-ids.ts";
import { PMO_SOURCE, type Refused, refused } from "../tool-answer.ts";
import { isWritten, mustBeWritten } from "../write-outcome.ts";

const PAGE_CARDS = 1_000;
const INHERITED_CARDS_MAX = 10_000;

type PackingKernel = Pick<Kernel, "putCard" | "putBox" | "reads">;

/** The id of the box, or why there is none. */
export async function packContext(
  kernel: PackingKernel,
  call: OpenedCall,
  task: { readonly index: number; readonly instruction: string; readonly inherited: readonly string[] },
): Promise<string | Refused> {
  const { project_id } = call;
  const box_id = idOfCall("box", call, task.index);
  const isAgain = call.attempt > 1; // nothing was packed for a call that was never run before
  if (isAgain && (await kernel.reads.box(project_id, box_id)) !== null) return box_id; // P2
  const inherited = await inheritedCards(kernel.reads, project_id, task.inherited);
  if (inherited === null) {
    return refused("payload_too_large", `more than ${INHERITED_CARDS_MAX} cards would be inherited`);
  }
  const instruction = idOfCall("card", call, task.index);
  const pointer = idOfCall("ptr", call, task.index);
  const outcomes = await Promise.all([
    kernel.putCard({
      project_id,
      card_id: instruction,
      type: "task.instruction",
      author_id: call.tool_name,
      content: { text: task.instruction },
    }),
    kernel.putCard({
      project_id,
      card_id: pointer,
      type: "meta.parent_pointer",
      author_id: PMO_SOURCE,
      content: { data: { parent_agent_id: call.agent_id } },
    }),
  ]);
  for (const outcome of outcomes) mustBeWritten(outcome);
  const outcome = await kernel.putBox({ project_id, box_id, card_ids: [...inherited, instruction, pointer] });
  // Another run of this call may have been first, with what was there to inherit then (P2).
  isWritten(outcome, "conflict");
  return box_id;
}

/** Ids in order (P1); null when there are too many. */
async function inheritedCards(
  reads: Kernel["reads"],
  projectId: string,
  boxes: readonly string[],
): Promise<string[] | null> {
  const cards = new Map<string, CardDocument>();
  for (const box of boxes) {
    for (let from = 0; ; ) {
      const page = await reads.boxCards(projectId, box, { from, limit: PAGE_CARDS });
      for (const card of page) if (!cards.has(card.card_id)) cards.set(card.card_id, card);
      if (cards.size > INHERITED_CARDS_MAX) return null;
      const last = page.at(-1);
      if (last === undefined || page.length < PAGE_CARDS) break;
      from = last.pos + 1;
    }
  }
  const all = [...cards.values()];
  const answered = new Set(all.filter((card) => card.type === "tool.result").map((card) => card.tool_call_id));
  const openSteps = new Set(
    all.filter((card) => card.type === "tool.call" && !answered.has(card.tool_call_id)).map(stepOf),
  );
  return all.filter((card) => stepOf(card) === null || !openSteps.has(stepOf(card))).map((card) => card.card_id);
}

function stepOf(card: CardDocument): string | null {
  return typeof card.metadata.step_id === "string" ? card.metadata.step_id : null;
}
