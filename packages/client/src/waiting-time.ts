// How long a request may take because it asks the server to wait: the client must not give up before the server answers.

import type { CallArguments } from "./request.ts";

export interface WaitField {
  /** Of the body. */
  readonly field: string;
  readonly unitMs: number;
  /** What the server waits when nothing is said, in units. */
  readonly usual: number;
}

/** Operations whose body says how long the server may wait. */
export const WAITING: Readonly<Record<string, WaitField>> = {
  callTool: { field: "waitSeconds", unitMs: 1_000, usual: 30 },
  claimCalls: { field: "waitMs", unitMs: 1, usual: 0 },
  godCallPmo: { field: "timeoutSeconds", unitMs: 1_000, usual: 180 },
  sendUiAction: { field: "waitSeconds", unitMs: 1_000, usual: 30 },
};
/** For everything else that a request does besides waiting. */
export const WAIT_MARGIN_MS = 30_000;

/** The time limit of a call: the usual one, or as long as the server waits and a margin. */
export function timeoutFor(id: string, call: CallArguments, usualMs: number): number {
  const wait = WAITING[id];
  if (wait === undefined) return usualMs;
  const asked = (call.body as Readonly<Record<string, unknown>> | undefined)?.[wait.field];
  const units = typeof asked === "number" && asked >= 0 ? asked : wait.usual;
  return Math.max(usualMs, units * wait.unitMs + WAIT_MARGIN_MS);
}
