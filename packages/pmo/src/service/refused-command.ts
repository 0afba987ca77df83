// A message that is no command: terminated, kept as a dead letter, and answered only where it shows its call's ticket.
//
//   F1. Only the ticket lets a refusal settle a call; junk on the bus touches nothing (faults §6).
//   F2. A flood of junk is not a flood of rows: beyond a number per minute it is only counted. Nothing of its payload is
//       kept, because a stranger chose it.

import type { BusMessage, Clock, Kernel } from "@tessera/kernel";
import { CGError, type ErrorCode, getHeader, HEADERS, type HeaderName, isId, parseSubject } from "@tessera/protocol";
import { failedContent } from "../tool-answer.ts";

const LETTERS_PER_MINUTE_MAX = 60;
const MINUTE_MS = 60_000;
const SUBJECT_CHARS_KEPT = 200;

export interface RefusalOptions {
  readonly kernel: Pick<Kernel, "openCall" | "report" | "putDeadLetter">;
  readonly clock: Clock;
  readonly executor: string;
  readonly onWarning: (warning: string) => void;
}

export function createRefusals({ kernel, clock, executor, onWarning }: RefusalOptions) {
  let minuteStartedMs = clock.monotonicMs();
  let written = 0;

  async function keep(message: BusMessage, code: ErrorCode, why: string): Promise<void> {
    if (clock.monotonicMs() - minuteStartedMs >= MINUTE_MS) {
      minuteStartedMs = clock.monotonicMs();
      written = 0;
    }
    written += 1;
    if (written > LETTERS_PER_MINUTE_MAX) return; // F2
    const project_id = parseSubject(message.subject)?.project_id;
    const correlation_id = headerOf(message, HEADERS.tool_call_id);
    const subject = message.subject.slice(0, SUBJECT_CHARS_KEPT).toWellFormed().replaceAll("\0", "\ufffd");
    const kept = await kernel.putDeadLetter({
      ...(project_id === undefined ? {} : { project_id }),
      ...(isId(correlation_id) ? { correlation_id } : {}),
      reason: code,
      detail: { subject, bytes: message.data.byteLength, message: why },
    });
    if (kept.outcome === "rejected") onWarning(`a dead letter (${code}) was refused: ${kept.code}`);
  }

  /** F1 */
  async function settle(message: BusMessage, error: CGError): Promise<void> {
    const project_id = parseSubject(message.subject)?.project_id;
    const tool_call_id = headerOf(message, HEADERS.tool_call_id);
    const ticket = headerOf(message, HEADERS.call_ticket);
    if (project_id === undefined || !isId(tool_call_id) || ticket === null) return;
    const call = await kernel.openCall({ project_id, tool_call_id, ticket, executor });
    if (call.outcome === "rejected") return;
    const { capability } = call;
    await kernel.report({ project_id, tool_call_id, capability, content: failedContent(error, call) });
  }

  return {
    /** Never rejects. */
    async refuse(message: BusMessage, error: CGError, options: { readonly maySettle: boolean }): Promise<void> {
      try {
        if (options.maySettle) await settle(message, error);
        await keep(message, error.code, error.message);
      } catch (cause) {
        onWarning(`a refused command (${error.code}) could not be handled: ${String(cause)}`);
      }
    },
  };
}

/** A header that came twice with two values is no value. */
function headerOf(message: BusMessage, name: HeaderName): string | null {
  try {
    return getHeader(message.headers, name);
  } catch (error) {
    if (CGError.is(error)) return null;
    throw error;
  }
}
