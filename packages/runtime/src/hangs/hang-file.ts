// The note of a hang beside an embedded store, which died with its process: written by the watch, read at the next opening.
// It is loaded by the watching thread at every start: nothing heavy is imported here.

import { closeSync, fsyncSync, openSync, readFileSync, renameSync, rmSync, writeSync } from "node:fs";
import { join } from "node:path";
import type { HangNote } from "@tessera/kernel";

const NAME = "hang.json";

export function writeHangFile(directory: string, note: HangNote): void {
  const path = join(directory, NAME);
  const file = openSync(`${path}.tmp`, "w");
  writeSync(file, `${JSON.stringify(note)}\n`);
  fsyncSync(file);
  closeSync(file);
  renameSync(`${path}.tmp`, path);
}

/** Gives the note of the process before to `take`, and removes it when that has it. One that cannot be read is told and removed. */
export async function takeHangFile(
  directory: string,
  take: (note: HangNote) => Promise<unknown>,
  onWarning: (warning: string) => void,
): Promise<void> {
  const path = join(directory, NAME);
  let note: HangNote;
  try {
    note = JSON.parse(readFileSync(path, "utf8")) as HangNote;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return;
    onWarning(`${path} says which turn held up the process before, and cannot be read: ${String(error)}`);
    rmSync(path, { force: true });
    return;
  }
  await take(note);
  rmSync(path, { force: true });
}
