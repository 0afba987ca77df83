// The commands and their flags. Parsing only: what a command does is in its own file.
//
//   P1. A command's own file is loaded when it runs, so that help, --version and a mistyped command cost no store.

import { BadRequest, isId, VERSION } from "@tessera/protocol";
import { Command } from "commander";
import { addChatCommand } from "./chat/program-chat.ts";
import type { MigrateFlags } from "./commands/migrate-command.ts";
import { addDoctorCommand } from "./commands/program-doctor.ts";
import { addKeyCommands } from "./commands/program-keys.ts";
import { addRunCommand } from "./commands/program-run.ts";
import { addDevCommand, addStartCommand } from "./commands/program-start.ts";
import { addToolCommands } from "./commands/program-tools.ts";
import { addAgentCommands, addCardCommands, addTurnCommands } from "./commands/program-turns.ts";
import { addValidateCommand } from "./commands/program-validate.ts";
import type { VerifyFlags } from "./commands/verify-command.ts";
import { addCompletionCommand } from "./completion/program-completion.ts";
import type { ExitCode } from "./exit-codes.ts";
import { addServerFlags, addStoreFlags } from "./flags/flags.ts";
import { addInitCommand } from "./init/program-init.ts";
import type { Terminal } from "./output/printing-gate.ts";

/** What a group of commands is built on. */
export interface ProgramParts {
  readonly program: Command;
  readonly terminal: Terminal;
  readonly onExit: (code: ExitCode) => void;
}

const EXIT_CODES = `
Exit codes:
  0 ok   1 failure   2 usage   3 configuration   4 unreachable
  5 the tool or turn failed   6 still waiting   7 outcome unknown
  8 its event loop stood still`;

const MIGRATE_HELP = `
Functions of a newer build are kept, because they serve older builds, too. With
--allow-older-functions this build's take their place: processes of newer builds
then stop taking work.

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
    .version(VERSION, "-V, --version", "print the version")
    .helpOption("-h, --help", "show help")
    .helpCommand("help [command]", "show help for a command")
    .addHelpText("after", EXIT_CODES)
    .exitOverride()
    .configureOutput({ writeOut: terminal.out, writeErr: options.writeErr })
    .hook("preAction", (_, command) => chooseProject(command, terminal.env));
  const parts = { program, terminal, onExit: options.onExit };
  addInitCommand(parts);
  addRunCommand(parts);
  addChatCommand(parts);
  addDevCommand(parts);
  addStartCommand(parts);
  addValidateCommand(parts);
  addTurnCommands(parts);
  addAgentCommands(parts);
  addCardCommands(parts);
  addToolCommands(parts);
  addKeyCommands(parts);
  addStoreCommands(parts);
  addDoctorCommand(parts);
  addCompletionCommand(parts);
  nameHelp(program, "tessera");
  return program;
}

/** A mistake in a command's flags is explained by that command's help. */
function nameHelp(command: Command, words: string): void {
  command.showHelpAfterError(`See \`${words} --help\`.`);
  for (const each of command.commands) nameHelp(each, `${words} ${each.name()}`);
}

/** The help of the command that these arguments name, as far as they name one. */
export function helpFor(program: Command, args: readonly string[]): string {
  let command = program;
  const words = ["tessera"];
  for (const arg of args) {
    const next = command.commands.find((each) => each.name() === arg);
    if (next === undefined) break;
    command = next;
    words.push(arg);
  }
  return `${words.join(" ")} --help`;
}

function addStoreCommands({ program, terminal, onExit }: ProgramParts): void {
  addStoreFlags(program.command("migrate").copyInheritedSettings(program))
    .description("bring a store to the schema of this build, and say what was done")
    .option("--allow-older-functions", "put the functions of this build over those of a newer one")
    .addHelpText("after", MIGRATE_HELP)
    .action(async (flags: MigrateFlags) => {
      const { migrateCommand } = await import("./commands/migrate-command.ts"); // P1
      onExit(await migrateCommand(flags, terminal));
    });

  addServerFlags(addStoreFlags(program.command("verify").copyInheritedSettings(program)))
    .description("check the invariants of a store: safety, and what is overdue")
    .option("--drained", "nothing is under way: check liveness, too")
    .addHelpText("after", VERIFY_HELP)
    .action(async (flags: VerifyFlags) => {
      const { verifyCommand } = await import("./commands/verify-command.ts");
      onExit(await verifyCommand(flags, terminal));
    });
}

/** --project, or TESSERA_PROJECT. A command that runs a bundle looks at the bundle's settings, too, and so decides itself. */
function chooseProject(command: Command, env: Terminal["env"]): void {
  if (command.getOptionValueSource("project") !== "default") return;
  if (command.options.some(({ long }) => long === "--builtins")) {
    command.setOptionValue("project", undefined);
    return;
  }
  const project = env.TESSERA_PROJECT || undefined;
  if (project === undefined) return;
  if (!isId(project))
    throw new BadRequest(`TESSERA_PROJECT must be 1 to 64 letters, digits, _ and -; it is ${JSON.stringify(project)}`);
  command.setOptionValue("project", project);
}
