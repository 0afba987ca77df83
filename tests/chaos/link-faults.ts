// Faults of the lines between a process and a server: reset, silent both ways, silent one way, half open for good.
//
//   N1. After a silence the connections of the line are reset: what was swallowed is missing in the middle of a stream, and
//       no network delivers that.

import { setTimeout as delay } from "node:timers/promises";
import type { ProxyFault, TcpProxy } from "../../packages/testkit/src/tcp-proxy.ts";
import { waitFor } from "../../packages/testkit/src/wait-for.ts";
import { LEASE_MS, type LinkName, WORKERS } from "./chaos-world.ts";
import { type Fault, linkOf, prove } from "./fault.ts";

const SILENCE_MS = LEASE_MS * 1.5;
/** A process that is idle on a line shows nothing: until it says something. */
const SAY_MS_MAX = 20_000;
/** Longer than any statement waits for its answer: 30 s, and 5 s more. */
const HALF_OPEN_MS = 40_000;

const ROLES = ["kernel", "pmo", "tools", ...WORKERS, "api"] as const;
const LINES: Readonly<Record<string, readonly LinkName[]>> = {
  postgres: ROLES.map((role) => `${role}/postgres` as const),
  nats: ROLES.map((role) => `${role}/nats` as const),
  api: ["python/api", "client/api"],
};

export const LINK_FAULTS: readonly Fault[] = [
  ...Object.entries(LINES).flatMap(([server, lines]) => [
    cut(server, lines),
    silence(`silence.${server}`, lines, () => ({ kind: "black-hole" })),
  ]),
  ...(["postgres", "nats"] as const).map((server) =>
    silence(`one_way.${server}`, LINES[server] ?? [], (pick) => ({
      kind: "black-hole",
      direction: pick(["to-server", "to-client"] as const),
    })),
  ),
  // Half open for longer than any deadline of the database would stop the only kernel for as long; a worker has others.
  halfOpen(
    "postgres",
    WORKERS.map((worker) => `${worker}/postgres` as const),
  ),
  halfOpen("nats", LINES.nats ?? []),
];

function cut(server: string, lines: readonly LinkName[]): Fault {
  return {
    kind: `cut.${server}`,
    strike: async ({ world, pick }) => {
      const name = pick(lines);
      const link = linkOf(world, name);
      await waitFor(() => link.live > 0, { what: `a connection on ${name}`, timeoutMs: SAY_MS_MAX });
      const before = link.counters.cut;
      link.cut();
      prove(link.counters.cut > before, `no connection of ${name} was reset`);
      return name;
    },
  };
}

function silence(
  kind: string,
  lines: readonly LinkName[],
  faultOf: (pick: <T>(from: readonly T[]) => T) => ProxyFault,
): Fault {
  return {
    kind,
    strike: async ({ world, pick }) => {
      const name = pick(lines);
      const link = linkOf(world, name);
      const before = link.counters.bytesSwallowed;
      link.set(faultOf(pick));
      try {
        await delay(SILENCE_MS);
        await swallowed(link, before, name);
      } finally {
        link.set({ kind: "pass" });
        link.cut(); // N1
      }
      return name;
    },
  };
}

function halfOpen(server: string, lines: readonly LinkName[]): Fault {
  return {
    kind: `half_open.${server}`,
    strike: async ({ world, measures, pick }) => {
      const name = pick(lines);
      const link = linkOf(world, name);
      await waitFor(() => link.live > 0, { what: `a connection on ${name}`, timeoutMs: SAY_MS_MAX });
      if (server === "postgres") measures.disturbedFor(HALF_OPEN_MS);
      const before = { swallowed: link.counters.bytesSwallowed, stranded: link.counters.stranded };
      link.strand();
      prove(link.counters.stranded > before.stranded, `no connection of ${name} was left half open`);
      await swallowed(link, before.swallowed, name);
      // A process with one connection, which loses all wakeups with it, is awaited: it has to notice by itself.
      const again = { what: `${name} to be given up for another connection`, timeoutMs: HALF_OPEN_MS };
      if (server === "nats") await waitFor(() => link.live > 0, again);
      return name;
    },
  };
}

async function swallowed(link: TcpProxy, before: number, name: LinkName): Promise<void> {
  const what = `the fault did not happen: no traffic on ${name}`;
  await waitFor(() => link.counters.bytesSwallowed > before, { what, timeoutMs: SAY_MS_MAX });
}
