// The commands and their flags. Parsing only: what a command does is in its own file.

import { readFileSync } from "node:fs";
import { Command } from "commander";
import type { ExitCode } from "./exit-codes.ts";
import { type KeyFlags, keysCreateCommand, keysLsCommand, keysRmCommand } from "./keys-command.ts";
import { migrateCommand } from "./migrate-command.ts";
import type { Terminal } from "./run-cli.ts";
import { ROLES, type StartFlags, startCommand } from "./start-command.ts";
import { addStoreFlags, type StoreFlags } from "./store-flags.ts";
import { type ToolCallFlags, toolCallCommand } from "./tool-call-command.ts";
import { addHostFlags, addProjectFlags, type ProjectFlags } from "./tool-flags.ts";
import { toolsLsCommand, toolsRegisterCommand, toolsRmCommand, toolsShowCommand } from "./tools-command.ts";
import { verifyCommand } from "./verify-command.ts";

const EXIT_CODES = `
Exit codes:
  0 ok   1 failure   2 usage   3 configuration   4 unreachable
  5 the tool failed   6 still waiting   7 outcome unknown`;

const MIGRATE_HELP = `
Examples:
  $ tessera migrate --data ./store
  $ tessera migrate --postgres postgres://me@localhost:5432/tessera --json`;

const VERIFY_HELP = `
Exits 1 and shows the offending rows if an invariant does not hold.

Examples:
  $ tessera verify --data ./store
  $ tessera verify --postgres postgres://me@localhost:5432/tessera --json`;

const CALL_HELP = `
Without --data or --postgres the call runs on a store in memory that is thrown away. The bundle is the current directory
if it holds one.

Examples:
  $ tessera tools call text-utils__uppercase --arguments '{"text":"hello"}'
  $ tessera tools call file-system__list --json
  $ tessera tools call slow__job --arguments @job.json --data ./store --wait 600`;

const START_HELP = `
Examples:
  $ tessera start ./bundle --data ./store
  $ tessera start ./bundle --role tools --postgres postgres://me@localhost:5432/tessera --nats nats://localhost:4222`;

const KEYS_HELP = `
Example:
  $ tessera keys create --role executor --target words --data ./store`;

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

  addToolCommands(program, terminal, onExit);
  addKeyCommands(program, terminal, onExit);

  addHostFlags(program.command("start").copyInheritedSettings(program))
    .argument("[bundle]", "a directory with tools")
    .description("run roles of Tessera until told to stop")
    .option("--role <roles>", `which of ${ROLES.join(", ")}, separated by commas`, ROLES.join(","))
    .option("--host <address>", "where the API listens (default 127.0.0.1)")
    .option("--port <number>", "where the API listens; 0 takes any free port (default 8099)")
    .option("--allowed-hosts <names>", "other names that the API answers to")
    .option("--grace <seconds>", "how long running tools may take to finish at the end (default 30)")
    .addHelpText("after", START_HELP)
    .action(async (bundle: string | undefined, flags: StartFlags) =>
      onExit(await startCommand(bundle, flags, terminal)),
    );

  return program;
}

function addToolCommands(program: Command, terminal: Terminal, onExit: (code: ExitCode) => void): void {
  const tools = program
    .command("tools")
    .copyInheritedSettings(program)
    .description("call tools, and manage a project's");
  addHostFlags(tools.command("call").copyInheritedSettings(program))
    .argument("<tool>", "its name, e.g. text-utils__uppercase")
    .description("make one durable call and print its result")
    .option("--arguments <json>", "a JSON object, or @file with one")
    .option("--bundle <dir>", "a directory with tools (default: the current one, if it holds any)")
    .option("--agent <id>", "whose workspace the call has (default: a new one)")
    .option("--wait <seconds>", "how long to wait for the result", "60")
    .addHelpText("after", CALL_HELP)
    .action(async (name: string, flags: ToolCallFlags) => onExit(await toolCallCommand(name, flags, terminal)));
  addProjectFlags(tools.command("ls").copyInheritedSettings(program))
    .description("list the tools of a project")
    .action(async (flags: ProjectFlags) => onExit(await toolsLsCommand(flags, terminal)));
  addProjectFlags(tools.command("show").copyInheritedSettings(program))
    .argument("<tool>")
    .description("show a tool's definition")
    .action(async (name: string, flags: ProjectFlags) => onExit(await toolsShowCommand(name, flags, terminal)));
  addProjectFlags(tools.command("register").copyInheritedSettings(program))
    .argument("<files...>", "YAML documents, each with one tool")
    .description("add tools to a project, or new versions of them")
    .action(async (files: string[], flags: ProjectFlags) => onExit(await toolsRegisterCommand(files, flags, terminal)));
  addProjectFlags(tools.command("rm").copyInheritedSettings(program))
    .argument("<tool>")
    .description("remove a tool from a project")
    .action(async (name: string, flags: ProjectFlags) => onExit(await toolsRmCommand(name, flags, terminal)));
}

function addKeyCommands(program: Command, terminal: Terminal, onExit: (code: ExitCode) => void): void {
  const keys = program.command("keys").copyInheritedSettings(program).description("manage API keys");
  addProjectFlags(keys.command("create").copyInheritedSettings(program))
    .description("make a key and print it once")
    .requiredOption("--role <role>", "viewer, operator, executor or admin")
    .option("--target <name>", "whose calls an executor may take; may be repeated", collect)
    .option("--label <text>", "what it is for")
    .option("--expires-days <number>", "after how many days it ends")
    .option("--all-projects", "for every project instead of --project")
    .addHelpText("after", KEYS_HELP)
    .action(async (flags: KeyFlags) => onExit(await keysCreateCommand(flags, terminal)));
  addProjectFlags(keys.command("ls").copyInheritedSettings(program))
    .description("list the keys of a project")
    .action(async (flags: ProjectFlags) => onExit(await keysLsCommand(flags, terminal)));
  addProjectFlags(keys.command("rm").copyInheritedSettings(program))
    .argument("<key-id>")
    .description("revoke a key")
    .action(async (keyId: string, flags: ProjectFlags) => onExit(await keysRmCommand(keyId, flags, terminal)));
}

function collect(value: string, before: readonly string[] | undefined): string[] {
  return [...(before ?? []), value];
}

function version(): string {
  const manifest = readFileSync(new URL("../package.json", import.meta.url), "utf8");
  return String(JSON.parse(manifest).version);
}
