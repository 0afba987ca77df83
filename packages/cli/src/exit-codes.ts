// Exit codes of every command. They are part of the public surface: scripts branch on them.

import type { EXIT_HUNG } from "@tessera/runtime";

export const EXIT = {
  ok: 0,
  failure: 1,
  usage: 2,
  configuration: 3,
  unreachable: 4,
  /** A tool or turn ended without success. */
  failed: 5,
  /** It has not ended yet. */
  waiting: 6,
  /** It may or may not have had its effect. */
  unknown: 7,
  /** Its event loop stood still, and its watch ended it. */
  hung: 8 satisfies typeof EXIT_HUNG,
} as const;

export type ExitCode = (typeof EXIT)[keyof typeof EXIT];
