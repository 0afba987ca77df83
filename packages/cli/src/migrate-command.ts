// tessera migrate: brings a store to the schema of this build, and says what it did. Safe to run at any time, also by many
// at once and also while the store is in use.

import { resolve } from "node:path";
import { reachHolder, type Store } from "@tessera/runtime";
import { EXIT, type ExitCode } from "./exit-codes.ts";
import type { StoreFlags } from "./flags.ts";
import type { Terminal } from "./run-cli.ts";
import { chooseStore, withStore } from "./store-flags.ts";

export async function migrateCommand(flags: StoreFlags, terminal: Terminal): Promise<ExitCode> {
  const { data } = chooseStore(flags, terminal.env);
  if (data !== undefined && (await reachHolder(data)) !== null) return tellHeld(resolve(data), flags, terminal);
  const { name, migrated } = await withStore(flags, "yes", terminal, async (store) => ({
    name: store.place.name,
    migrated: store.migrated as Migrated, // not null: "yes" migrates
  }));
  terminal.out(flags.json === true ? migrateJson(name, migrated) : migrateText(name, migrated));
  return EXIT.ok;
}

/** Whoever holds a directory has migrated it before anything else. */
function tellHeld(store: string, { json }: StoreFlags, terminal: Terminal): ExitCode {
  const says = `${store} is held by a running process, which brought it to the schema of its own build when it started`;
  if (json === true) terminal.out(`${JSON.stringify({ ok: true, store, is_held: true, applied: [], says })}\n`);
  else terminal.out(`${says}\n`);
  return EXIT.ok;
}

type Migrated = NonNullable<Store["migrated"]>;

function migrateJson(store: string, { applied, functionsReplaced, version }: Migrated): string {
  return `${JSON.stringify({ ok: true, store, schema: version, applied, functions_replaced: functionsReplaced })}\n`;
}

export function migrateText(store: string, { applied, functionsReplaced, version }: Migrated): string {
  if (applied.length === 0 && !functionsReplaced) return `${store} is up to date (schema ${version})\n`;
  const lines = [`${store} is now at schema ${version}`, ...applied.map((migration) => `  applied   ${migration}`)];
  if (functionsReplaced) lines.push("  replaced  the functions of l0");
  return `${lines.join("\n")}\n`;
}
