// tessera completion: a script for a shell, which completes commands and flags.

import { Argument, type Command } from "commander";
import { EXIT } from "../exit-codes.ts";
import type { ProgramParts } from "../program.ts";

const SHELLS = ["bash", "zsh", "fish"] as const;
export type Shell = (typeof SHELLS)[number];

const COMPLETION_HELP = `
Examples:
  $ source <(tessera completion bash)
  $ tessera completion zsh > "\${fpath[1]}/_tessera"
  $ tessera completion fish > ~/.config/fish/completions/tessera.fish`;

export function defineCompletion(completion: Command, { program, terminal, onExit }: ProgramParts): void {
  completion
    .addArgument(new Argument("<shell>", "which shell").choices([...SHELLS]))
    .addHelpText("after", COMPLETION_HELP)
    .action(async (shell: Shell) => {
      const { completionScript } = await import("../completion/completion-script.ts");
      terminal.out(completionScript(program, shell));
      onExit(EXIT.ok);
    });
}
