// tessera agents, turns and cards: the commands and their flags.

import { type ApiFlags, addApiFlags } from "../flags/flags.ts";
import type { ProgramParts } from "../program.ts";
import type { AgentsResetFlags } from "./agents-reset-command.ts";
import type { TurnsLsFlags, TurnsShowFlags, TurnsStopFlags } from "./turns-command.ts";
import type { TurnsTailFlags } from "./turns-tail-command.ts";

const TURN = "its id, as `turns ls` shows it, or enough of its beginning or end";

const TAIL_HELP = `
Shows steps, calls and waits as they come, also those of turns that it starts.
The deliverable is on stdout at the end. Ctrl-C leaves the turn running. With
--json, stdout has one event per line and the answer last.

Examples:
  $ tessera turns tail TURN --data ./store
  $ tessera turns tail TURN --url http://127.0.0.1:8099 --wait 60 --json`;

const WHY_HELP = `
One sentence on what the turn waits for in the end, and the command that would
unblock it.

Example:
  $ tessera turns why TURN --data ./store`;

const RESET_HELP = `
The turns of an instance are one conversation: each remembers those before it.
After a reset, later turns remember nothing from before. Nothing is deleted, and
a turn that is under way goes on as it began.

Examples:
  $ tessera agents reset planner --data ./store
  $ tessera agents reset planner --instance ann --reason "another customer" --data ./store`;

const SHOW_HELP = `
With --stack also why calls failed, for each attempt: what was thrown, your own
code's frames first, then its causes. It needs a key of role operator or admin.

Examples:
  $ tessera turns show TURN --data ./store
  $ tessera turns show TURN --stack --url http://127.0.0.1:8099`;

const LS_HELP = `
Examples:
  $ tessera turns ls --data ./store
  $ tessera turns ls --status active --agent planner --url http://127.0.0.1:8099`;

export function addTurnCommands({ program, terminal, onExit }: ProgramParts): void {
  const turns = program.command("turns").copyInheritedSettings(program).description("look at turns, and stop them");
  const command = (name: string) => addApiFlags(turns.command(name).copyInheritedSettings(program));
  const load = () => import("./turns-command.ts");
  command("ls")
    .description("list turns, newest first")
    .option("--status <status>", "only those: queued, active, success, failed, canceled, timeout, partial, …")
    .option("--agent <name>", "only those of this agent, by its name or id")
    .option("--limit <number>", "how many", "20")
    .option("--all", "all of them")
    .addHelpText("after", LS_HELP)
    .action(async (flags: TurnsLsFlags) => onExit(await (await load()).turnsLsCommand(flags, terminal)));
  command("show")
    .argument("<turn>", TURN)
    .description("show a turn: what was asked, its calls, what it waits for, what happened, what it delivered")
    .option("--stack", "with the stacks of what failed in it")
    .addHelpText("after", SHOW_HELP)
    .action(async (turn: string, flags: TurnsShowFlags) =>
      onExit(await (await load()).turnsShowCommand(turn, flags, terminal)),
    );
  command("tail")
    .argument("<turn>", TURN)
    .description("watch a turn until it has ended")
    .option("--wait <seconds>", "how long to watch (default: until it has ended)")
    .addHelpText("after", TAIL_HELP)
    .action(async (turn: string, flags: TurnsTailFlags) => {
      const { turnsTailCommand } = await import("./turns-tail-command.ts");
      onExit(await turnsTailCommand(turn, flags, terminal));
    });
  command("why")
    .argument("<turn>", TURN)
    .description("say what a turn waits for, and what would unblock it")
    .addHelpText("after", WHY_HELP)
    .action(async (turn: string, flags: ApiFlags) =>
      onExit(await (await load()).turnsWhyCommand(turn, flags, terminal)),
    );
  command("stop")
    .argument("<turn>", TURN)
    .description("stop a turn that has not ended, and the turns that it started")
    .option("--reason <text>", "why, for whoever looks at it later")
    .action(async (turn: string, flags: TurnsStopFlags) =>
      onExit(await (await load()).turnsStopCommand(turn, flags, terminal)),
    );
}

export function addAgentCommands({ program, terminal, onExit }: ProgramParts): void {
  const agents = program.command("agents").copyInheritedSettings(program).description("look at agents, and reset them");
  addApiFlags(agents.command("ls").copyInheritedSettings(program))
    .description("list the agents of a project, and what they do now")
    .action(async (flags: ApiFlags) => {
      const { agentsLsCommand } = await import("./agents-command.ts");
      onExit(await agentsLsCommand(flags, terminal));
    });
  addApiFlags(agents.command("reset").copyInheritedSettings(program))
    .argument("<name>", "the agent's name, as `agents ls` shows it")
    .description("begin an agent's conversation anew")
    .option("--instance <key>", "which instance of the agent", "default")
    .option("--reason <text>", "why, for whoever looks at it later")
    .addHelpText("after", RESET_HELP)
    .action(async (name: string, flags: AgentsResetFlags) => {
      const { agentsResetCommand } = await import("./agents-reset-command.ts");
      onExit(await agentsResetCommand(name, flags, terminal));
    });
}

export function addCardCommands({ program, terminal, onExit }: ProgramParts): void {
  const cards = program.command("cards").copyInheritedSettings(program).description("look at cards");
  addApiFlags(cards.command("show").copyInheritedSettings(program))
    .argument("<card-id>", "as `turns show` names it")
    .description("show a card: what was said, called or answered")
    .action(async (cardId: string, flags: ApiFlags) => {
      const { cardsShowCommand } = await import("./cards-command.ts");
      onExit(await cardsShowCommand(cardId, flags, terminal));
    });
}
