// The dispatcher of everything that goes out on behalf of a model: it dials public addresses only.
//
//   G1. The check stands where the dial happens and uses the very addresses that are dialed. A resolver that answers
//       differently the second time has nothing to win: there is no second question.
//   G2. One address that is not public refuses the name. An honest public host has none, and picking the good ones would
//       leave the choice to the owner of the name.
//   G3. A literal address never reaches `lookup`, so it is checked before the dial.
//   G4. No proxy, no unix socket, no HTTP/2 connection shared between origins.

import { lookup as dnsLookup } from "node:dns/promises";
import { isIP, type LookupFunction } from "node:net";
import { PolicyDenied } from "@tessera/protocol";
import { Agent, buildConnector, type Dispatcher } from "undici";
import { isPublicAddress } from "./public-address.ts";

export interface ResolvedAddress {
  readonly address: string;
  readonly family: number;
}

export interface GuardedAgentOptions {
  /** How a name becomes addresses; the system's resolver when absent. */
  readonly resolve?: (hostname: string) => Promise<readonly ResolvedAddress[]>;
  /** Which addresses may be dialed; the public ones when absent. Tests with a loopback server widen it. */
  readonly isAllowed?: (address: string) => boolean;
}

const CONNECT_TIMEOUT_MS = 10_000;
const KEEP_ALIVE_MS = 4_000;
const CONNECTIONS_PER_ORIGIN_MAX = 16;

export function createGuardedAgent(options: GuardedAgentOptions = {}): Dispatcher {
  const isAllowed = options.isAllowed ?? isPublicAddress;
  const resolve = options.resolve ?? ((hostname: string) => dnsLookup(hostname, { all: true }));
  const dial = buildConnector({
    lookup: guardedLookup(resolve, isAllowed),
    timeout: CONNECT_TIMEOUT_MS,
    allowH2: false, // G4
  } as buildConnector.BuildOptions);
  return new Agent({
    connections: CONNECTIONS_PER_ORIGIN_MAX,
    keepAliveTimeout: KEEP_ALIVE_MS,
    connect: (target, callback) => {
      const literal = target.hostname.replace(/^\[|\]$/g, "");
      if (isIP(literal) !== 0 && !isAllowed(literal)) return callback(refused(), null); // G3
      dial(target, callback);
    },
  });
}

/** A `lookup` for `net.connect` that refuses a name with any address that is not allowed (G1, G2). */
function guardedLookup(
  resolve: (hostname: string) => Promise<readonly ResolvedAddress[]>,
  isAllowed: (address: string) => boolean,
): LookupFunction {
  return (hostname, options, callback) => {
    resolve(hostname).then(
      (addresses) => {
        if (!addresses.every(({ address }) => isAllowed(address))) return callback(refused(), "", 0);
        const wanted = options.family === 4 || options.family === 6 ? options.family : 0;
        const usable = addresses.filter(({ family }) => wanted === 0 || family === wanted);
        const [first] = usable;
        if (first === undefined) return callback(nothingFound(hostname), "", 0);
        if (options.all === true) return callback(null, [...usable]);
        return callback(null, first.address, first.family);
      },
      (error: NodeJS.ErrnoException) => callback(error, "", 0),
    );
  };
}

/** Says nothing about the address: what a name resolves to inside is not disclosed outside. */
function refused(): PolicyDenied {
  return new PolicyDenied("the URL cannot be used: its host has an address that is not public", {
    code: "url_not_allowed",
  });
}

function nothingFound(hostname: string): NodeJS.ErrnoException {
  return Object.assign(new Error(`${hostname} has no address`), { code: "ENOTFOUND" });
}
