// Refusals of a claim that are nobody's fault: somebody else has the call, or it is over. The command that brought it is
// acked and forgotten.

import type { ErrorCode } from "@tessera/protocol";

export const LATE_CODES: ReadonlySet<ErrorCode> = new Set([
  "already_claimed",
  "already_settled",
  "stale_attempt",
  "tool_timeout",
]);
