// The commands and their flags. Parsing only: what a command does is in its own file.

import { readFileSync } from "node:fs";
import { Command } from "commander";
import type { ExitCode } from "./exit-codes.ts";
import { migrateCommand } from "./migrate-command.ts";
import type { Terminal } from "./run-cli.ts";
import { addStoreFlags, type StoreFlags } from "./store-flags.ts";
import { verifyCommand } from "./verify-command.ts";

const EXIT_CODES = `
Exit codes:
  0 ok   1 failure   2 usage   3 configuration   4 unreachable`;

const MIGRATE_HELP = `
Examples:
  $ tessera migrate --data ./store
  $ tessera migrate --postgres postgres://me@localhost:5432/tessera --json`;

const VERIFY_HELP = `
Exits 1 and shows the offending rows if an invariant does not hold.

Examples:
  $ tessera verify --data ./store
  $ tessera verify --postgres postgres://me@localhost:5432/tessera --json`;

export function createProgram(terminal: Terminal, onExit: (code: ExitCode) => void): Command {
  const program = new Command("tessera")
    .description("Durable tool calling for agent swarms")
    .version(version(), "-V, --version", "print the version")
    .helpOption("-h, --help", "show help")
    .helpCommand("help [command]", "show help for a command")
    .addHelpText("after", EXIT_CODES)
    .exitOverride()
    .configureOutput({ writeOut: terminal.out, writeErr: terminal.err })
    .showHelpAfterError("See `tessera --help`.");

  addStoreFlags(program.command("migrate").copyInheritedSettings(program))
    .description("bring a store to the schema of this build, and say what was done")
    .option("--json", "print only JSON")
    .addHelpText("after", MIGRATE_HELP)
    .action(async (flags: StoreFlags & { json?: boolean }) => onExit(await migrateCommand(flags, terminal)));

  addStoreFlags(program.command("verify").copyInheritedSettings(program))
    .description("check the invariants of a store: safety, and what is overdue")
    .option("--drained", "nothing is under way: check liveness, too")
    .option("--json", "print only JSON")
    .addHelpText("after", VERIFY_HELP)
    .action(async (flags: StoreFlags & { drained?: boolean; json?: boolean }) =>
      onExit(await verifyCommand(flags, terminal)),
    );

  return program;
}

function version(): string {
  const manifest = readFileSync(new URL("../package.json", import.meta.url), "utf8");
  return String(JSON.parse(manifest).version);
}
