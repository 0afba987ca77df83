// tessera tools: the commands and their flags.

import { type ApiFlags, addApiFlags, addHostFlags, addServerFlags } from "../flags/flags.ts";
import type { ProgramParts } from "../program.ts";
import type { ToolCallFlags } from "./tool-call-command.ts";

const CALL_HELP = `
Without --data or --postgres the call runs on a store in memory that is thrown
away. The bundle is the current directory if it holds one. With --url, or where
a process holds the directory, that process's tools are called. The result is
JSON on stdout; what the tool logs goes to stderr. With a store, a call that was
not waited for to its end is kept: ask for it again with --turn.

Examples:
  $ tessera tools call text-transform__trim --arguments '{"text":" hello "}'
  $ tessera tools call file-system__list --json
  $ tessera tools call slow__job --arguments @job.json --data ./store --wait 600
  $ cat job.json | tessera tools call slow__job --arguments - | jq .`;

const REGISTER_HELP = `
All files are read first: a mistake in one of them changes nothing. The same
definition again changes nothing, either.

Example:
  $ tessera tools register search.yaml fetch.yaml --data ./store`;

export function addToolCommands({ program, terminal, onExit }: ProgramParts): void {
  const tools = program
    .command("tools")
    .copyInheritedSettings(program)
    .description("call tools, and manage a project's");
  const load = () => import("./tools-command.ts");
  addServerFlags(addHostFlags(tools.command("call").copyInheritedSettings(program)))
    .argument("[tool]", "its name, e.g. text-transform__trim")
    .description("make one durable call and print its result")
    .option("--arguments <json>", "a JSON object, @file with one, or - for stdin (default {})")
    .option("--turn <id>", "ask again for a call that was made before, instead of making one")
    .option("--bundle <dir>", "a directory with tools (default: the current one, if it holds any)")
    .option("--agent <id>", "whose workspace the call has (default: a new one)")
    .option("--wait <seconds>", "how long to wait for the result", "60")
    .addHelpText("after", CALL_HELP)
    .action(async (name: string | undefined, flags: ToolCallFlags) => {
      const { toolCallCommand } = await import("./tool-call-command.ts");
      onExit(await toolCallCommand(name, flags, terminal));
    });
  addApiFlags(tools.command("ls").copyInheritedSettings(program))
    .description("list the tools of a project")
    .action(async (flags: ApiFlags) => onExit(await (await load()).toolsLsCommand(flags, terminal)));
  addApiFlags(tools.command("show").copyInheritedSettings(program))
    .argument("<tool>", "its name, as `tools ls` shows it")
    .description("show a tool's definition")
    .action(async (name: string, flags: ApiFlags) =>
      onExit(await (await load()).toolsShowCommand(name, flags, terminal)),
    );
  addApiFlags(tools.command("register").copyInheritedSettings(program))
    .argument("<files...>", "YAML documents, each with one tool")
    .description("add tools to a project, or new versions of them")
    .addHelpText("after", REGISTER_HELP)
    .action(async (files: string[], flags: ApiFlags) =>
      onExit(await (await load()).toolsRegisterCommand(files, flags, terminal)),
    );
  addApiFlags(tools.command("rm").copyInheritedSettings(program))
    .argument("<tool>", "its name, as `tools ls` shows it")
    .description("remove a tool from a project")
    .action(async (name: string, flags: ApiFlags) =>
      onExit(await (await load()).toolsRmCommand(name, flags, terminal)),
    );
}
