// Limits of the HTTP edge, each with its default (design D12). Sizes and the long poll's length are the contract's own.
//
//   L1. A refused report is a result that somebody has to send again, so reports have the widest bucket; a heartbeat is
//       due every five seconds, so one call needs few.

import { HTTP_BODY_BYTES_MAX, HTTP_HEADERS_BYTES_MAX } from "@tessera/protocol";

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
  /** Claims and callers of tools that wait at the same time: of all keys, which leaves connections for everything else, … */
  readonly longPollsMax: number;
  /** … and of one key, so that one tenant cannot take them all. */
  readonly longPollsPerKeyMax: number;
  /** Event streams that are open at the same time: of all keys, of the keys of one project, and of one key. */
  readonly streamsMax: number;
  readonly streamsPerProjectMax: number;
  readonly streamsPerKeyMax: number;
  readonly address: Rate;
  readonly key: Rate;
  /** L1 */
  readonly reportsPerKey: Rate;
  /** L1 */
  readonly heartbeatsPerCall: Rate;
}

export const SERVER_LIMITS: ServerLimits = {
  bodyBytesMax: HTTP_BODY_BYTES_MAX,
  headersBytesMax: HTTP_HEADERS_BYTES_MAX,
  headersTimeoutMs: 10_000,
  requestTimeoutMs: 20_000,
  timeoutCheckMs: 1_000,
  keepAliveMs: 75_000,
  connectionsMax: 2_000,
  longPollsMax: 1_500,
  longPollsPerKeyMax: 200,
  streamsMax: 300,
  streamsPerProjectMax: 150,
  streamsPerKeyMax: 60,
  address: { perSecond: 1_000, burst: 3_000 },
  key: { perSecond: 400, burst: 600 },
  reportsPerKey: { perSecond: 500, burst: 2_000 },
  heartbeatsPerCall: { perSecond: 2, burst: 20 },
};
