// The model of a project as a whole: put to sleep, read, deleted.

import type { Model } from "./model-state.ts";

export function putProject(model: Model, op: { status: Model["status"] }): string {
  model.status = op.status;
  model.revision += 1;
  return `accepted ${model.revision}`;
}

/** Ends that were not read yet. Which of several that were asked for at one moment came first is not promised. */
export function readEvents(model: Model): string {
  const news = model.log.slice(model.told).sort();
  model.told = model.log.length;
  return `read ${news.join(",")}`;
}

/** Nothing is deleted while a turn is under way; then everything is. */
export function deleteProject(model: Model): string {
  const open = openTurns(model);
  if (open > 0) return `rejected conflict ${open}`;
  Object.assign(model, {
    agents: {},
    turns: {},
    calls: {},
    batches: {},
    cards: {},
    ends: {},
    deadLetters: [],
    log: [],
    told: 0,
  });
  return "accepted";
}

export const openTurns = (model: Model): number =>
  Object.values(model.turns).filter(({ status }) => status === "queued" || status === "active").length;
