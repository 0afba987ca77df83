// tessera turns tail: what a turn does, as it does it, with the turns it starts, until it has ended.
//
//   T1. stdout gets the deliverable at the end, stderr everything else, as with `run`; with --json stdout is NDJSON.
//   T2. Ctrl-C and the end of --wait leave the turn running (exit 6); otherwise the exit code is the turn's.
//   T3. A holder of the directory that ends and starts again is found again (watch-turns.ts, W4).
//   T4. Where no process holds the store, nothing will happen: it says how things stand, and how to go on (exit 6).

import type { Command } from "commander";
import { withApi } from "../connect/connection.ts";
import { EXIT, type ExitCode } from "../exit-codes.ts";
import { readNumber } from "../flags/flag-values.ts";
import type { ApiFlags } from "../flags/flags.ts";
import { storeWords } from "../output/paste-command.ts";
import { labelled, sentence, type Terminal } from "../output/printing-gate.ts";
import type { ProgramParts } from "../program.ts";
import { findTurn } from "../turns/find-turn.ts";
import { openTurn, tellAnswer, tellOpen } from "../turns/turn-answer.ts";
import { isEnded } from "../turns/turn-document.ts";

interface TurnsTailFlags extends ApiFlags {
  readonly wait?: string;
}

const WAIT_SECONDS_MAX = 86_400;

const TAIL_HELP = `
Shows steps, calls and waits as they come, also those of turns that it starts.
The deliverable is on stdout at the end. Ctrl-C leaves the turn running. With
--json, stdout has one event per line and the answer last.

Examples:
  $ tessera turns tail TURN --data ./store
  $ tessera turns tail TURN --url http://127.0.0.1:8099 --wait 60 --json`;

export function defineTurnsTail(tail: Command, { terminal, onExit }: ProgramParts): void {
  tail
    .description("watch a turn until it has ended")
    .option("--wait <seconds>", "how long to watch (default: until it has ended)")
    .addHelpText("after", TAIL_HELP)
    .action(async (turn: string, flags: TurnsTailFlags) => onExit(await turnsTail(turn, flags, terminal)));
}

async function turnsTail(given: string, flags: TurnsTailFlags, terminal: Terminal): Promise<ExitCode> {
  const waitSeconds =
    flags.wait === undefined ? null : readNumber("--wait", flags.wait, { min: 0, max: WAIT_SECONDS_MAX, whole: false });
  const interrupt = new AbortController();
  void terminal.stopped().then(() => interrupt.abort());
  const { openWatch } = await import("../progress/watch-turns.ts");
  return await withApi(flags, terminal, async (api) => {
    const turn = await findTurn(api.client, flags, given);
    const turnId = turn.agentTurnId;
    const isIdle = api.isAbandoned && !isEnded(turn); // T4
    const until = isIdle ? 0 : waitSeconds === null ? null : api.clock.monotonicMs() + waitSeconds * 1_000;
    const watch = openWatch(api, { flags, terminal, until, signal: interrupt.signal });
    const { answers } = await watch.turns([turnId], "any").finally(() => watch.close());
    const [answer] = answers;
    if (answer !== undefined) return tellAnswer(answer, flags, terminal);
    if (isIdle) return tellIdle(turnId, flags, terminal);
    return tellOpen(turnId, flags, terminal, interrupt.signal.aborted ? null : waitSeconds);
  });
}

/** T4 */
function tellIdle(turnId: string, flags: ApiFlags, terminal: Terminal): ExitCode {
  const again = ["tessera run BUNDLE --resume", ...storeWords(flags, terminal.env)].join(" ");
  const said = "no process holds this store, so no worker runs the turn";
  if (flags.json === true) terminal.out(`${JSON.stringify({ ok: false, ...openTurn(turnId), why: said })}\n`);
  else terminal.err([sentence(`tessera: ${said}`), labelled("what to do", "Let it go on: ", { whole: again })]);
  return EXIT.waiting;
}
