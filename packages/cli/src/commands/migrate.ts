// tessera migrate: brings a store to the schema of this build, and says what it did. Safe to run at any time, also by many
// at once and also while the store is in use.

import { resolve } from "node:path";
import type { Store } from "@tessera/runtime";
import type { Command } from "commander";
import { EXIT, type ExitCode } from "../exit-codes.ts";
import { addStoreFlags, type StoreFlags } from "../flags/flags.ts";
import { sentence, type Terminal } from "../output/printing-gate.ts";
import type { ProgramParts } from "../program.ts";

interface MigrateFlags extends StoreFlags {
  readonly allowOlderFunctions?: boolean;
}

const MIGRATE_HELP = `
Functions of a newer build are kept, because they serve older builds, too. With
--allow-older-functions this build's take their place: processes of newer builds
then stop taking work.

Examples:
  $ tessera migrate --data ./store
  $ tessera migrate --postgres postgres://me@localhost:5432/tessera --json`;

export function defineMigrate(command: Command, { terminal, onExit }: ProgramParts): void {
  addStoreFlags(command)
    .option("--allow-older-functions", "put the functions of this build over those of a newer one")
    .addHelpText("after", MIGRATE_HELP)
    .action(async (flags: MigrateFlags) => onExit(await migrate(flags, terminal)));
}

async function migrate(flags: MigrateFlags, terminal: Terminal): Promise<ExitCode> {
  const [{ reachHolder }, { chooseStore, withStore }] = await Promise.all([
    import("@tessera/runtime"),
    import("../flags/store-flags.ts"),
  ]);
  const { data } = chooseStore(flags, terminal.env);
  if (data !== undefined && (await reachHolder(data)) !== null) return tellHeld(resolve(data), flags, terminal);
  const mode = { migrate: "yes", allowOlderFunctions: flags.allowOlderFunctions } as const;
  const { name, migrated } = await withStore(flags, mode, terminal, async (store) => ({
    name: store.place.name,
    migrated: store.migrated as Migrated, // not null: "yes" migrates
  }));
  terminal.out(flags.json === true ? migrateJson(name, migrated) : migrateText(name, migrated));
  return EXIT.ok;
}

/** The process that holds a directory has migrated it before anything else. */
function tellHeld(store: string, { json }: StoreFlags, terminal: Terminal): ExitCode {
  const says = `${store} is held by a running process, which brought it to the schema of its own build when it started`;
  if (json === true) terminal.out(`${JSON.stringify({ ok: true, store, is_held: true, says })}\n`);
  else terminal.out([sentence(says)]);
  return EXIT.ok;
}

type Migrated = NonNullable<Store["migrated"]>;

function migrateJson(store: string, { applied, functionsReplaced, newerFunctionsKept, version }: Migrated): string {
  const functions = { functions_replaced: functionsReplaced, newer_functions_kept: newerFunctionsKept !== null };
  return `${JSON.stringify({ ok: true, store, is_held: false, schema: version, applied, ...functions })}\n`;
}

export function migrateText(
  store: string,
  { applied, functionsReplaced, newerFunctionsKept, version }: Migrated,
): string {
  const isChanged = applied.length > 0 || functionsReplaced;
  const lines = [`${store} is ${isChanged ? `now at schema ${version}` : `up to date (schema ${version})`}`];
  lines.push(...applied.map((migration) => `  applied   ${migration}`));
  if (functionsReplaced) lines.push("  replaced  the functions of l0");
  if (newerFunctionsKept !== null) {
    lines.push("  kept      the functions of l0, which a newer build installed; --allow-older-functions replaces them");
  }
  return `${lines.join("\n")}\n`;
}
