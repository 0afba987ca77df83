// Which IP addresses are on the public internet. Everything else (this machine, its network, its cloud's metadata
// service) is out of a tool's reach.
//
//   P1. IPv6 is judged by what is allowed: global unicast, minus what is special inside it. A list of what is forbidden
//       would miss the next special block.
//   P2. An IPv6 address that stands for an IPv4 address is judged as that one where resolvers really hand such addresses
//       out (`::ffff:`, and `64:ff9b::` on networks with DNS64). The other wrappers (`::a.b.c.d`, 6to4, Teredo,
//       `64:ff9b:1::`) have no honest use left and are refused whole.
//   P3. What cannot be read as an address is not public.

import { BlockList, isIP, isIPv6 } from "node:net";

// biome-ignore format: a table reads best with one block per line
const NOT_PUBLIC_V4: readonly (readonly [string, number])[] = [
  ["0.0.0.0", 8],          // this network; 0.0.0.0 reaches the machine itself
  ["10.0.0.0", 8],         // private
  ["100.64.0.0", 10],      // carrier-grade NAT; one cloud's metadata service
  ["127.0.0.0", 8],        // loopback
  ["168.63.129.16", 32],   // a cloud's host agent, on an address that looks public
  ["169.254.0.0", 16],     // link-local; most clouds' metadata services
  ["172.16.0.0", 12],      // private
  ["192.0.0.0", 24],       // protocol assignments
  ["192.0.2.0", 24],       // documentation
  ["192.88.99.0", 24],     // 6to4 relays
  ["192.168.0.0", 16],     // private
  ["198.18.0.0", 15],      // benchmarks
  ["198.51.100.0", 24],    // documentation
  ["203.0.113.0", 24],     // documentation
  ["224.0.0.0", 4],        // multicast
  ["240.0.0.0", 4],        // reserved, broadcast
];

// biome-ignore format: a table reads best with one block per line
const NOT_PUBLIC_V6: readonly (readonly [string, number])[] = [
  ["2001::", 23],          // protocol assignments: Teredo, benchmarks, ORCHID
  ["2001:db8::", 32],      // documentation
  ["2002::", 16],          // 6to4
  ["3fff::", 20],          // documentation
];

const blockedV4 = new BlockList();
for (const [net, prefix] of NOT_PUBLIC_V4) blockedV4.addSubnet(net, prefix, "ipv4");
const blockedV6 = new BlockList();
for (const [net, prefix] of NOT_PUBLIC_V6) blockedV6.addSubnet(net, prefix, "ipv6");

export function isPublicAddress(address: string): boolean {
  const version = isIP(address);
  if (version === 4) return !blockedV4.check(address, "ipv4");
  if (version === 0 || address.includes("%")) return false; // P3; a zone is part of link-local addresses only
  const groups = groupsOf(address);
  const embedded = embeddedV4(groups);
  if (embedded !== null) return !blockedV4.check(embedded, "ipv4"); // P2
  const isGlobalUnicast = ((groups[0] ?? 0) & 0xe000) === 0x2000; // 2000::/3
  return isGlobalUnicast && !blockedV6.check(address, "ipv6"); // P1
}

/** The IPv4 address inside `::ffff:a.b.c.d` or `64:ff9b::a.b.c.d`, else null. */
function embeddedV4(groups: readonly number[]): string | null {
  const prefix = groups
    .slice(0, 6)
    .map((group) => group.toString(16))
    .join(":");
  if (prefix !== "0:0:0:0:0:ffff" && prefix !== "64:ff9b:0:0:0:0") return null;
  const [high = 0, low = 0] = groups.slice(6);
  return [high >> 8, high & 0xff, low >> 8, low & 0xff].join(".");
}

/** The eight groups of a valid IPv6 address. */
function groupsOf(address: string): number[] {
  // The URL parser writes every form, a dotted tail included, as hexadecimal groups with at most one `::`.
  const canonical = new URL(`http://[${address}]/`).hostname.slice(1, -1);
  if (!isIPv6(canonical)) throw new Error(`${address} has no canonical form`);
  const [head = "", tail] = canonical.split("::");
  const before = head === "" ? [] : head.split(":");
  const after = tail === undefined || tail === "" ? [] : tail.split(":");
  const zeros = Array<string>(8 - before.length - after.length).fill("0");
  return [...before, ...zeros, ...after].map((group) => Number.parseInt(group, 16));
}
