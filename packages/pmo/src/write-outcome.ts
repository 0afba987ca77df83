// A write of the PMO is expected to be taken: its ids are its own and its values were checked.

import type { WriteOutcome } from "@tessera/kernel";
import { type ErrorCode, TesseraError } from "@tessera/protocol";

export function mustBeWritten(outcome: WriteOutcome): void {
  if (outcome.outcome === "rejected") throw new TesseraError("internal_error", `a write was refused: ${outcome.code}`);
}

/** False for the one refusal that the caller can explain; any other is a fault of ours. */
export function isWritten(outcome: WriteOutcome, unless: ErrorCode): boolean {
  if (outcome.outcome === "rejected" && outcome.code === unless) return false;
  mustBeWritten(outcome);
  return true;
}
