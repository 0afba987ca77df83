// What the bus brought and nobody can handle, kept for an operator to look at.
//
//   L1. A flood of junk must not become a flood of rows: beyond a number per minute it is only counted.
//   L2. No secret header and nothing of the payload is kept: a stranger chose them.

import type { BusMessage, Clock, RegistryPort } from "@tessera/kernel";
import type { ErrorCode } from "@tessera/protocol";

const LETTERS_PER_MINUTE_MAX = 60;
const MINUTE_MS = 60_000;
const SUBJECT_CHARS_KEPT = 200;

export function createDeadLetters(options: {
  readonly kernel: Pick<RegistryPort, "putDeadLetter">;
  readonly clock: Clock;
  readonly count: (what: string) => void;
  readonly onWarning: (warning: string) => void;
}) {
  const { kernel, clock, count, onWarning } = options;
  let minuteStartedMs = clock.monotonicMs();
  let written = 0;
  return {
    async put(
      message: BusMessage,
      code: ErrorCode,
      named: { readonly project_id?: string | null; readonly tool_call_id?: string | null },
      why = "",
    ): Promise<void> {
      if (clock.monotonicMs() - minuteStartedMs >= MINUTE_MS) {
        minuteStartedMs = clock.monotonicMs();
        written = 0;
      }
      written += 1;
      if (written > LETTERS_PER_MINUTE_MAX) return count("dead_letters_not_kept"); // L1
      try {
        const kept = await kernel.putDeadLetter({
          ...(named.project_id ? { project_id: named.project_id } : {}),
          ...(named.tool_call_id ? { correlation_id: named.tool_call_id } : {}),
          reason: code,
          detail: {
            subject: message.subject.slice(0, SUBJECT_CHARS_KEPT).toWellFormed().replaceAll("\0", "\ufffd"),
            bytes: message.data.byteLength,
            message: why,
          },
        });
        if (kept.outcome === "rejected") onWarning(`a dead letter (${code}) was refused: ${kept.code}`);
      } catch (error) {
        onWarning(`a dead letter (${code}) could not be kept: ${String(error)}`);
      }
    },
  };
}
