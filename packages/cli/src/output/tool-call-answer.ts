// What `tools call` says about an answer.

import { ERROR_CATALOGUE, isErrorCode, isJsonObject } from "@tessera/protocol";
import { EXIT, type ExitCode } from "../exit-codes.ts";
import type { ApiFlags } from "../flags/flags.ts";
import { exitCodeOf } from "../turns/turn-answer.ts";
import { quoted, storeWords } from "./paste-command.ts";
import { labelled, sentence, type Terminal, type Text } from "./printing-gate.ts";

export interface ToolCallAnswer {
  readonly agent_turn_id: string;
  /** `waiting`: not ended within the wait. */
  readonly status: "success" | "failed" | "canceled" | "timeout" | "partial" | "waiting";
  readonly result?: unknown;
  readonly error?: { readonly code: string; readonly message: string; readonly detail?: unknown } | null | undefined;
}

/** How the wait ended without an answer. */
export interface OpenCall {
  readonly isInterrupted: boolean;
  readonly waitSeconds: number;
  readonly reason: string;
  /** Null: the store was in memory, and the call is gone with it. */
  readonly keptIn: string | null;
}

const ENDED: Readonly<Record<string, string>> = { timeout: "timed out", canceled: "was canceled" };

export function exitCodeOfCall(answer: ToolCallAnswer): ExitCode {
  return answer.status === "waiting" ? EXIT.waiting : exitCodeOf(answer);
}

export function failureText(tool: string, { status, error }: ToolCallAnswer): Text {
  const { code = "unknown_error", message = "no reason was given" } = error ?? {};
  const detail = isJsonObject(error?.detail) ? error.detail : {};
  const own = typeof detail.code === "string" && detail.code !== code ? detail.code : null;
  const known = isErrorCode(code) && own === null ? ERROR_CATALOGUE[code].todo : null;
  const todo = typeof detail.suggestion === "string" ? detail.suggestion : known;
  return [
    sentence(`tessera: ${tool} ${ENDED[status] ?? "failed"}: ${message}`),
    labelled("code", own === null ? code : `${own} (${code})`),
    ...(todo === null ? [] : [labelled("what to do", todo)]),
    ...(typeof detail.helpUrl === "string" ? [labelled("see", { whole: detail.helpUrl })] : []),
  ];
}

export function openCallText(
  tool: string,
  turnId: string,
  open: OpenCall,
  flags: AgainFlags,
  env: Terminal["env"] = {},
): Text {
  const { isInterrupted, waitSeconds, reason, keptIn } = open;
  const said = isInterrupted ? `stopped waiting for ${tool}` : `${tool} has not ended within ${waitSeconds} s`;
  if (keptIn === null) {
    const todo = "Wait longer with --wait, or keep calls in a store with --data DIR.";
    const gone = `tessera: ${said}: ${reason}; its store was in memory, so the call is gone`;
    return [sentence(gone), labelled("what to do", todo)];
  }
  return [
    sentence(`tessera: ${said}: ${reason}; the call is kept in ${keptIn}`),
    labelled("turn", turnId),
    labelled("what to do", "Ask for it again: ", { whole: againCommand(turnId, flags, env) }),
  ];
}

type AgainFlags = Pick<ApiFlags, "url" | "data" | "postgres" | "project" | "nats"> & {
  readonly bundle?: string;
};

/** A command to paste. */
function againCommand(turnId: string, flags: AgainFlags, env: Terminal["env"]): string {
  const { bundle } = flags;
  const more = bundle === undefined ? [] : ["--bundle", quoted(bundle)];
  return ["tessera tools call --turn", turnId, ...storeWords(flags, env), ...more].join(" ");
}
