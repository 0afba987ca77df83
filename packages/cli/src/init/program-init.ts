// tessera init: the command and its flags.

import { Option } from "commander";
import type { ProgramParts } from "../program.ts";
import type { InitFlags } from "./init-command.ts";
import { TEMPLATES } from "./init-templates.ts";

const INIT_HELP = `
  minimal      one agent with one tool
  multi-agent  a planner that gives its work to two others at once
  service      an agent whose tool runs in a program of your own, over HTTP

Each is a project: the bundle, its tools with a test, package.json and
tsconfig.json. It runs at once: the model is a script, so no key is needed.
In a directory that has a package.json nothing that is there is overwritten;
what is missing is added.

Examples:
  $ tessera init ./hello
  $ npm init -y && npm install @tessera/tessera && npx tessera init
  $ tessera init ./team --template multi-agent`;

export function addInitCommand({ program, terminal, onExit }: ProgramParts): void {
  program
    .command("init")
    .copyInheritedSettings(program)
    .argument("[dir]", "where to write it (default: the current directory)")
    .description("write a small project that runs at once")
    .addOption(new Option("--template <name>", "which one").choices(Object.keys(TEMPLATES)).default("minimal"))
    .option(
      "--force",
      "write into a directory of other files, and over those of the same name (not package.json and .gitignore)",
    )
    .option("--json", "print only JSON")
    .addHelpText("after", INIT_HELP)
    .action(async (directory: string | undefined, flags: InitFlags) => {
      const { initCommand } = await import("./init-command.ts");
      onExit(await initCommand(directory, flags, terminal));
    });
}
