// Exit codes of every command. They are part of the public surface: scripts branch on them.

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
} as const;

export type ExitCode = (typeof EXIT)[keyof typeof EXIT];
