// tessera keys: the commands and their flags.

import { type ApiFlags, addApiFlags, collect } from "../flags/flags.ts";
import type { ProgramParts } from "../program.ts";
import type { KeyFlags, KeyListFlags } from "./keys-command.ts";

const CREATE_HELP = `
The key is printed on stdout, once; the store keeps only its hash.

Examples:
  $ tessera keys create --role executor --target words --data ./store
  $ tessera keys create --role admin --all-projects --expires-days 30 --data ./store`;

export function addKeyCommands({ program, terminal, onExit }: ProgramParts): void {
  const keys = program.command("keys").copyInheritedSettings(program).description("manage API keys");
  const load = () => import("./keys-command.ts");
  addApiFlags(keys.command("create").copyInheritedSettings(program))
    .description("make a key and print it once")
    .requiredOption("--role <role>", "viewer, operator, executor or admin")
    .option("--target <name>", "whose calls an executor may take; may be repeated", collect)
    .option("--label <text>", "what it is for")
    .option("--expires-days <number>", "after how many days it ends (default: never)")
    .option("--all-projects", "for every project instead of --project")
    .addHelpText("after", CREATE_HELP)
    .action(async (flags: KeyFlags) => onExit(await (await load()).keysCreateCommand(flags, terminal)));
  addApiFlags(keys.command("ls").copyInheritedSettings(program))
    .description("list the keys that count in a project")
    .option("--all-projects", "list the keys of all projects")
    .action(async (flags: KeyListFlags) => onExit(await (await load()).keysLsCommand(flags, terminal)));
  addApiFlags(keys.command("rm").copyInheritedSettings(program))
    .argument("<key-id>", "as `keys ls` shows it")
    .description("revoke a key")
    .action(async (keyId: string, flags: ApiFlags) =>
      onExit(await (await load()).keysRmCommand(keyId, flags, terminal)),
    );
}
