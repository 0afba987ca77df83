// The reads that every turn makes when it is taken up. Many turns are taken up at once, so what they ask for is gathered as
// writes are (batcher.ts): one statement for all that asked while the last one ran.
//
//   G1. An answer is as new as its question: a question is never answered by a statement that began before it was asked.
//   G2. Reads have slots of their own. A write does not wait for them, nor they for a write.

import type { Clock, Database, Row } from "../ports.ts";
import type { CardDocument, Reads, ToolRow } from "../reads/reads.ts";
import { sqlQuery } from "../store/sql-files.ts";
import { Batcher, Slots } from "./batcher.ts";

/** A read costs the same for each of its items, however many there are. */
const ITEMS_MAX = 128;
/** A box may hold a long history, so fewer of them are in memory at once. */
const BOXES_MAX = 32;
const ROWS_MAX = 1_000;

export function createGatheredReads(database: Database, clock: Clock): Pick<Reads, "boxCards" | "agent" | "tools"> {
  const slots = new Slots(database.capabilities.batchesInFlight, clock); // G2
  const gather = <Answer>(run: (items: readonly string[]) => Promise<readonly Answer[]>, itemsMax = ITEMS_MAX) =>
    new Batcher<Answer>({
      run,
      refuse(error) {
        throw error;
      },
      slots,
      clock,
      itemsMax,
    });
  /** Rows that name the item they belong to, counted from 1. */
  const rowsPerItem = async <R extends Row>(name: string, items: readonly string[]): Promise<R[][]> => {
    const answers = items.map((): R[] => []);
    const rows = await database.query<R & { item: number }>(sqlQuery(name), [`[${items.join(",")}]`]);
    for (const { item, ...row } of rows) answers[item - 1]?.push(row as unknown as R);
    return answers;
  };
  const boxes = gather((items) => rowsPerItem<CardDocument & { pos: number }>("box_cards", items), BOXES_MAX);
  const agents = gather(async (items) => (await rowsPerItem("agents_by_id", items)).map(([agent]) => agent ?? null));
  const tools = gather(async (items) => {
    const projects = new Map([...new Set(items)].map((item) => [item, toolsOf(JSON.parse(item) as string)]));
    return await Promise.all(items.map((item) => projects.get(item) as Promise<ToolRow[]>));
  });
  const toolsOf = (project: string) => database.query<ToolRow>(sqlQuery("tools_of_project"), [project]);
  return {
    boxCards: (project, box, { from = 0, limit = ROWS_MAX } = {}) => boxes.add({ project, box, from, limit }),
    agent: (project, agent) => agents.add({ project, agent }),
    tools: (project) => tools.add(project),
  };
}
