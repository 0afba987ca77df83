// tessera completion: the command.

import { Argument } from "commander";
import { EXIT } from "../exit-codes.ts";
import type { ProgramParts } from "../program.ts";

const SHELLS = ["bash", "zsh", "fish"] as const;
export type Shell = (typeof SHELLS)[number];

const COMPLETION_HELP = `
Examples:
  $ source <(tessera completion bash)
  $ tessera completion zsh > "\${fpath[1]}/_tessera"
  $ tessera completion fish > ~/.config/fish/completions/tessera.fish`;

export function addCompletionCommand({ program, terminal, onExit }: ProgramParts): void {
  program
    .command("completion")
    .copyInheritedSettings(program)
    .addArgument(new Argument("<shell>", "which shell").choices([...SHELLS]))
    .description("print a script that completes commands and flags")
    .addHelpText("after", COMPLETION_HELP)
    .action(async (shell: Shell) => {
      const { completionScript } = await import("./completion-script.ts");
      terminal.out(completionScript(program, shell));
      onExit(EXIT.ok);
    });
}
