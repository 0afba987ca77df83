// The commands and their flags. Parsing only: what a command does is in its own file.
//
//   P1. A command's own file is loaded when it runs, so that help, --version and a mistyped command cost no store.

import { readFileSync } from "node:fs";
import { Command } from "commander";
import type { ExitCode } from "./exit-codes.ts";
import { addStoreFlags, type StoreFlags } from "./flags.ts";
import { addKeyCommands } from "./program-keys.ts";
import { addRunCommand } from "./program-run.ts";
import { addDevCommand, addStartCommand } from "./program-start.ts";
import { addToolCommands } from "./program-tools.ts";
import type { Terminal } from "./run-cli.ts";

/** What a group of commands is built on. */
export interface ProgramParts {
  readonly program: Command;
  readonly terminal: Terminal;
  readonly onExit: (code: ExitCode) => void;
}

const EXIT_CODES = `
Exit codes:
  0 ok   1 failure   2 usage   3 configuration   4 unreachable
  5 the tool or turn failed   6 still waiting   7 outcome unknown`;

const MIGRATE_HELP = `
Examples:
  $ tessera migrate --data ./store
  $ tessera migrate --postgres postgres://me@localhost:5432/tessera --json`;

const VERIFY_HELP = `
Exits 1 and shows the offending rows if an invariant does not hold.

Examples:
  $ tessera verify --data ./store
  $ tessera verify --postgres postgres://me@localhost:5432/tessera --json`;

export function createProgram(
  terminal: Terminal,
  options: { readonly writeErr: (text: string) => void; readonly onExit: (code: ExitCode) => void },
): Command {
  const program = new Command("tessera")
    .description("Durable tool calling for agent swarms")
    .version(version(), "-V, --version", "print the version")
    .helpOption("-h, --help", "show help")
    .helpCommand("help [command]", "show help for a command")
    .addHelpText("after", EXIT_CODES)
    .exitOverride()
    .configureOutput({ writeOut: terminal.out, writeErr: options.writeErr })
    .showHelpAfterError("See `tessera --help`.");
  const parts = { program, terminal, onExit: options.onExit };
  addRunCommand(parts);
  addDevCommand(parts);
  addStoreCommands(parts);
  addToolCommands(parts);
  addKeyCommands(parts);
  addStartCommand(parts);
  return program;
}

function addStoreCommands({ program, terminal, onExit }: ProgramParts): void {
  addStoreFlags(program.command("migrate").copyInheritedSettings(program))
    .description("bring a store to the schema of this build, and say what was done")
    .addHelpText("after", MIGRATE_HELP)
    .action(async (flags: StoreFlags) => {
      const { migrateCommand } = await import("./migrate-command.ts"); // P1
      onExit(await migrateCommand(flags, terminal));
    });

  addStoreFlags(program.command("verify").copyInheritedSettings(program))
    .description("check the invariants of a store: safety, and what is overdue")
    .option("--drained", "nothing is under way: check liveness, too")
    .addHelpText("after", VERIFY_HELP)
    .action(async (flags: StoreFlags & { drained?: boolean }) => {
      const { verifyCommand } = await import("./verify-command.ts");
      onExit(await verifyCommand(flags, terminal));
    });
}

function version(): string {
  const manifest = readFileSync(new URL("../package.json", import.meta.url), "utf8");
  return String(JSON.parse(manifest).version);
}
