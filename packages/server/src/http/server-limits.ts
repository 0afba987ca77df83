// Limits of the HTTP edge, each with its default (docs/design.md#everything-has-a-limit). Sizes and the long poll's length are
// the contract's own.
//
//   L1. A refused report is a result that its executor has to send again, so reports have the widest bucket; a heartbeat is
//       due every five seconds, so one call needs few.
//   L2. Reading a body holds up the loop that serves everybody, for as long as 50 ms where a megabyte is all short fields. So a
//       key and a project have bytes to spend, besides requests.

import { HTTP_BODY_BYTES_MAX, HTTP_HEADERS_BYTES_MAX } from "@tessera/protocol";

const MIB = 1024 * 1024;

export interface Rate {
  readonly perSecond: number;
  readonly burst: number;
}

export interface ServerLimits {
  readonly bodyBytesMax: number;
  readonly headersBytesMax: number;
  /** A client that has not sent its headers, or its whole request, by then is cut off. */
  readonly headersTimeoutMs: number;
  readonly requestTimeoutMs: number;
  /** How often the two above are looked at. */
  readonly timeoutCheckMs: number;
  /** Longer than an executor's pause between two heartbeats, or it would meet a connection that is just being closed. */
  readonly keepAliveMs: number;
  readonly connectionsMax: number;
  /** Of one address that is no trusted proxy. */
  readonly connectionsPerAddressMax: number;
  /** Claims and callers of tools that wait at the same time: of all keys, which leaves connections for everything else, of the
   *  keys of one project, and of one key. The last fifth of all is for those that have none (shares.ts), here and below. */
  readonly longPollsMax: number;
  readonly longPollsPerProjectMax: number;
  readonly longPollsPerKeyMax: number;
  /** Event streams that are open at the same time. */
  readonly streamsMax: number;
  readonly streamsPerProjectMax: number;
  readonly streamsPerKeyMax: number;
  /** Bytes of bodies and answers in memory: in all, of one address, of one project, of one key (bytes-in-flight.ts). */
  readonly bytesMax: number;
  readonly bytesPerAddressMax: number;
  readonly bytesPerProjectMax: number;
  readonly bytesPerKeyMax: number;
  readonly address: Rate;
  readonly key: Rate;
  /** L1 */
  readonly reportsPerKey: Rate;
  /** L1 */
  readonly heartbeatsPerCall: Rate;
  /** Bytes of bodies that are read (L2). */
  readonly bodyBytesPerKey: Rate;
  readonly bodyBytesPerProject: Rate;
  /** Milliseconds of reading uploaded documents (reading-budget.ts). */
  readonly readingMsPerKey: Rate;
  readonly readingMsPerProject: Rate;
}

export const SERVER_LIMITS: ServerLimits = {
  bodyBytesMax: HTTP_BODY_BYTES_MAX,
  headersBytesMax: HTTP_HEADERS_BYTES_MAX,
  headersTimeoutMs: 10_000,
  requestTimeoutMs: 20_000,
  timeoutCheckMs: 1_000,
  keepAliveMs: 75_000,
  connectionsMax: 2_000,
  connectionsPerAddressMax: 1_000,
  longPollsMax: 1_500,
  longPollsPerProjectMax: 1_000,
  longPollsPerKeyMax: 200,
  streamsMax: 300,
  streamsPerProjectMax: 150,
  streamsPerKeyMax: 60,
  bytesMax: 256 * MIB,
  bytesPerAddressMax: 128 * MIB,
  bytesPerProjectMax: 96 * MIB,
  bytesPerKeyMax: 64 * MIB,
  address: { perSecond: 1_000, burst: 3_000 },
  key: { perSecond: 400, burst: 600 },
  reportsPerKey: { perSecond: 500, burst: 2_000 },
  heartbeatsPerCall: { perSecond: 2, burst: 20 },
  bodyBytesPerKey: { perSecond: 4 * MIB, burst: 16 * MIB },
  bodyBytesPerProject: { perSecond: 8 * MIB, burst: 32 * MIB },
  readingMsPerKey: { perSecond: 250, burst: 10_000 },
  readingMsPerProject: { perSecond: 400, burst: 15_000 },
};
