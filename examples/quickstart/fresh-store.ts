// An empty place for a store, made so that it may be interrupted at any moment.
//
//   F1. A store is there whole or not at all: it is renamed, which happens at once, and what was renamed is removed then.
//   F2. What an interrupted removal left behind is removed by the next start.

import { existsSync, readdirSync, renameSync, rmSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";

const MARK = ".removed-";

export function makeRoom(data: string): void {
  const place = resolve(data);
  if (existsSync(place)) renameSync(place, `${place}${MARK}${process.pid}`); // F1
  removeLeftovers(place);
}

/** F2 */
export function removeLeftovers(data: string): void {
  const place = resolve(data);
  const parent = dirname(place);
  if (!existsSync(parent)) return;
  const isLeft = (name: string) =>
    name.startsWith(basename(place) + MARK) && /^\d+$/.test(name.split(MARK).at(-1) ?? "");
  for (const name of readdirSync(parent).filter(isLeft)) rmSync(join(parent, name), { recursive: true, force: true });
}
