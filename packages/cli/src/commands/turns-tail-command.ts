// tessera turns tail: what a turn does, as it does it, with the turns it starts, until it has ended.
//
//   T1. stdout gets the deliverable at the end, stderr everything else, as with `run`; with --json stdout is NDJSON.
//   T2. Ctrl-C and the end of --wait leave the turn running (exit 6); otherwise the exit code is the turn's.
//   T3. A holder of the directory that ends and starts again is found again (watch-turns.ts, W4).
//   T4. Where no process holds the store, nothing will happen: it says how things stand, and how to go on (exit 6).

import { withApi } from "../connect/connection.ts";
import { EXIT, type ExitCode } from "../exit-codes.ts";
import { readNumber } from "../flags/flag-values.ts";
import type { ApiFlags } from "../flags/flags.ts";
import { storeWords } from "../output/paste-command.ts";
import { labelled, sentence, type Terminal } from "../output/printing-gate.ts";
import { openWatch } from "../progress/watch-turns.ts";
import { openTurn, tellAnswer } from "../turns/turn-answer.ts";
import { isEnded } from "../turns/turn-document.ts";
import { findTurn } from "./turns-command.ts";

export interface TurnsTailFlags extends ApiFlags {
  readonly wait?: string;
}

const WAIT_SECONDS_MAX = 86_400;

export async function turnsTailCommand(given: string, flags: TurnsTailFlags, terminal: Terminal): Promise<ExitCode> {
  const waitSeconds =
    flags.wait === undefined ? null : readNumber("--wait", flags.wait, { min: 0, max: WAIT_SECONDS_MAX, whole: false });
  const interrupt = new AbortController();
  void terminal.stopped().then(() => interrupt.abort());
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
  const said = "no process holds this store, so nobody works on the turn";
  if (flags.json === true) terminal.out(`${JSON.stringify({ ok: false, ...openTurn(turnId), why: said })}\n`);
  else terminal.err([sentence(`tessera: ${said}`), labelled("what to do", "Let it go on: ", { whole: again })]);
  return EXIT.waiting;
}

/** T2. `waitSeconds` null: interrupted. */
export function tellOpen(turnId: string, flags: ApiFlags, terminal: Terminal, waitSeconds: number | null): ExitCode {
  const again = ["tessera turns tail", turnId, ...storeWords(flags, terminal.env)].join(" ");
  const said = waitSeconds === null ? "stopped looking" : `it has not ended within ${waitSeconds} s`;
  if (flags.json === true) terminal.out(`${JSON.stringify({ ok: false, ...openTurn(turnId) })}\n`);
  else
    terminal.err([
      sentence(`tessera: ${said}; the turn goes on`),
      labelled("what to do", "Look again: ", { whole: again }),
    ]);
  return EXIT.waiting;
}
