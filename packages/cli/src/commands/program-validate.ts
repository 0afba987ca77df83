// tessera validate: the command and its flags.

import { Option } from "commander";
import { VALIDATE_FORMATS } from "../output/validate-formats.ts";
import type { ProgramParts } from "../program.ts";
import type { ValidateFlags } from "./validate-command.ts";

const VALIDATE_HELP = `
Checks what can be known without running anything: YAML, names, references,
schemas, entries and their handlers, models' keys. Modules of tools and
extensions are imported in a child process to see what they export; a
tessera.config.ts is imported here. A single YAML file is read as a bundle of
its own. Exits 3 if there is any mistake.

Examples:
  $ tessera validate ./bundle
  $ tessera validate ./bundle --strict --format github
  $ tessera validate agent.yaml --json`;

export function addValidateCommand({ program, terminal, onExit }: ProgramParts): void {
  program
    .command("validate")
    .copyInheritedSettings(program)
    .argument("[bundle]", "a directory or a YAML file (default: the current directory, if it holds a bundle)")
    .description("find the mistakes of a bundle, each with file:line:col")
    .addOption(new Option("--format <name>", "how findings are printed").choices([...VALIDATE_FORMATS]).default("text"))
    .option("--strict", "warnings count as mistakes")
    .option("--json", "the same as --format json")
    .addHelpText("after", VALIDATE_HELP)
    .action(async (bundle: string | undefined, flags: ValidateFlags) => {
      const { validateCommand } = await import("./validate-command.ts");
      onExit(await validateCommand(bundle, flags, terminal));
    });
}
