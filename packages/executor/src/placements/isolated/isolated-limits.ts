// The limits of isolated tools. Each is an option of the host.

const MIB = 1024 * 1024;

export interface IsolatedLimits {
  /** Children of one entry module. Each runs one call at a time. */
  readonly childrenPerEntryMax: number;
  /** Children of one host. An idle one makes room for another module's. */
  readonly childrenMax: number;
  /** Calls of one child before a new one takes its place, so that a leak stays small. */
  readonly callsPerChildMax: number;
  /** An unused child is ended after this. */
  readonly idleMs: number;
  /** From the start of a process until its module is loaded. */
  readonly startMs: number;
  /** The same where a module is only looked at: no call waits, and the host is busy with its own start. */
  readonly inspectMs: number;
  /** A child that was used before and does not take the next call within this time is replaced. */
  readonly takeMs: number;
  /** From a call's answer until the child reports what the call left behind; one that does not is ended. */
  readonly restMs: number;
  /** How long a call may wait for a child. Less than the margin of a call's deadline, which is two leases. */
  readonly queueMs: number;
  readonly queueMax: number;
  /** Between `ctx.signal` and the end of a canceled run's process. */
  readonly cancelGraceMs: number;
  readonly heapMb: number;
  /** The whole process: heap, buffers, code. */
  readonly memoryBytesMax: number;
  /** What one call may print. */
  readonly outputBytesMax: number;
}

export const ISOLATED_LIMITS: IsolatedLimits = {
  childrenPerEntryMax: 4,
  childrenMax: 8,
  callsPerChildMax: 1_000,
  idleMs: 60_000,
  startMs: 10_000,
  inspectMs: 30_000,
  takeMs: 5_000,
  restMs: 500,
  queueMs: 20_000,
  queueMax: 1_000,
  cancelGraceMs: 1_000,
  heapMb: 256,
  memoryBytesMax: 768 * MIB,
  outputBytesMax: 16 * MIB,
};
