// Brings a result home: the executor of a tool must not drop its answer, because the side effect has happened.
//
//   R1. A report that could not be delivered is sent again with growing pauses, until `signal` says that the call is no
//       longer the reporter's.
//   R2. A report that is refused for its content is followed by one that says so: the call has an executor that lives, and
//       must not end as if it had died.

import {
  type AfterExecution,
  buildErrorResultFromException,
  type ErrorCode,
  TesseraError,
  type ToolResultContent,
} from "@tessera/protocol";
import type { ExecutorPort } from "../moves/executor-port.ts";
import type { CallHold, ReportOutcome } from "../moves/outcomes.ts";
import type { Clock } from "../ports.ts";
import { askPatiently } from "./ask-patiently.ts";

export interface PatientReport {
  /** The answer; null when the call was lost before there was one. */
  readonly outcome: ReportOutcome | null;
  /** Of what was reported in the end. */
  readonly status: ToolResultContent["status"];
}

/** The content is at fault, not the reporter. */
const CONTENT_CODES: ReadonlySet<ErrorCode> = new Set([
  "payload_too_large",
  "too_deep",
  "schema_invalid",
  "forbidden_key",
  "after_execution_mismatch",
]);

export async function reportPatiently(
  report: CallHold & { readonly content: ToolResultContent; readonly stack?: string | undefined },
  options: {
    readonly port: Pick<ExecutorPort, "report">;
    readonly clock: Clock;
    readonly signal: AbortSignal;
    readonly onWarning: (warning: string) => void;
    /** The call's own, for a content that has to be replaced. */
    readonly afterExecution: AfterExecution;
  },
): Promise<PatientReport> {
  const outcome = await untilAnswered(report, options);
  const isRefused = outcome?.outcome === "rejected" && CONTENT_CODES.has(outcome.code);
  if (!isRefused) {
    const warning = outcome !== null && "warning" in outcome ? outcome.warning : undefined;
    if (warning === undefined) return { outcome, status: report.content.status };
    options.onWarning(`the result of ${report.tool_call_id} counts as failed: ${warning.message}`);
    return { outcome, status: "failed" };
  }
  options.onWarning(`the result of ${report.tool_call_id} was refused: ${outcome.code}`);
  const error = new TesseraError(
    "result_not_serializable",
    `the tool ran, but its result was refused: ${outcome.code}`,
    {
      details: { refused_with: outcome.code },
    },
  );
  const content = { ...buildErrorResultFromException(error), after_execution: options.afterExecution };
  const second = await untilAnswered({ ...report, content }, options); // R2
  return second === null ? { outcome, status: report.content.status } : { outcome: second, status: content.status };
}

/** R1 */
function untilAnswered(
  report: Parameters<typeof reportPatiently>[0],
  { port, clock, signal, onWarning }: Parameters<typeof reportPatiently>[1],
): Promise<ReportOutcome | null> {
  return askPatiently(() => port.report(report), {
    clock,
    signal,
    onFailure: (error) =>
      onWarning(`the report of ${report.tool_call_id} was not taken and is sent again: ${String(error)}`),
  });
}
