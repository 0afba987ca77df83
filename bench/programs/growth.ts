// Growth: the same durable call in a store with more and more history. The history is a finished turn of a hundred calls,
// made by the kernel and copied row by row under new ids (copy-history.sql): what a store holds that has worked for long.
//
//   --sizes 1000,100000,1000000   cards in the store when the call is measured

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { systemIds } from "@tessera/engines/system";
import type { Figures } from "../statistics.ts";
import { openCallLanes, PROJECT, serveEcho } from "./call-lanes.ts";
import { loadFigures, measureLoad } from "./load.ts";
import { openWorld } from "./postgres-world.ts";
import { answerQuestions, concurrencies, flags, needed, role, seconds, startSecond, tell } from "./program.ts";

const LANES_MAX = 64;
const CALLS_OF_TEMPLATE = 100;
const COPIES_PER_STATEMENT = 100;
const COPY = readFileSync(join(import.meta.dirname, "copy-history.sql"), "utf8");
const sizes = (flags.sizes ?? "1000,100000,1000000").split(",").map(Number);
const world = await openWorld({ postgres: needed("postgres"), nats: flags.nats });

/** Fills the store until it holds so many cards. */
async function fill(template: string, cards: number): Promise<void> {
  const { database } = world;
  const count = async () => Number((await database.query("select count(*) as n from card.cards"))[0]?.n);
  const perCopy = 3 * CALLS_OF_TEMPLATE + 1;
  let missing = Math.floor((cards - (await count())) / perCopy);
  while (missing > 0) {
    const copies = Math.min(missing, COPIES_PER_STATEMENT);
    const names = Array.from({ length: copies }, () => systemIds.spanId());
    await database.query(COPY, [template, names]);
    missing -= copies;
  }
  for (const table of ["card.cards", "state.calls", "state.events", "state.agent_turns", "state.agent_state_head"]) {
    await database.query(`vacuum analyze ${table}`); // or autovacuum would do it while the call is measured
  }
  await database.query("checkpoint");
}

if (role === "tool") {
  await serveEcho(world);
  answerQuestions();
} else {
  const service = await startSecond("tool");
  const { lanes, call } = await openCallLanes(world, LANES_MAX + 1, "once");
  const [history, ...measured] = lanes;
  if (history === undefined) throw new Error("no lane for the history");
  for (let n = 0; n < CALLS_OF_TEMPLATE; n += 1) await call(history);
  const finished = await world.kernel.finishTurn({
    project_id: PROJECT,
    ...history,
    status: "success",
    deliverable: { card_id: systemIds.mint("card"), content: { text: "done" }, author_id: history.agent_id },
  });
  if (finished.outcome !== "accepted") throw new Error(`finish_turn: ${JSON.stringify(finished)}`);
  let figures: Figures = {};
  for (const size of sizes) {
    await fill(history.agent_id, size);
    for (const concurrency of concurrencies) {
      const load = await measureLoad(measured.slice(0, concurrency), seconds, call);
      figures = { ...figures, ...loadFigures(`cards${size}_c${concurrency}_`, load) };
    }
  }
  tell(figures);
  service.end();
  await world.close();
}
