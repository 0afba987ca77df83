// What `run` and `turns tail` say about a turn that has ended, or has not.

import type { Turn } from "@tessera/client";
import { ERROR_CATALOGUE, isErrorCode, isJsonObject } from "@tessera/protocol";
import { EXIT, type ExitCode } from "../exit-codes.ts";
import type { ApiFlags, HostFlags } from "../flags/flags.ts";
import { quoted, storeWords } from "../output/paste-command.ts";
import { labelled, sentence, type Terminal, type Text } from "../output/printing-gate.ts";
import { agentOf } from "./turn-document.ts";

export interface TurnAnswer {
  readonly agent_turn_id: string;
  readonly agent: string;
  readonly status: string;
  /** Text, or what the agent delivered as data; null before the end. */
  readonly deliverable: unknown;
  readonly error?: { readonly code: string; readonly message: string };
}

export function answerOf(turn: Turn): TurnAnswer {
  const { agentTurnId, status, errorCode, errorMessage } = turn;
  return {
    agent_turn_id: agentTurnId,
    agent: agentOf(turn),
    status,
    deliverable: deliverableOf(turn.deliverable),
    ...(typeof errorCode === "string" ? { error: { code: errorCode, message: errorMessage ?? errorCode } } : {}),
  };
}

function deliverableOf(card: unknown): unknown {
  if (!isJsonObject(card)) return null;
  const { cardId: _, ...content } = card;
  if (typeof content.text === "string") return content.text;
  return content.data ?? content;
}

export function exitCodeOf({
  status,
  error,
}: {
  readonly status: string;
  readonly error?: { readonly code: string } | null | undefined;
}): ExitCode {
  if (status === "success" || status === "partial") return EXIT.ok;
  return error?.code === "outcome_unknown" ? EXIT.unknown : EXIT.failed;
}

export function deliverableText(deliverable: unknown): string {
  return `${typeof deliverable === "string" ? deliverable : JSON.stringify(deliverable, null, 2)}\n`;
}

const ENDED: Readonly<Record<string, string>> = {
  timeout: "timed out",
  canceled: "was canceled",
  partial: "did not get to its end",
};

export function failureText({ agent, agent_turn_id, status, error }: TurnAnswer): Text {
  const { code, message } = error ?? { code: "unknown_error", message: "no reason was given" };
  const todo = isErrorCode(code) ? [labelled("what to do", ERROR_CATALOGUE[code].todo)] : [];
  const said = `tessera: the turn of ${agent} ${ENDED[status] ?? "failed"}: ${message}`;
  return [sentence(said), labelled("code", code), labelled("turn", agent_turn_id), ...todo];
}

/** The deliverable on stdout, everything else on stderr; with --json one line. The exit code is the turn's. */
export function tellAnswer(answer: TurnAnswer, { json }: { readonly json?: boolean }, terminal: Terminal): ExitCode {
  const exitCode = exitCodeOf(answer);
  if (json === true) {
    terminal.out(`${JSON.stringify({ ok: exitCode === EXIT.ok, ...answer })}\n`);
    return exitCode;
  }
  const text = deliverableText(answer.deliverable);
  if (exitCode === EXIT.ok) terminal.out(text);
  if (answer.status !== "success") terminal.err(failureText(answer));
  return exitCode;
}

/** The answer of a command that waited for turns, as --json prints it; what is open is kept unless the store was in memory. */
export function openTurn(agent_turn_id: string, agent_turn_ids: readonly string[] = [agent_turn_id], is_kept = true) {
  return { status: "waiting", agent_turn_id, agent_turn_ids, is_kept };
}

/** Of a turn that goes on without being watched. `waitSeconds` null: the watch was interrupted. */
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

interface OpenTurns {
  readonly turnIds: readonly string[];
  readonly isInterrupted: boolean;
  readonly waitSeconds: number;
  /** Null: the store was in memory, and the turns are gone with it. */
  readonly keptIn: string | null;
  /** False: these are of an earlier run, and the task of this one was not asked for. */
  readonly isAsked: boolean;
}

export function openTurnsText(
  open: OpenTurns,
  bundle: string | undefined,
  flags: HostFlags,
  terminal: Pick<Terminal, "env" | "resumeCommand"> = { env: {} },
): Text {
  const { turnIds, isInterrupted, waitSeconds, keptIn, isAsked } = open;
  const one = isAsked ? "the turn" : "a turn";
  const what = `${turnIds.length === 1 ? one : `${turnIds.length} turns`}${isAsked ? "" : " that an earlier run left open"}`;
  const ended = isInterrupted ? `stopped waiting for ${what}` : `${what} did not end within ${waitSeconds} s`;
  const said = isAsked ? ended : `the new task was not asked for: ${ended}`;
  if (keptIn === null) {
    const todo = "Wait longer with --wait, or keep turns in a store with --data DIR.";
    return [sentence(`tessera: ${said}; the store was in memory, so it is gone`), labelled("what to do", todo)];
  }
  const resume = [
    "tessera run",
    ...(bundle === undefined ? [] : [quoted(bundle)]),
    "--resume",
    ...storeWords(flags, terminal.env),
  ].join(" ");
  const stop = ["tessera turns stop", turnIds[0] ?? "TURN", ...storeWords(flags, terminal.env)].join(" ");
  return [
    sentence(`tessera: ${said}; ${turnIds.length === 1 ? "it is" : "they are"} kept in ${keptIn}`),
    ...turnIds.slice(0, 5).map((turnId) => labelled("turn", turnId)),
    labelled("what to do", "Let it go on: ", { whole: terminal.resumeCommand ?? resume }),
    ...(isAsked ? [] : [labelled("", "or stop it, then repeat the new task: ", { whole: stop })]),
  ];
}
