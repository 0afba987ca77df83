// Whose address a request has.
//
//   A1. The address of the connection, unless that is a proxy which the operator named. Then it is the last one in
//       X-Forwarded-For that is no such proxy: each proxy appends whom it heard from, so what stands further left is the client's
//       own word. From other addresses the header is ignored.
//   A2. An entry that is no address ends the walk at the proxy that passed it on.
//   A3. An IPv6 network of 64 bits is one client: its holder has all addresses in it. IPv4 in IPv6 is IPv4.

import type { IncomingMessage } from "node:http";
import { BlockList, isIP, isIPv6 } from "node:net";
import { BadRequest } from "@tessera/protocol";

export interface ClientAddresses {
  /** Names the client of a request (A1, A3). */
  of(request: Pick<IncomingMessage, "socket" | "headers">): string;
  /** Names the other end of a connection. */
  ofPeer(address: string | undefined): string;
  isProxy(address: string | undefined): boolean;
}

/** More proxies in a row than any installation has; what stands further left is not looked at. */
const HOPS_MAX = 16;
const NETWORK = /^([0-9A-Fa-f:.]+)(?:\/([0-9]{1,3}))?$/;
const MAPPED = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i;
const GROUPS_OF_NETWORK = 4;
const GROUPS = 8;
const UNKNOWN = "unknown";

/** `proxies`: addresses, or networks as `10.0.0.0/8`. Throws for anything else. */
export function createClientAddresses(proxies: readonly string[] = []): ClientAddresses {
  const trusted = new BlockList();
  for (const proxy of proxies) trust(trusted, proxy);

  const isProxy = (address: string | undefined): boolean => {
    if (proxies.length === 0 || address === undefined) return false;
    const plain = withoutMapping(address);
    return isIP(plain) !== 0 && trusted.check(plain, isIPv6(plain) ? "ipv6" : "ipv4");
  };

  return {
    isProxy,
    ofPeer: nameOf,
    of({ socket, headers }) {
      let address = socket.remoteAddress;
      const said = headers["x-forwarded-for"];
      const hops = (Array.isArray(said) ? said.join(",") : (said ?? "")).split(",");
      for (let n = hops.length - 1; n >= Math.max(0, hops.length - HOPS_MAX) && isProxy(address); n -= 1) {
        const hop = (hops[n] ?? "").trim();
        if (isIP(withoutMapping(hop)) === 0) break; // A2
        address = hop;
      }
      return nameOf(address);
    },
  };
}

function trust(list: BlockList, proxy: string): void {
  const [, address = "", bits] = NETWORK.exec(proxy) ?? [];
  const version = isIP(address);
  const bitsMax = version === 6 ? 128 : 32;
  if (version === 0 || (bits !== undefined && Number(bits) > bitsMax)) {
    throw new BadRequest(`trusted proxy ${JSON.stringify(proxy)} is neither an address nor a network like 10.0.0.0/8`);
  }
  list.addSubnet(address, bits === undefined ? bitsMax : Number(bits), version === 6 ? "ipv6" : "ipv4");
}

const withoutMapping = (address: string): string => MAPPED.exec(address)?.[1] ?? address;

/** A3 */
function nameOf(address: string | undefined): string {
  const plain = withoutMapping(address ?? UNKNOWN);
  if (!isIPv6(plain)) return plain;
  return `${groupsOf(plain).slice(0, GROUPS_OF_NETWORK).join(":")}::/64`;
}

function groupsOf(address: string): string[] {
  const [left = "", right] = (address.split("%")[0] ?? "").split("::");
  const groups = (text: string) => (text === "" ? [] : text.split(":"));
  const head = groups(left);
  // An IPv4 at the end stands for two groups; only the network is wanted, so one word for both will do.
  const tail = groups(right ?? "").flatMap((group) => (group.includes(".") ? [group, ""] : [group]));
  const gap = right === undefined ? [] : Array.from({ length: GROUPS - head.length - tail.length }, () => "0");
  return [...head, ...gap, ...tail].map((group) => group.replace(/^0+(?=.)/, "").toLowerCase());
}
