// The commands of the program. Each file of commands/ is a whole one: its flags, what it does and what it prints.
//
//   P1. A command's file is loaded when the command is named: what it costs, no other command pays. The list below is all that
//       `tessera --help` needs.
//   P2. A command's file loads a store, the client and whatever else is heavy when it runs, so that help and a mistyped flag
//       do without.

import { BadRequest, isId, VERSION } from "@tessera/protocol";
import { Command, Help } from "commander";
import type { ExitCode } from "./exit-codes.ts";
import type { Terminal } from "./output/printing-gate.ts";

/** What a command is built on. */
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

interface CommandEntry {
  readonly name: string;
  /** What its file says that it takes; empty for a group of commands. */
  readonly takes: string;
  readonly about: string;
  readonly load: () => Promise<(command: Command, parts: ProgramParts) => void>;
}

/** In the order of the help. */
const COMMANDS: readonly CommandEntry[] = [
  {
    name: "init",
    takes: "[options] [dir]",
    about: "write a small project that runs at once",
    load: async () => (await import("./commands/init.ts")).defineInit,
  },
  {
    name: "run",
    takes: "[options] [bundle]",
    about: "give an agent one task, watch it, print what it delivers",
    load: async () => (await import("./commands/run.ts")).defineRun,
  },
  {
    name: "chat",
    takes: "[options] [bundle]",
    about: "talk with an agent, which remembers what was said",
    load: async () => (await import("./commands/chat.ts")).defineChat,
  },
  {
    name: "dev",
    takes: "[options] [bundle]",
    about: "run everything in one process, with the API on this machine only",
    load: async () => (await import("./commands/start.ts")).defineDev,
  },
  {
    name: "start",
    takes: "[options] [bundle]",
    about: "run roles of Tessera until it is stopped",
    load: async () => (await import("./commands/start.ts")).defineStart,
  },
  {
    name: "validate",
    takes: "[options] [bundle]",
    about: "find the mistakes of a bundle, each with file:line:col",
    load: async () => (await import("./commands/validate.ts")).defineValidate,
  },
  {
    name: "turns",
    takes: "",
    about: "look at turns, and stop them",
    load: async () => (await import("./commands/turns.ts")).defineTurns,
  },
  {
    name: "agents",
    takes: "",
    about: "look at agents, and reset them",
    load: async () => (await import("./commands/agents.ts")).defineAgents,
  },
  {
    name: "cards",
    takes: "",
    about: "look at cards",
    load: async () => (await import("./commands/cards.ts")).defineCards,
  },
  {
    name: "tools",
    takes: "",
    about: "call tools, and manage a project's",
    load: async () => (await import("./commands/tools.ts")).defineTools,
  },
  {
    name: "keys",
    takes: "",
    about: "manage API keys",
    load: async () => (await import("./commands/keys.ts")).defineKeys,
  },
  {
    name: "migrate",
    takes: "[options]",
    about: "bring a store to the schema of this build, and say what was done",
    load: async () => (await import("./commands/migrate.ts")).defineMigrate,
  },
  {
    name: "verify",
    takes: "[options]",
    about: "check the invariants of a store: safety, and what is overdue",
    load: async () => (await import("./commands/verify.ts")).defineVerify,
  },
  {
    name: "doctor",
    takes: "[options] [bundle]",
    about: "check this machine, the store, the broker and a bundle, and say what to do",
    load: async () => (await import("./commands/doctor.ts")).defineDoctor,
  },
  {
    name: "completion",
    takes: "<shell>",
    about: "print a script that completes commands and flags",
    load: async () => (await import("./commands/completion.ts")).defineCompletion,
  },
];
/** Commands about the other ones. */
const NEEDS_ALL: ReadonlySet<string> = new Set(["completion", "help"]);

/** The program for these arguments, or for any: every command with its name, those that are needed with their files (P1). */
export async function createProgram(
  terminal: Terminal,
  options: { readonly writeErr: (text: string) => void; readonly onExit: (code: ExitCode) => void },
  args?: readonly string[],
): Promise<Command> {
  const program = new Command("tessera")
    .description("Durable tool calling for agent swarms")
    .version(VERSION, "-V, --version", "print the version")
    .helpOption("-h, --help", "show help")
    .helpCommand("help [command]", "show help for a command")
    .addHelpText("after", EXIT_CODES)
    .exitOverride()
    .configureHelp({ subcommandTerm: termOf })
    .configureOutput({ writeOut: terminal.out, writeErr: options.writeErr })
    .hook("preAction", (_, command) => chooseProject(command, terminal.env));
  const parts = { program, terminal, onExit: options.onExit };
  const isAll = args === undefined || args.some((arg) => NEEDS_ALL.has(arg));
  for (const { name, about, load } of COMMANDS) {
    const command = program.command(name).description(about);
    if (isAll || args.includes(name)) (await load())(command, parts);
  }
  nameHelp(program, "tessera");
  return program;
}

/** As the parser writes it, also of a command whose file was not loaded. */
function termOf(command: Command): string {
  const entry = command.parent?.parent === null ? COMMANDS.find(({ name }) => name === command.name()) : undefined;
  return entry === undefined ? new Help().subcommandTerm(command) : `${entry.name} ${entry.takes}`.trimEnd();
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
