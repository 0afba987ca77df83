// Functions of the kernel with another text, in a database of a test: how a mistake is made that the product does not carry.
//
//   C1. A text is replaced where it occurs exactly once, or nothing is changed: a mistake that the kernel has outgrown is
//       noticed, and not planted without effect.

import type { Statements } from "@tessera/kernel";

export interface FunctionChange {
  /** Of the schema `l0`. */
  readonly fn: string;
  readonly from: string;
  readonly to: string;
}

/** Changes the functions; what it answers puts the right ones back. */
export async function changeFunctions(
  database: Statements,
  changes: readonly FunctionChange[],
): Promise<() => Promise<void>> {
  const originals = new Map<string, string>();
  const changed = new Map<string, string>();
  for (const { fn, from, to } of changes) {
    const text = changed.get(fn) ?? (await definitionOf(database, fn));
    if (!originals.has(fn)) originals.set(fn, text);
    const found = text.split(from).length - 1;
    if (found !== 1) throw new Error(`the text to replace occurs ${found} times in l0.${fn}, not once: ${from}`); // C1
    changed.set(
      fn,
      text.replace(from, () => to),
    );
  }
  for (const text of changed.values()) await database.script(text);
  return async () => {
    for (const text of originals.values()) await database.script(text);
  };
}

async function definitionOf(database: Statements, name: string): Promise<string> {
  const rows = await database.query<{ text: string }>(
    "select pg_get_functiondef(p.oid) as text from pg_proc p where p.pronamespace = 'l0'::regnamespace and p.proname = $1",
    [name],
  );
  const [row] = rows;
  if (row === undefined || rows.length !== 1) throw new Error(`there are ${rows.length} functions l0.${name}`);
  return row.text;
}
