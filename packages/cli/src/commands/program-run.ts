// tessera run: the command and its flags.

import { addHostFlags, addServerFlags } from "../flags/flags.ts";
import type { ProgramParts } from "../program.ts";
import type { RunFlags } from "./run-command.ts";

const RUN_HELP = `
Everything runs in this process. The deliverable is on stdout: text as text,
anything else as JSON. Steps, calls and waits are on stderr. Without --data or
--postgres the store is in memory and thrown away. With --data a run that was
interrupted is finished first; --resume does only that. With --json, stdout has
one event per line and the answer last. With --url the turn is asked for on a
running server, which has its own bundle, and watched from here; so it is where
a process holds the directory and no bundle is found.

Examples:
  $ tessera run ./bundle --input "What is new?"
  $ cat question.txt | tessera run ./bundle --input - --agent reviewer
  $ tessera run ./bundle --input "A long job" --data ./store --wait 3600
  $ tessera run ./bundle --resume --data ./store
  $ tessera run --url http://127.0.0.1:8099 --agent planner --input "What is new?"`;

export function addRunCommand({ program, terminal, onExit }: ProgramParts): void {
  addServerFlags(addHostFlags(program.command("run").copyInheritedSettings(program)))
    .argument("[bundle]", "a directory with agents (default: the current one, if it holds any)")
    .description("give an agent one task, watch it, print what it delivers")
    .option("--input <text>", "the task, or - for stdin")
    .option("--agent <name>", "who gets it (default: the swarm's entry agent)")
    .option("--instance <key>", "which instance of the agent: each remembers its own turns (default: default)")
    .option("--fresh", "begin the instance's conversation anew: it remembers no earlier task")
    .option("--wait <seconds>", "how long to wait for the end", "600")
    .option("--resume", "only finish what an earlier run left open")
    .addHelpText("after", RUN_HELP)
    .action(async (bundle: string | undefined, flags: RunFlags) => {
      const { runCommand } = await import("./run-command.ts");
      onExit(await runCommand(bundle, flags, terminal));
    });
}
