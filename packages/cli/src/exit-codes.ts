// Exit codes of every command. They are part of the public surface: scripts branch on them.

export const EXIT = {
  ok: 0,
  failure: 1,
  usage: 2,
  configuration: 3,
  unreachable: 4,
  toolFailed: 5,
  stillWaiting: 6,
  outcomeUnknown: 7,
} as const;

export type ExitCode = (typeof EXIT)[keyof typeof EXIT];
