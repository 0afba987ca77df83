// tessera chat: the command and its flags.

import { addHostFlags, addServerFlags } from "../flags/flags.ts";
import type { ProgramParts } from "../program.ts";
import type { ChatFlags } from "./chat-command.ts";

const CHAT_HELP = `
Each line is a task for the agent, and its turns are one conversation: it is
shown what was said before. A line that is typed while a turn runs is queued.
With --data the conversation is kept: started again, it is shown, what was left
open is finished, and it goes on, also after the process was killed. Answers are
on stdout, everything else is on stderr; without a terminal, lines are read from
stdin and the command ends with them. With --json, stdout has an event per line.

  /fresh   the next line begins the conversation anew
  /reset   begin the conversation anew now
  /help    show these
  /exit    leave; so does Ctrl-C where no turn runs

Ctrl-C while a turn runs asks whether to stop it, leave it running or go on.

Examples:
  $ tessera chat ./bundle --data ./store
  $ tessera chat ./bundle --data ./store --instance ann
  $ tessera chat --url http://127.0.0.1:8099 --agent planner
  $ printf 'hello\\nwhat did I say?\\n' | tessera chat ./bundle`;

export function addChatCommand({ program, terminal, onExit }: ProgramParts): void {
  addServerFlags(addHostFlags(program.command("chat").copyInheritedSettings(program)))
    .argument("[bundle]", "a directory with agents (default: the current one, if it holds any)")
    .description("talk with an agent, which remembers what was said")
    .option("--agent <name>", "with whom (default: the swarm's entry agent)")
    .option("--instance <key>", "which instance of the agent: each remembers its own turns", "default")
    .option("--fresh", "the first line begins the conversation anew")
    .addHelpText("after", CHAT_HELP)
    .action(async (bundle: string | undefined, flags: ChatFlags) => {
      const { chatCommand } = await import("./chat-command.ts");
      onExit(await chatCommand(bundle, flags, terminal));
    });
}
