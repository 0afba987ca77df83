// A message that cannot be worked on: kept as a dead letter for an operator, and answered where it shows its call's ticket.
//
//   R1. Only the ticket lets a refusal settle a call; junk on the bus touches nothing. A subject of another project than the
//       call's settles nothing either: the kernel answers tenant_mismatch.
//   R2. A flood of junk must not become a flood of rows: beyond a number per minute it is only counted.
//   R3. No secret header and nothing of the payload is kept: its sender chose them.
//   R4. Nothing here rejects: the message is terminated already, and a failure is a warning.

import {
  buildErrorResultFromException,
  type ErrorCode,
  getHeader,
  HEADERS,
  type HeaderName,
  isId,
  parseSubject,
  TesseraError,
} from "@tessera/protocol";
import type { ExecutorPort } from "../moves/executor-port.ts";
import type { RegistryPort } from "../moves/registry-port.ts";
import type { BusMessage, Clock } from "../ports.ts";

const LETTERS_PER_MINUTE_MAX = 60;
const MINUTE_MS = 60_000;
const SUBJECT_CHARS_KEPT = 200;

/** Refusals of a claim that are not the sender's fault: another executor has the call, or it is over. */
export const LATE_CODES: ReadonlySet<ErrorCode> = new Set([
  "already_claimed",
  "already_settled",
  "stale_attempt",
  "tool_timeout",
]);

export interface RefusedCommandsOptions {
  readonly kernel: Pick<ExecutorPort, "openCall" | "report"> & Pick<RegistryPort, "putDeadLetter">;
  readonly clock: Clock;
  readonly executor: string;
  readonly principal?: string | undefined;
  readonly count: (what: string) => void;
  readonly onWarning: (warning: string) => void;
}

/** What is known of the call that a message is about. */
interface NamedCall {
  readonly project_id: string | undefined;
  readonly tool_call_id: string | undefined;
}

export interface RefusedCommands {
  /** The message is no command: its call is reported as failed, instead of waiting for its deadline, where it shows the ticket (R1). */
  unreadable(message: BusMessage, error: TesseraError): Promise<void>;
  /** A command whose call was not opened. */
  unopened(message: BusMessage, code: ErrorCode, named: NamedCall): Promise<void>;
}

export function createRefusedCommands(options: RefusedCommandsOptions): RefusedCommands {
  const { kernel, clock, executor, principal, count, onWarning } = options;
  let minuteStartedMs = clock.monotonicMs();
  let written = 0;

  async function keep(message: BusMessage, code: ErrorCode, named: NamedCall, why: string): Promise<void> {
    if (clock.monotonicMs() - minuteStartedMs >= MINUTE_MS) {
      minuteStartedMs = clock.monotonicMs();
      written = 0;
    }
    written += 1;
    if (written > LETTERS_PER_MINUTE_MAX) return count("dead_letters_not_kept"); // R2
    const subject = message.subject.slice(0, SUBJECT_CHARS_KEPT).toWellFormed().replaceAll("\0", "\ufffd");
    try {
      const kept = await kernel.putDeadLetter({
        project_id: named.project_id,
        correlation_id: named.tool_call_id,
        reason: code,
        detail: { subject, bytes: message.data.byteLength, message: why }, // R3
      });
      if (kept.outcome === "rejected") onWarning(`a dead letter (${code}) was refused: ${kept.code}`);
    } catch (error) {
      onWarning(`a dead letter (${code}) could not be kept: ${String(error)}`); // R4
    }
  }

  async function settle(
    message: BusMessage,
    { project_id, tool_call_id }: NamedCall,
    error: TesseraError,
  ): Promise<void> {
    const ticket = headerOf(message, HEADERS.call_ticket);
    if (project_id === undefined || tool_call_id === undefined || ticket === null) return; // R1
    try {
      const opened = await kernel.openCall({ project_id, tool_call_id, ticket, executor, principal });
      if (opened.outcome === "rejected") return;
      const content = { ...buildErrorResultFromException(error), after_execution: opened.after_execution };
      await kernel.report({ project_id, tool_call_id, capability: opened.capability, content, principal });
    } catch (cause) {
      onWarning(`a refused command of ${tool_call_id} could not be settled: ${String(cause)}`); // R4
    }
  }

  return {
    async unreadable(message, error) {
      const named = callNamedBy(message);
      await settle(message, named, error);
      await keep(message, error.code, named, error.message);
    },
    async unopened(message, code, named) {
      await keep(message, code, named, `the call was not opened: ${code}`);
    },
  };
}

function callNamedBy(message: BusMessage): NamedCall {
  const toolCallId = headerOf(message, HEADERS.tool_call_id);
  return {
    project_id: parseSubject(message.subject)?.project_id,
    tool_call_id: isId(toolCallId) ? toolCallId : undefined,
  };
}

/** A header that came twice with two values is no value. */
function headerOf(message: BusMessage, name: HeaderName): string | null {
  try {
    return getHeader(message.headers, name);
  } catch (error) {
    if (TesseraError.is(error)) return null;
    throw error;
  }
}
