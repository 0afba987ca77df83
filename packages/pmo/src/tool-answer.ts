// What an internal tool answers, and how that becomes a result.
//
//   A1. The tool's status is honest: accepted is success; rejected, busy and error are failed and
//       carry an error; busy may be tried again. The inner object keeps its published shape
//       (docs/protocol/internal-tools.md#results).

import type { OpenedCall } from "@tessera/kernel";
import {
  buildErrorResultFromException,
  buildToolResultContent,
  type ErrorCode,
  type JsonObject,
  type ToolResultContent,
} from "@tessera/protocol";

/** Why a delegation, a batch or a provisioning was not done. Nothing was started. */
export interface Refused {
  readonly refused: ErrorCode;
  readonly message: string;
  readonly agent_id?: string | undefined;
}

/** A result; a refusal; or nothing yet, because a batch will answer. */
export type ToolAnswer = { readonly accepted: JsonObject } | Refused | "withheld";

export const PMO_SOURCE = "sys.pmo";
const BUSY: ReadonlySet<ErrorCode> = new Set(["agent_busy", "backlog_full"]);

export function refused(code: ErrorCode, message: string, agent_id?: string): Refused {
  return { refused: code, message, agent_id };
}

export function isRefused(value: object): value is Refused {
  return "refused" in value;
}

export function contentOf(answer: Exclude<ToolAnswer, "withheld">, call: OpenedCall): ToolResultContent {
  const after = { definition_after_execution: call.after_execution, source: PMO_SOURCE };
  if (!isRefused(answer)) return buildToolResultContent({ ...after, result: answer.accepted });
  const isBusy = BUSY.has(answer.refused);
  return buildToolResultContent({
    ...after,
    status: "failed",
    result: {
      status: isBusy ? "busy" : "rejected",
      error_code: answer.refused,
      agent_id: answer.agent_id,
    },
    error: { code: answer.refused, message: answer.message, ...(isBusy ? { retryable: true } : {}) }, // A1
  });
}

/** The result of a call that threw: wrong arguments, or a fault on our side. */
export function failedContent(error: unknown, call: OpenedCall): ToolResultContent {
  const failed = buildErrorResultFromException(error, { source: PMO_SOURCE });
  return { ...failed, after_execution: call.after_execution };
}
